#include "bpf_compat/map/hash_of_maps.hpp"

#include <linux/bpf.h>

#include <cstring>

#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {

HashOfMaps::HashOfMaps(Token, MapSpec spec, uint32_t cpus, std::shared_ptr<Map> table, Grace& grace)
    : Map(std::move(spec), cpus), table_(std::move(table)), retired_(grace) {}

Result<std::shared_ptr<Map>> HashOfMaps::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  if (spec.value_size != sizeof(uint32_t)) return wrong_sizes(spec);
  if (auto status = check_inner(spec); !status) return status.error();
  auto table_spec = spec;
  table_spec.type = BPF_MAP_TYPE_HASH;
  table_spec.value_size = sizeof(Entry);
  auto table = HashMap::create(table_spec, cpus, grace);
  if (!table) return table.error();
  return std::shared_ptr<Map>(std::make_shared<HashOfMaps>(Token{}, spec, cpus, std::move(*table), grace));
}

void* HashOfMaps::lookup(const void* key, uint32_t cpu) noexcept {
  // An entry's place is not written again while this burst runs
  const auto* entry = static_cast<const Entry*>(static_cast<HashMap&>(*table_).lookup(key, cpu));
  if (!entry) return nullptr;
  return reinterpret_cast<void*>(entry->seen);  // NOLINT(performance-no-int-to-ptr): copy_update() put it there
}

int HashOfMaps::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int HashOfMaps::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

// Precondition: locked, so that the entry stays where it is.
bool HashOfMaps::get(std::span<const std::byte> key, Entry& entry) {
  const auto* found = static_cast<HashMap&>(*table_).lookup(key.data(), 0);
  if (found) std::memcpy(&entry, found, sizeof(Entry));
  return found != nullptr;
}

// Precondition: locked, and no entry leads there any more.
void HashOfMaps::let_go(const Entry& entry) {
  const auto it = owners_.find(entry.seen);
  if (it == owners_.end()) return;
  retired_.add(std::move(it->second));
  owners_.erase(it);
}

int HashOfMaps::copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (key.size() != spec().key_size || value.size() != sizeof(uint32_t)) return -EINVAL;
  const std::lock_guard guard(lock_);
  Entry entry{};
  if (!get(key, entry)) return -ENOENT;
  const auto id = static_cast<uint32_t>(entry.id);
  std::memcpy(value.data(), &id, sizeof(id));
  return 0;
}

int HashOfMaps::copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size || value.size() != sizeof(uint32_t)) return -EINVAL;
  if ((flags & BPF_F_LOCK) != 0) return -EINVAL;
  uint32_t id;
  std::memcpy(&id, value.data(), sizeof(id));
  Reference reference;
  if (const int rc = make_reference(*this, id, reference); rc != 0) return rc;
  const std::lock_guard guard(lock_);
  Entry old{};
  const bool replaces = get(key, old);
  const Entry entry{reinterpret_cast<uintptr_t>(reference.seen), id};
  const int rc = table_->copy_update(key, std::as_bytes(std::span(&entry, 1)), flags);
  if (rc != 0) return rc;
  owners_[entry.seen] = std::move(reference.owner);
  if (replaces) let_go(old);
  return 0;
}

int HashOfMaps::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size) return -EINVAL;
  const std::lock_guard guard(lock_);
  Entry old{};
  if (!get(key, old)) return -ENOENT;
  const int rc = static_cast<HashMap&>(*table_).erase(key.data(), cpus());
  if (rc == 0) let_go(old);
  return rc;
}

int HashOfMaps::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  return table_->next_key(key, next);
}

}  // namespace xbond::bpf
