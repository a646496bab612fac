#include "bpf_compat/map/percpu_array.hpp"

#include <linux/bpf.h>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

Result<std::shared_ptr<Map>> PercpuArrayMap::create(const MapSpec& spec, uint32_t cpus) {
  constexpr uint32_t kRefused = BPF_F_NUMA_NODE | BPF_F_MMAPABLE | BPF_F_INNER_MAP;
  if (auto status = check_shape(spec, kRefused, kMaxPercpuValue); !status) return status.error();
  const size_t stride = stride_of(spec);
  const size_t plane = (stride * spec.max_entries + kPage - 1) / kPage * kPage;
  auto area = Area::allocate(plane * cpus);
  if (!area) return area.error();
  return std::shared_ptr<Map>(std::make_shared<PercpuArrayMap>(Token{}, spec, cpus, std::move(*area), stride, plane));
}

void* PercpuArrayMap::lookup(const void* key, uint32_t cpu) noexcept {
  const auto index = index_of(key);
  return index < spec().max_entries && cpu < cpus() ? value(index, cpu) : nullptr;
}

int PercpuArrayMap::update(const void* key, const void* from, uint64_t flags, uint32_t cpu) noexcept {
  // The order of these tests is the kernel's: it decides which errno wins
  if ((flags & ~uint64_t{BPF_F_LOCK}) > BPF_EXIST || cpu >= cpus()) return -EINVAL;
  const auto index = index_of(key);
  if (index >= spec().max_entries) return -E2BIG;
  if ((flags & BPF_NOEXIST) != 0) return -EEXIST;
  if ((flags & BPF_F_LOCK) != 0) return -EINVAL;
  copy_in(value(index, cpu), from, spec().value_size);
  return 0;
}

int PercpuArrayMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> to) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || to.size() != control_value_size()) return -EINVAL;
  const auto index = index_of(key.data());
  if (index >= spec().max_entries) return -ENOENT;
  // Whole strides, as the kernel: what control wrote behind the value comes back
  for (uint32_t cpu = 0; cpu < cpus(); ++cpu) copy_out(to.data() + cpu * stride(), value(index, cpu), stride());
  return 0;
}

int PercpuArrayMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> from, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || from.size() != control_value_size()) return -EINVAL;
  if (flags > BPF_EXIST) return -EINVAL;
  const auto index = index_of(key.data());
  if (index >= spec().max_entries) return -E2BIG;
  if (flags == BPF_NOEXIST) return -EEXIST;
  for (uint32_t cpu = 0; cpu < cpus(); ++cpu) copy_in(value(index, cpu), from.data() + cpu * stride(), stride());
  return 0;
}

}  // namespace xbond::bpf
