// bpf_map_lookup_elem for engines that know the map when they compile: nothing is checked. Thread: worker.
#pragma once

#include <cstdint>

#include "bpf_compat/engine/bound_map.hpp"

namespace xbond::bpf {

// The longest key that is given in registers.
inline constexpr uint32_t kKeyWords = 4;

// The address of a function that finds the value of a key of `words` words (1 … kKeyWords) in a map of MapKind::hash:
// uint64_t (const BoundMap*, uint64_t cpu, uint64_t word ...), which gives the value's address, or 0. The last word is
// filled up with zeros.
uintptr_t look_up_words(uint32_t words);

// Likewise for keys of any length: uint64_t (const BoundMap*, uint64_t cpu, const void* key).
uintptr_t look_up_bytes();

}  // namespace xbond::bpf
