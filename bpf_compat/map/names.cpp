#include "bpf_compat/map/names.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace xbond::bpf {
namespace {

// By number of enum bpf_map_type
constexpr std::array<std::string_view, 33> kTypeNames = {"unspec",
                                                         "hash",
                                                         "array",
                                                         "prog_array",
                                                         "perf_event_array",
                                                         "percpu_hash",
                                                         "percpu_array",
                                                         "stack_trace",
                                                         "cgroup_array",
                                                         "lru_hash",
                                                         "lru_percpu_hash",
                                                         "lpm_trie",
                                                         "array_of_maps",
                                                         "hash_of_maps",
                                                         "devmap",
                                                         "sockmap",
                                                         "cpumap",
                                                         "xskmap",
                                                         "sockhash",
                                                         "cgroup_storage",
                                                         "reuseport_sockarray",
                                                         "percpu_cgroup_storage",
                                                         "queue",
                                                         "stack",
                                                         "sk_storage",
                                                         "devmap_hash",
                                                         "struct_ops",
                                                         "ringbuf",
                                                         "inode_storage",
                                                         "task_storage",
                                                         "bloom_filter",
                                                         "user_ringbuf",
                                                         "cgrp_storage"};

}  // namespace

std::string map_type_name(uint32_t type) {
  return type < kTypeNames.size() ? std::string(kTypeNames[type]) : fmt::format("number {}", type);
}

}  // namespace xbond::bpf
