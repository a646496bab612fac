#include "bpf_compat/helper/look_up.hpp"

#include <array>

#include "bpf_compat/map/hash.hpp"

namespace xbond::bpf {
namespace {

uint64_t value_of(const BoundMap& map, uint32_t slot, uint64_t cpu) {
  return slot == kNoSlot ? 0 : reinterpret_cast<uintptr_t>(map.value(slot, static_cast<uint32_t>(cpu)));
}

template <class... Words>
uint64_t by_words(const BoundMap* map, uint64_t cpu, Words... words) noexcept {
  const std::array<uint64_t, sizeof...(Words)> key{words...};
  return value_of(*map, static_cast<HashMap*>(map->map)->find_slot(key, static_cast<uint32_t>(cpu)), cpu);
}

uint64_t by_bytes(const BoundMap* map, uint64_t cpu, const void* key) noexcept {
  return value_of(*map, static_cast<HashMap*>(map->map)->find_slot(key, static_cast<uint32_t>(cpu)), cpu);
}

}  // namespace

uintptr_t look_up_words(uint32_t words) {
  switch (words) {
    case 1:
      return reinterpret_cast<uintptr_t>(by_words<uint64_t>);
    case 2:
      return reinterpret_cast<uintptr_t>(by_words<uint64_t, uint64_t>);
    case 3:
      return reinterpret_cast<uintptr_t>(by_words<uint64_t, uint64_t, uint64_t>);
    default:
      return reinterpret_cast<uintptr_t>(by_words<uint64_t, uint64_t, uint64_t, uint64_t>);
  }
}

uintptr_t look_up_bytes() {
  return reinterpret_cast<uintptr_t>(by_bytes);
}

}  // namespace xbond::bpf
