#include "bpf_compat/map/ref_array.hpp"

#include <linux/bpf.h>

#include <cstring>

#include "bpf_compat/map/array_base.hpp"
#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

// Each entry costs memory at once; the kernel's limit is that of one allocation
constexpr uint32_t kMaxEntries = 1 << 24;

}  // namespace

RefArrayMap::RefArrayMap(Token, MapSpec spec, uint32_t cpus, Grace& grace)
    : Map(std::move(spec), cpus),
      seen_(std::make_unique<std::atomic<const void*>[]>(this->spec().max_entries)),
      references_(this->spec().max_entries),
      retired_(grace) {}

Result<std::shared_ptr<Map>> RefArrayMap::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  if (spec.max_entries == 0 || spec.key_size != sizeof(uint32_t) || spec.value_size != sizeof(uint32_t))
    return wrong_sizes(spec);
  if ((spec.flags & ~(BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_MMAPABLE | BPF_F_INNER_MAP)) != 0)
    return wrong_flags(spec);
  if ((spec.flags & (BPF_F_MMAPABLE | BPF_F_INNER_MAP)) != 0) return wrong_flags(spec);
  if (spec.max_entries > kMaxEntries)
    return fail(ENOMEM, fmt::format("max_entries {} is above {}", spec.max_entries, kMaxEntries));
  if (spec.type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
    if (auto status = check_inner(spec); !status) return status.error();
  return std::shared_ptr<Map>(std::make_shared<RefArrayMap>(Token{}, spec, cpus, grace));
}

void* RefArrayMap::lookup(const void* key, uint32_t /*cpu*/) noexcept {
  return const_cast<void*>(at(index_of(key)));
}

int RefArrayMap::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int RefArrayMap::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int RefArrayMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || value.size() != sizeof(uint32_t)) return -EINVAL;
  const std::lock_guard guard(lock_);
  const auto index = index_of(key.data());
  if (index >= spec().max_entries || references_[index].id == 0) return -ENOENT;
  std::memcpy(value.data(), &references_[index].id, sizeof(uint32_t));
  return 0;
}

int RefArrayMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || value.size() != sizeof(uint32_t)) return -EINVAL;
  // The order of these tests is the kernel's: it decides which errno wins
  if ((flags & BPF_F_LOCK) != 0 || flags != BPF_ANY) return -EINVAL;
  const auto index = index_of(key.data());
  if (index >= spec().max_entries) return -E2BIG;
  Reference reference;
  if (const int rc = make_reference(*this, index_of(value.data()), reference); rc != 0) return rc;
  const std::lock_guard guard(lock_);
  std::swap(references_[index], reference);
  seen_[index].store(references_[index].seen, std::memory_order_release);
  retired_.add(std::move(reference.owner));
  return 0;
}

int RefArrayMap::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t)) return -EINVAL;
  const auto index = index_of(key.data());
  if (index >= spec().max_entries) return -E2BIG;
  const std::lock_guard guard(lock_);
  Reference reference;
  std::swap(references_[index], reference);
  if (reference.id == 0) return -ENOENT;
  seen_[index].store(nullptr, std::memory_order_release);
  retired_.add(std::move(reference.owner));
  return 0;
}

int RefArrayMap::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  if (const int rc = may_read(); rc != 0) return rc;
  return next_index(key, next, spec().max_entries);
}

void RefArrayMap::unused() noexcept {
  if (spec().type != BPF_MAP_TYPE_PROG_ARRAY) return;
  // Out of the lock: what goes may ask this map something
  std::vector<Reference> gone;
  const std::lock_guard guard(lock_);
  for (uint32_t i = 0; i < spec().max_entries; ++i) seen_[i].store(nullptr, std::memory_order_release);
  for (auto& reference : references_) retired_.add(std::move(std::exchange(reference, {}).owner));
}

}  // namespace xbond::bpf
