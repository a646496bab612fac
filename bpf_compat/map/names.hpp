// Names of map types, as bpftool writes them. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace xbond::bpf {

// "hash" for BPF_MAP_TYPE_HASH; "number 99" for what has no name here.
std::string map_type_name(uint32_t type);

}  // namespace xbond::bpf
