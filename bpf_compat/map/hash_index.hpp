// Which place holds a key: open addressing over cache lines of seven words, half full at most. Look-ups take no lock
// and write nothing. A key stays in the word where it was put until it goes, so that a look-up never misses a key that
// is there all the time. Writers of keys with the same home line take that line's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/key_hash.hpp"
#include "bpf_compat/map/slot_pool.hpp"

namespace xbond::bpf {

// Where keys lie. Each begins at a multiple of 8 bytes and is filled up with zeros to the next.
struct KeyStore {
  std::byte* base = nullptr;
  size_t stride = 0;  // bytes from one key to the next
  uint32_t size = 0;  // bytes of a key
  [[nodiscard]] std::byte* at(uint32_t slot) const { return base + stride * slot; }
};

class HashIndex {
 public:
  using Word = std::atomic<uint64_t>;  // hash << 32 | place + 1; 0: free

  // What a look-up found. Null `at`: nothing.
  struct Found {
    const Word* at = nullptr;
    uint64_t word = 0;
    explicit operator bool() const { return at != nullptr; }
    [[nodiscard]] uint32_t slot() const { return static_cast<uint32_t>(word) - 1; }
    // Whether the place still holds that key; a copy made before is then whole.
    [[nodiscard]] bool still() const {
      std::atomic_thread_fence(std::memory_order_acquire);
      return at->load(std::memory_order_relaxed) == word;
    }
  };

  static Result<std::unique_ptr<HashIndex>> create(uint32_t max_entries, const KeyStore& keys, bool fixed_hash);

  [[nodiscard]] uint64_t hash(const void* key) const noexcept { return hash_(key, keys_.size); }
  [[nodiscard]] Found find(const void* key, uint64_t hash) const noexcept;
  // The key in words, the last one filled up with zeros: as many as the keys of this index have.
  template <size_t Words>
  [[nodiscard]] Found find(const std::array<uint64_t, Words>& key) const noexcept {
    return search(hash_.of_words(key, keys_.size), [&](uint32_t slot) {
      auto* stored = reinterpret_cast<uint64_t*>(keys_.at(slot));
      for (size_t i = 0; i < Words; ++i)
        if (std::atomic_ref(stored[i]).load(std::memory_order_relaxed) != key[i]) return false;
      return true;
    });
  }

  // Calls for one home line, by the writer that holds its lock.
  class Writer {
   public:
    Writer(HashIndex& index, uint64_t hash) noexcept;
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    [[nodiscard]] Found find(const void* key) const noexcept { return index_.find(key, hash_); }
    // The word that stands for `slot`, whatever its key.
    [[nodiscard]] Found find_slot(uint32_t slot) const noexcept;
    // The key in `slot`, which was not there. Precondition: fewer keys than max_entries.
    void insert(uint32_t slot) noexcept;
    void replace(const Found& found, uint32_t slot) noexcept;
    void erase(const Found& found) noexcept;

   private:
    HashIndex& index_;
    uint64_t hash_;
    size_t home_;
    uint64_t control_;
  };

  // Calls `action` with the place of each key until it gives false. Keys that come or go meanwhile may be missed.
  template <class Action>
  void each(Action& action) const {
    for (const auto& line : lines_)
      for (const auto& cell : line.words)
        if (const Found found{&cell, cell.load(std::memory_order_acquire)}; found.word != 0 && !action(found.slot()))
          return;
  }

  // The next key behind `after`, in the order of words; the first when null. Copies it to `key`. False at the end.
  bool next(const Found& after, std::byte* key) const noexcept;

 private:
  static constexpr size_t kWords = 7;
  struct alignas(64) Line {
    // Of the keys whose home this line is: bit 0 lock; bits 1 … 31 how many lie in other lines; bits 32 … 63 how many
    // lines behind this one may hold one.
    std::atomic<uint64_t> control;
    Word words[kWords];
  };
  static_assert(sizeof(Line) == 64);

  static constexpr uint64_t kReachShift = 32;

  static bool same_hash(uint64_t word, uint64_t hash) { return word != 0 && word >> 32 == (hash & 0xffffffff); }

  template <class Equal>
  [[nodiscard]] Found search(uint64_t hash, Equal&& equal) const noexcept {
    const size_t first = home(hash);
  again:
    const uint64_t reach = lines_[first].control.load(std::memory_order_acquire) >> kReachShift;
    for (uint64_t distance = 0; distance <= reach; ++distance) {
      for (const auto& cell : lines_[(first + distance) & mask_].words) {
        const uint64_t word = cell.load(std::memory_order_acquire);
        if (!same_hash(word, hash)) continue;
        const Found found{&cell, word};
        const bool match = equal(found.slot());
        // What was compared may have become another key's since: then the key may be there, in another place
        if (!found.still()) [[unlikely]]
          goto again;
        if (match) return found;
      }
    }
    return {};
  }

  HashIndex(Area area, size_t lines, const KeyStore& keys, bool fixed_hash);
  [[nodiscard]] size_t home(uint64_t hash) const noexcept { return (hash >> 32) & mask_; }
  [[nodiscard]] bool equal(uint32_t slot, const void* key) const noexcept;
  [[nodiscard]] Line& line_of(const Found& found) const noexcept;

  Area area_;
  std::span<Line> lines_;
  size_t mask_;
  KeyStore keys_;
  KeyHash hash_;
};

}  // namespace xbond::bpf
