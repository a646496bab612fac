// Internet checksum differences.
#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

// Ones' complement sum of 32-bit words; 0 only for all zeros.
uint32_t add_carry(uint32_t a, uint32_t b) {
  const uint64_t sum = uint64_t{a} + b;
  return static_cast<uint32_t>(sum + (sum >> 32));
}

uint32_t sum_words(const std::byte* bytes, size_t size, uint32_t seed) {
  uint32_t sum = seed;
  for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes + i, sizeof(word));
    sum = add_carry(sum, word);
  }
  return sum;
}

uint32_t fold(uint32_t sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16);
}

}  // namespace

// Kernels since 6.13 fold the result to 16 bits, so that it no longer depends on the machine: so do we.
uint64_t csum_diff(Run& run, const uint64_t* r) {
  const auto from_size = static_cast<uint32_t>(r[2]);
  const auto to_size = static_cast<uint32_t>(r[4]);
  const auto seed = static_cast<uint32_t>(r[5]);
  const auto* from = from_size != 0 ? run.readable(r[1], from_size) : nullptr;
  const auto* to = to_size != 0 ? run.readable(r[3], to_size) : nullptr;
  if ((from_size != 0 && !from) || (to_size != 0 && !to)) return run.fail(Fault::helper_read);
  if (((from_size | to_size) & 3) != 0) return static_cast<uint64_t>(int64_t{-EINVAL});
  if (from && to) return fold(add_carry(sum_words(to, to_size, seed), ~sum_words(from, from_size, 0)));
  if (to) return fold(sum_words(to, to_size, seed));
  if (from) return fold(~sum_words(from, from_size, ~seed));
  return seed;
}

}  // namespace xbond::bpf
