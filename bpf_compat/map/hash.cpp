#include "bpf_compat/map/hash.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstring>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/locked_value.hpp"
#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

// Evicting spares so many entries that were used lately before it takes the next one all the same: some microseconds
constexpr uint32_t kMaxSpared = 1024;
// Others may take the place that an eviction made; by then many insertions have succeeded
constexpr uint32_t kMaxTries = 128;

bool is_lru(uint32_t type) {
  return type == BPF_MAP_TYPE_LRU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

}  // namespace

HashMap::HashMap(Token, MapSpec spec, uint32_t cpus, Parts parts)
    : Map(std::move(spec), cpus), parts_(std::move(parts)), lru_(is_lru(this->spec().type)) {}

Result<std::shared_ptr<Map>> HashMap::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  if (auto status = check_shape(spec); !status) return status.error();
  auto parts = make_parts(spec, cpus, grace);
  if (!parts) return parts.error();
  return std::shared_ptr<Map>(std::make_shared<HashMap>(Token{}, spec, cpus, std::move(*parts)));
}

uint32_t HashMap::find_slot(const void* key, uint32_t cpu) noexcept {
  return used(parts_.index->find(key, parts_.index->hash(key)), cpu);
}

void* HashMap::lookup(const void* key, uint32_t cpu) noexcept {
  if (cpu >= cpus()) return nullptr;
  const auto slot = find_slot(key, cpu);
  return slot == kNoSlot ? nullptr : value(slot, cpu);
}

int HashMap::update(const void* key, const void* from, uint64_t flags, uint32_t cpu) noexcept {
  // The order of these tests is the kernel's: it decides which errno wins
  if (lru_ || per_cpu() ? flags > BPF_EXIST : (flags & ~uint64_t{BPF_F_LOCK}) > BPF_EXIST) return -EINVAL;
  if (((flags & BPF_F_LOCK) != 0 && !has_lock(spec())) || cpu >= cpus()) return -EINVAL;
  return put(key, flags, {static_cast<const std::byte*>(from), false, cpu}, cpu);
}

int HashMap::erase(const void* key, uint32_t cpu) noexcept {
  const auto owner = std::min(cpu, cpus());
  const auto hash = parts_.index->hash(key);
  HashIndex::Writer writer(*parts_.index, hash);
  const auto found = writer.find(key);
  if (!found) return -ENOENT;
  remove(writer, found, owner);
  count_.fetch_sub(1, std::memory_order_relaxed);
  return 0;
}

int HashMap::put(const void* key, uint64_t flags, const Source& source, uint32_t owner) noexcept {
  const auto hash = parts_.index->hash(key);
  for (uint32_t tries = 0; tries < kMaxTries; ++tries) {
    {
      HashIndex::Writer writer(*parts_.index, hash);
      const auto found = writer.find(key);
      if (found && (flags & BPF_NOEXIST) != 0) return -EEXIST;
      if (!found && (flags & BPF_EXIST) != 0) return -ENOENT;
      if (found && (flags & BPF_F_LOCK) != 0)
        return xbond::bpf::write_value(spec(), value(found.slot(), 0), source.value, flags);
      if (found) return overwrite(writer, found, key, hash, source, owner);
      if (reserve()) return add(writer, key, hash, source, owner);
    }
    if (!lru_) return -E2BIG;
    // Without the lock: the victim has one of its own
    if (!evict(owner)) return -ENOMEM;
  }
  return -ENOMEM;
}

// Precondition: a place among max_entries is reserved.
int HashMap::add(HashIndex::Writer& writer, const void* key, uint64_t hash, const Source& source,
                 uint32_t owner) noexcept {
  const auto slot = parts_.pool->take(owner);
  if (slot == kNoSlot) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    return -ENOMEM;
  }
  write_key(slot, key, hash);
  write_value(slot, source, true);
  writer.insert(slot);
  return 0;
}

int HashMap::overwrite(HashIndex::Writer& writer, const HashIndex::Found& found, const void* key, uint64_t hash,
                       const Source& source, uint32_t owner) noexcept {
  const auto slot = per_cpu() ? kNoSlot : parts_.pool->take(owner);
  if (slot == kNoSlot) {
    write_value(found.slot(), source, false);
    return 0;
  }
  write_key(slot, key, hash);
  write_value(slot, source, true);
  writer.replace(found, slot);
  if (lru_) {
    home_of(found.slot()).store(0, std::memory_order_relaxed);
    parts_.recency.touch(slot, std::min(owner, cpus() - 1));
  }
  parts_.pool->retire(found.slot(), owner);
  return 0;
}

bool HashMap::reserve() noexcept {
  auto count = count_.load(std::memory_order_relaxed);
  while (count < spec().max_entries)
    if (count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
  return false;
}

// A free place among max_entries, by taking an entry out. False: there is none to take.
bool HashMap::evict(uint32_t owner) noexcept {
  const auto touched = parts_.pool->touched();
  for (uint64_t looked = 0, spared = 0; looked < uint64_t{2} * touched + kMaxTries; ++looked) {
    if (entries() < spec().max_entries) return true;  // others made room
    const auto slot = parts_.recency.advance(touched);
    const auto hash = home_of(slot).load(std::memory_order_relaxed);
    if (hash == 0) continue;
    if (spared < kMaxSpared && parts_.recency.recent(slot)) {
      ++spared;
      continue;
    }
    if (evict_from(slot, hash, owner)) return true;
  }
  return false;
}

bool HashMap::evict_from(uint32_t slot, uint64_t hash, uint32_t owner) noexcept {
  HashIndex::Writer writer(*parts_.index, hash);
  const auto found = writer.find_slot(slot);
  if (!found) return false;
  remove(writer, found, owner);
  count_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

// The entry's place rests; whoever has it keeps its value.
void HashMap::remove(HashIndex::Writer& writer, const HashIndex::Found& found, uint32_t owner) noexcept {
  writer.erase(found);
  if (lru_) home_of(found.slot()).store(0, std::memory_order_relaxed);
  parts_.pool->retire(found.slot(), owner);
}

void HashMap::write_key(uint32_t slot, const void* key, uint64_t hash) noexcept {
  const auto& store = parts_.key_store;
  const size_t whole = store.size / 8 * 8;
  auto* to = store.at(slot);
  copy_in(to, key, whole);
  if (whole != store.size) {
    uint64_t tail = 0;  // look-ups compare words
    std::memcpy(&tail, static_cast<const std::byte*>(key) + whole, store.size - whole);
    copy_in(to + whole, &tail, sizeof(tail));
  }
  if (lru_) home_of(slot).store(hash | 1ULL << 63, std::memory_order_relaxed);
}

void HashMap::write_value(uint32_t slot, const Source& source, bool fresh) noexcept {
  if (!per_cpu()) {
    if (!parts_.sides.bytes().empty()) side_of(slot).store(source.side, std::memory_order_relaxed);
    if (fresh && has_lock(spec())) copy_zero(value(slot, 0), round_up_8(spec().value_size));
    (void)xbond::bpf::write_value(spec(), value(slot, 0), source.value, 0);
    return;
  }
  for (uint32_t cpu = 0; cpu < cpus(); ++cpu) {
    if (source.all) {
      copy_in(value(slot, cpu), source.value + cpu * stride(), stride());
      continue;
    }
    // A new entry of one CPU's is zero for the others, whatever the place held before
    if (fresh) copy_zero(value(slot, cpu), stride());
    if (cpu == source.cpu) copy_in(value(slot, cpu), source.value, spec().value_size);
  }
}

}  // namespace xbond::bpf
