// BPF_MAP_TYPE_HASH, PERCPU_HASH, LRU_HASH, LRU_PERCPU_HASH. Results and errno as in kernel/bpf/hashtab.c. An update
// of a shared value puts a new entry in the old one's place; of a per-CPU value it writes in place. When an LRU map is
// full, an insertion evicts an entry that was not used lately.
#pragma once

#include <atomic>
#include <memory>

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/hash_index.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/map/recency.hpp"
#include "bpf_compat/map/slot_pool.hpp"

namespace xbond::bpf {

class HashMap : public Map {
 protected:
  struct Parts {
    Area values;
    Area keys;  // per-CPU maps; otherwise keys lie behind their values
    uint32_t places = 0;
    size_t stride = 0;
    size_t plane = 0;
    KeyStore key_store;
    std::unique_ptr<SlotPool> pool;
    std::unique_ptr<HashIndex> index;
    Recency recency;  // LRU maps
    Area homes;       // LRU maps: the hash of each place's key, 0 for none
    Area sides;       // maps with sides: a pointer beside each value
  };
  static Status check_shape(const MapSpec& spec);
  static Result<Parts> make_parts(const MapSpec& spec, uint32_t cpus, Grace& grace);
  static Status add_sides(Parts& parts);

  struct Token {};  // lets only create() construct

 public:
  HashMap(Token, MapSpec spec, uint32_t cpus, Parts parts);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // Bytes from one value to the next, and from one CPU's values to the next's (0: shared).
  [[nodiscard]] size_t stride() const { return parts_.stride; }
  [[nodiscard]] size_t plane() const { return parts_.plane; }
  // Places for entries, more than there can be entries; each may hold a value that a program still points at.
  [[nodiscard]] uint32_t places() const { return parts_.places; }
  [[nodiscard]] uint32_t entries() const { return count_.load(std::memory_order_relaxed); }

  // Worker: the place of a key, kNoSlot when it is not there, and the value in it. Notes the use in LRU maps.
  uint32_t find_slot(const void* key, uint32_t cpu) noexcept;
  // Likewise, of a key in words (HashIndex::find).
  template <size_t Words>
  uint32_t find_slot(const std::array<uint64_t, Words>& key, uint32_t cpu) noexcept {
    return used(parts_.index->find(key), cpu);
  }
  [[nodiscard]] std::byte* value(uint32_t slot, uint32_t cpu) const {
    return parts_.values.data() + parts_.plane * cpu + parts_.stride * slot;
  }

  [[nodiscard]] const std::byte* key(uint32_t slot) const { return parts_.key_store.at(slot); }

  // Worker: calls `action` with the place of each entry until it gives false.
  template <class Action>
  void each(Action&& action) const {
    parts_.index->each(action);
  }

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int copy_take(std::span<const std::byte> key, std::span<std::byte> value) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return parts_.values.bytes(); }

 protected:
  // For a kind whose entries lead to more than programs see: a pointer that comes and goes with the value.
  int update_with_side(const void* key, const void* from, uint64_t flags, const void* side) noexcept {
    return put(key, flags, {static_cast<const std::byte*>(from), true, 0, side}, cpus());
  }
  [[nodiscard]] const void* side(uint32_t slot) const noexcept { return side_of(slot).load(std::memory_order_relaxed); }

 private:
  // A value on its way in: for one CPU, or for all of them side by side.
  struct Source {
    const std::byte* value;
    bool all;
    uint32_t cpu;
    const void* side = nullptr;
  };
  [[nodiscard]] std::atomic_ref<const void*> side_of(uint32_t slot) const noexcept {
    return std::atomic_ref(reinterpret_cast<const void**>(parts_.sides.data())[slot]);
  }

  uint32_t used(const HashIndex::Found& found, uint32_t cpu) noexcept {
    if (!found) return kNoSlot;
    if (lru_) parts_.recency.touch(found.slot(), cpu);
    return found.slot();
  }
  int put(const void* key, uint64_t flags, const Source& source, uint32_t owner) noexcept;
  int overwrite(HashIndex::Writer& writer, const HashIndex::Found& found, const void* key, uint64_t hash,
                const Source& source, uint32_t owner) noexcept;
  int add(HashIndex::Writer& writer, const void* key, uint64_t hash, const Source& source, uint32_t owner) noexcept;
  void remove(HashIndex::Writer& writer, const HashIndex::Found& found, uint32_t owner) noexcept;
  void read_value(uint32_t slot, std::byte* to) const noexcept;
  bool evict(uint32_t owner) noexcept;
  bool evict_from(uint32_t slot, uint64_t hash, uint32_t owner) noexcept;
  bool reserve() noexcept;
  void write_key(uint32_t slot, const void* key, uint64_t hash) noexcept;
  void write_value(uint32_t slot, const Source& source, bool fresh) noexcept;
  [[nodiscard]] std::atomic_ref<uint64_t> home_of(uint32_t slot) const noexcept {
    return std::atomic_ref(reinterpret_cast<uint64_t*>(parts_.homes.data())[slot]);
  }

  Parts parts_;
  bool lru_;
  alignas(64) std::atomic<uint32_t> count_{0};
};

}  // namespace xbond::bpf
