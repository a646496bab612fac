#include "bpf_compat/map/array.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <climits>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/locked_value.hpp"

namespace xbond::bpf {

Result<std::shared_ptr<Map>> ArrayMap::create(const MapSpec& spec, uint32_t cpus) {
  if (auto status = check_shape(spec, 0, INT_MAX); !status) return status.error();
  if (!lock_fits(spec)) return fail(EINVAL, "its spin lock does not lie in its value");
  if (spec.initial.size() > spec.value_size)
    return fail(EINVAL,
                fmt::format("first value has {} bytes, value size is {}", spec.initial.size(), spec.value_size));
  const size_t stride = stride_of(spec);
  auto area = Area::allocate(stride * spec.max_entries);
  if (!area) return area.error();
  copy_in(area->data(), spec.initial.data(), spec.initial.size());
  return std::shared_ptr<Map>(std::make_shared<ArrayMap>(Token{}, spec, cpus, std::move(*area), stride));
}

void* ArrayMap::lookup(const void* key, uint32_t /*cpu*/) noexcept {
  const auto index = index_of(key);
  return index < spec().max_entries ? value(index) : nullptr;
}

int ArrayMap::update(const void* key, const void* from, uint64_t flags, uint32_t /*cpu*/) noexcept {
  // The order of these tests is the kernel's: it decides which errno wins
  if ((flags & ~uint64_t{BPF_F_LOCK}) > BPF_EXIST) return -EINVAL;
  const auto index = index_of(key);
  if (index >= spec().max_entries) return -E2BIG;
  if ((flags & BPF_NOEXIST) != 0) return -EEXIST;
  if ((flags & BPF_F_LOCK) != 0 && !has_lock(spec())) return -EINVAL;
  return write_value(spec(), value(index), from, flags);
}

int ArrayMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> to) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || to.size() != control_value_size()) return -EINVAL;
  const auto index = index_of(key.data());
  if (index >= spec().max_entries) return -ENOENT;
  copy_out(to.data(), value(index), spec().value_size);
  hide_lock(spec(), to.data());
  return 0;
}

int ArrayMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> from, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || from.size() != control_value_size()) return -EINVAL;
  if ((flags & BPF_F_LOCK) != 0 && !has_lock(spec())) return -EINVAL;
  return update(key.data(), from.data(), flags, 0);
}

}  // namespace xbond::bpf
