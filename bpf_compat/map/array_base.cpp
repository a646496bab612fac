#include "bpf_compat/map/array_base.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstring>

#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

constexpr uint32_t kCreateFlags = BPF_F_NUMA_NODE | BPF_F_MMAPABLE | BPF_F_RDONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY |
                                  BPF_F_WRONLY_PROG | BPF_F_INNER_MAP;

}  // namespace

ArrayBase::ArrayBase(MapSpec spec, uint32_t cpus, Area area, size_t stride)
    : Map(std::move(spec), cpus), area_(std::move(area)), stride_(stride) {}

size_t ArrayBase::stride_of(const MapSpec& spec) {
  return (size_t{spec.value_size} + 7) / 8 * 8;
}

Status ArrayBase::check_shape(const MapSpec& spec, uint32_t refused_flags, size_t max_value) {
  if (spec.max_entries == 0) return fail(EINVAL, "max_entries is 0");
  if (spec.key_size != sizeof(uint32_t))
    return fail(EINVAL, fmt::format("key size is {}, an array's is 4", spec.key_size));
  if (spec.value_size == 0) return fail(EINVAL, "value size is 0");
  if ((spec.flags & ~kCreateFlags) != 0 || access_flags_clash(spec.flags) || (spec.flags & refused_flags) != 0)
    return fail(EINVAL, fmt::format("flags {:#x} are not those of this type", spec.flags));
  // After the flags: the errno of a spec that is wrong twice is the kernel's
  if (spec.value_size > max_value)
    return fail(E2BIG, fmt::format("value size {} is above {}, the limit of this type", spec.value_size, max_value));
  return {};
}

uint32_t index_of(const void* key) noexcept {
  uint32_t index;
  std::memcpy(&index, key, sizeof(index));
  return index;
}

int ArrayBase::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;  // an array's entries can't go away
}

int ArrayBase::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  return key.size() == sizeof(uint32_t) ? erase(key.data(), 0) : -EINVAL;
}

int ArrayBase::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  if (const int rc = may_read(); rc != 0) return rc;
  return next_index(key, next, spec().max_entries);
}

int next_index(std::span<const std::byte> key, std::span<std::byte> next, uint32_t max_entries) {
  if ((!key.empty() && key.size() != sizeof(uint32_t)) || next.size() != sizeof(uint32_t)) return -EINVAL;
  uint32_t index = 0;
  // A key that is not there, like no key at all, leads to the first
  if (!key.empty() && index_of(key.data()) < max_entries) index = index_of(key.data()) + 1;
  if (index == max_entries) return -ENOENT;
  std::memcpy(next.data(), &index, sizeof(index));
  return 0;
}

}  // namespace xbond::bpf
