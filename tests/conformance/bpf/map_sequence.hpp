// A random sequence of control operations on the kernel's map and on ours: equal results, values and contents.
#pragma once

#include "tests/conformance/bpf/parts.hpp"
#include "tests/conformance/bpf/random.hpp"

namespace xbond::bpf::conformance {

MapSpec spec_of(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags);
std::string text_of(const MapSpec& spec);

// How keys of a family look.
enum class Keys : uint8_t { index, bytes, few, prefix, none };

// Makes both maps and runs the sequence; counts in `tally`.
void compare_sequence(Tally& tally, const MapSpec& spec, Keys keys, uint64_t seed, int operations);

}  // namespace xbond::bpf::conformance
