// Which place holds a key: open addressing over cache lines of seven words, half full at most. Look-ups take no lock
// and write nothing. A key stays in the word where it was put until it goes, so that a look-up never misses a key that
// is there all the time. Writers of keys with the same home line take that line's lock.
#pragma once

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
