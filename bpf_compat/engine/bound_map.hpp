// A map as a running program sees it: all that a look-up or an access check needs, in one cache line. A program's map
// pointers are addresses of these; nothing else can pass for one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpf_compat/map/map.hpp"

namespace xbond::bpf {

// How a look-up goes. Kinds before `hash` have an address for each index.
enum class MapKind : uint8_t { array, percpu_array, hash, maps, other };

struct alignas(64) BoundMap {
  Map* map = nullptr;         // owned by the Program
  std::byte* base = nullptr;  // first value of CPU 0
  size_t plane = 0;           // bytes from one CPU's values to the next's; 0: all CPUs share them
  size_t stride = 0;          // bytes from one value to the next
  size_t bytes = 0;           // of one CPU's values, strides included; 0: programs get no pointers into it
  uint32_t value_size = 0;
  uint32_t max_entries = 0;
  uint32_t key_size = 0;
  MapKind kind = MapKind::array;
  bool readable = true;  // by programs
  bool writable = true;

  [[nodiscard]] bool is_array() const { return kind < MapKind::hash; }
  [[nodiscard]] std::byte* values(uint32_t cpu) const { return base + plane * cpu; }
  [[nodiscard]] std::byte* value(uint32_t index, uint32_t cpu) const { return values(cpu) + stride * index; }
};
static_assert(sizeof(BoundMap) == 64);

// Precondition: Map::create made `map`.
BoundMap bind_map(Map& map);

}  // namespace xbond::bpf
