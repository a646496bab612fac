#include "bpf_compat/map/key_hash.hpp"

#include <sys/random.h>

#include <array>
#include <chrono>

namespace xbond::bpf {

KeyHash::KeyHash(bool fixed) : first_(0x9e3779b97f4a7c15), second_(0xd1b54a32d192ed03) {
  if (fixed) return;
  std::array<uint64_t, 2> secret{};
  // Early at boot there may be no entropy yet: then the clock is better than nothing
  if (getrandom(secret.data(), sizeof(secret), GRND_NONBLOCK) != static_cast<ssize_t>(sizeof(secret)))
    secret[0] = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  first_ ^= secret[0];
  second_ ^= secret[1];
}

}  // namespace xbond::bpf
