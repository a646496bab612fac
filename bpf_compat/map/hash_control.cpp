// How a hash map is made, and what control does with it.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/hash.hpp"
#include "bpf_compat/map/locked_value.hpp"
#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

constexpr size_t kPage = 4096;
constexpr uint32_t kCreateFlags =
    BPF_F_NO_PREALLOC | BPF_F_NO_COMMON_LRU | BPF_F_NUMA_NODE | BPF_F_ZERO_SEED | kAccessFlags;
// sizeof(struct htab_elem): the kernel keeps it, key and value in one allocation
constexpr size_t kElementHead = 48;
// Greater ones need more buckets than the kernel can address
constexpr uint32_t kMaxEntries = 1U << 27;
// Places that rest while bursts run, for each worker and for all; memory that is touched only when needed
constexpr size_t kRestingEach = 4096;
// Fewer in an LRU map: looking for an entry to evict passes them
constexpr size_t kRestingEachLru = 512;
constexpr size_t kMaxRestingBytes = 64 << 20;

bool is_lru(const MapSpec& spec) {
  return spec.type == BPF_MAP_TYPE_LRU_HASH || spec.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

bool is_percpu(const MapSpec& spec) {
  return spec.type == BPF_MAP_TYPE_PERCPU_HASH || spec.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

// More than max_entries, by what may rest at once.
uint32_t count_places(const MapSpec& spec, uint32_t cpus) {
  const size_t bytes = round_up_8(spec.value_size) * (is_percpu(spec) ? cpus : 1) + round_up_8(spec.key_size);
  const size_t writers = size_t{cpus} + 8;  // each may hold one that is not yet, or not any more, an entry
  const size_t wanted = (is_lru(spec) ? kRestingEachLru : kRestingEach) * (cpus + 1) + spec.max_entries / 8;
  return static_cast<uint32_t>(spec.max_entries + std::max(writers, std::min(wanted, kMaxRestingBytes / bytes)));
}

}  // namespace

// htab_map_alloc_check, in its order: the errno of a spec that is wrong twice is the kernel's
Status HashMap::check_shape(const MapSpec& spec) {
  if ((spec.flags & ~kCreateFlags) != 0 || access_flags_clash(spec.flags)) return wrong_flags(spec);
  if (!is_lru(spec) && (spec.flags & BPF_F_NO_COMMON_LRU) != 0) return wrong_flags(spec);
  if (is_lru(spec) && (spec.flags & BPF_F_NO_PREALLOC) != 0)
    return fail(kNotSupported, "an LRU map can't have BPF_F_NO_PREALLOC");
  if ((spec.flags & BPF_F_NUMA_NODE) != 0 && (is_percpu(spec) || (spec.flags & BPF_F_NO_COMMON_LRU) != 0))
    return wrong_flags(spec);
  if (spec.max_entries == 0 || spec.key_size == 0 || spec.value_size == 0) return wrong_sizes(spec);
  if (size_t{spec.key_size} + spec.value_size >= kMaxKernelAllocation - kElementHead)
    return fail(E2BIG, fmt::format("key and value have {} bytes, the limit is {}",
                                   size_t{spec.key_size} + spec.value_size, kMaxKernelAllocation - kElementHead));
  if (is_percpu(spec) && round_up_8(spec.value_size) > kMaxPercpuValue)
    return fail(E2BIG,
                fmt::format("value size {} is above {}, the limit of this type", spec.value_size, kMaxPercpuValue));
  if (!lock_fits(spec)) return fail(EINVAL, "its spin lock does not lie in its value");
  if (spec.max_entries > kMaxEntries)
    return fail(E2BIG, fmt::format("max_entries {} is above {}", spec.max_entries, kMaxEntries));
  return {};
}

Result<HashMap::Parts> HashMap::make_parts(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  Parts parts;
  const auto slots = parts.places = count_places(spec, cpus);
  const size_t value_bytes = round_up_8(spec.value_size);
  const size_t key_bytes = round_up_8(spec.key_size);
  const bool percpu = is_percpu(spec);
  // A shared value and its key lie together: a look-up that compares the key has fetched the value too
  parts.stride = percpu ? value_bytes : value_bytes + key_bytes;
  parts.plane = percpu ? (parts.stride * slots + kPage - 1) / kPage * kPage : 0;
  auto values = Area::allocate(percpu ? parts.plane * cpus : parts.stride * slots);
  if (!values) return values.error();
  parts.values = std::move(*values);
  if (percpu) {
    auto keys = Area::allocate(key_bytes * slots);
    if (!keys) return keys.error();
    parts.keys = std::move(*keys);
    parts.key_store = {parts.keys.data(), key_bytes, spec.key_size};
  } else {
    parts.key_store = {parts.values.data() + value_bytes, parts.stride, spec.key_size};
  }
  auto pool = SlotPool::create(slots, cpus + 1, grace);
  if (!pool) return pool.error();
  parts.pool = std::move(*pool);
  auto index = HashIndex::create(spec.max_entries, parts.key_store, (spec.flags & BPF_F_ZERO_SEED) != 0);
  if (!index) return index.error();
  parts.index = std::move(*index);
  if (!is_lru(spec)) return parts;
  auto recency = Recency::create(slots, cpus);
  if (!recency) return recency.error();
  parts.recency = std::move(*recency);
  auto homes = Area::allocate(size_t{slots} * sizeof(uint64_t));
  if (!homes) return homes.error();
  parts.homes = std::move(*homes);
  return parts;
}

Status HashMap::add_sides(Parts& parts) {
  auto sides = Area::allocate(size_t{parts.places} * sizeof(void*));
  if (!sides) return sides.error();
  parts.sides = std::move(*sides);
  return {};
}

// As control sees it: all CPUs side by side, whole strides.
void HashMap::read_value(uint32_t slot, std::byte* to) const noexcept {
  if (!per_cpu()) {
    copy_out(to, value(slot, 0), spec().value_size);
    return hide_lock(spec(), to);
  }
  for (uint32_t cpu = 0; cpu < cpus(); ++cpu) copy_out(to + cpu * stride(), value(slot, cpu), stride());
}

int HashMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> to) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (key.size() != spec().key_size || to.size() != control_value_size()) return -EINVAL;
  const auto hash = parts_.index->hash(key.data());
  for (;;) {
    const auto found = parts_.index->find(key.data(), hash);
    if (!found) return -ENOENT;
    read_value(found.slot(), to.data());
    // Control is no worker: nothing kept the place for it. Once more when the key has moved meanwhile
    if (found.still()) return 0;
  }
}

int HashMap::copy_take(std::span<const std::byte> key, std::span<std::byte> to) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size || to.size() != control_value_size()) return -EINVAL;
  HashIndex::Writer writer(*parts_.index, parts_.index->hash(key.data()));
  const auto found = writer.find(key.data());
  if (!found) return -ENOENT;
  read_value(found.slot(), to.data());
  remove(writer, found, cpus());
  count_.fetch_sub(1, std::memory_order_relaxed);
  return 0;
}

int HashMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> from, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size || from.size() != control_value_size()) return -EINVAL;
  const bool may_lock = has_lock(spec()) && !per_cpu() && !lru_;
  if (flags > (may_lock ? BPF_EXIST | BPF_F_LOCK : BPF_EXIST) || (flags & 3) == 3) return -EINVAL;
  return put(key.data(), flags, {from.data(), true, 0}, cpus());
}

int HashMap::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  return key.size() == spec().key_size ? erase(key.data(), cpus()) : -EINVAL;
}

int HashMap::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  if (const int rc = may_read(); rc != 0) return rc;
  if ((!key.empty() && key.size() != spec().key_size) || next.size() != spec().key_size) return -EINVAL;
  // A key that is not there, like no key at all, leads to the first
  HashIndex::Found after;
  if (!key.empty()) after = parts_.index->find(key.data(), parts_.index->hash(key.data()));
  return parts_.index->next(after, next.data()) ? 0 : -ENOENT;
}

}  // namespace xbond::bpf
