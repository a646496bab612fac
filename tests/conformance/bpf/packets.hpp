// Frames that differ in what programs look at: protocols, tags, options, fragments, lengths, broken headers, noise.
#pragma once

#include <cstdint>
#include <vector>

namespace xbond::bpf::conformance {

using Packet = std::vector<uint8_t>;

// Always the same ones. Each has 14 bytes or more, as the kernel's test run asks.
std::vector<Packet> packets();

}  // namespace xbond::bpf::conformance
