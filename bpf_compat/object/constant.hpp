// Read-only data sections: what no run changes. Thread: any.
#pragma once

#include <cstdint>
#include <optional>

#include "bpf_compat/object/object.hpp"

namespace xbond::bpf {

// The `bytes` (at most eight) that lie `at` bytes into the section, as a host-endian number; nothing where the map is
// not such a section or they do not lie in it whole.
std::optional<uint64_t> constant_at(const MapSpec& spec, int64_t at, size_t bytes);

}  // namespace xbond::bpf
