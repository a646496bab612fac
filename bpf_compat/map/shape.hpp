// What all families ask of a map's shape before they make it. Thread: control.
#pragma once

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>

#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// BPF_F_ACCESS_MASK
inline constexpr uint32_t kAccessFlags = BPF_F_RDONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY | BPF_F_WRONLY_PROG;

// PCPU_MIN_UNIT_SIZE: the kernel's per-CPU allocator takes no greater value
inline constexpr size_t kMaxPercpuValue = 32 * 1024;

// KMALLOC_MAX_SIZE: the kernel takes no single allocation above it
inline constexpr size_t kMaxKernelAllocation = 4 << 20;

inline bool access_flags_clash(uint32_t flags) {
  const auto both = [&](uint32_t pair) { return (flags & pair) == pair; };
  return both(BPF_F_RDONLY | BPF_F_WRONLY) || both(BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG);
}

inline size_t round_up_8(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

inline Error wrong_flags(const MapSpec& spec) {
  return fail(EINVAL, fmt::format("flags {:#x} are not those of this type", spec.flags));
}

inline Error wrong_sizes(const MapSpec& spec) {
  return fail(EINVAL, fmt::format("key size {}, value size {}, max_entries {} are not those of this type",
                                  spec.key_size, spec.value_size, spec.max_entries));
}

}  // namespace xbond::bpf
