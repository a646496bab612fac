#include "bpf_compat/map/hash_index.hpp"

#include <bit>
#include <cstring>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/spin.hpp"

namespace xbond::bpf {
namespace {

constexpr uint64_t kLocked = 1;
constexpr uint64_t kOneAway = 2;
constexpr uint64_t kAway = 0xfffffffe;
// Keys a line at most, on average: of seven words, so that few keys lie in other lines than their own
constexpr uint32_t kFill = 4;

uint64_t word_of(uint64_t hash, uint32_t slot) {
  return hash << 32 | (slot + 1);
}

}  // namespace

Result<std::unique_ptr<HashIndex>> HashIndex::create(uint32_t max_entries, const KeyStore& keys, bool fixed_hash) {
  const size_t lines = std::bit_ceil((size_t{max_entries} + kFill - 1) / kFill);
  auto area = Area::allocate(lines * sizeof(Line));
  if (!area) return area.error();
  return std::unique_ptr<HashIndex>(new HashIndex(std::move(*area), lines, keys, fixed_hash));
}

HashIndex::HashIndex(Area area, size_t lines, const KeyStore& keys, bool fixed_hash)
    : area_(std::move(area)),
      lines_(reinterpret_cast<Line*>(area_.data()), lines),
      mask_(lines - 1),
      keys_(keys),
      hash_(fixed_hash) {}

// By words, each read once: a place that is taken all the same while it rests may be written at this moment.
bool HashIndex::equal(uint32_t slot, const void* key) const noexcept {
  auto* stored = reinterpret_cast<uint64_t*>(keys_.at(slot));
  const auto* given = static_cast<const std::byte*>(key);
  size_t left = keys_.size;
  for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), given += sizeof(uint64_t), ++stored) {
    uint64_t word;
    std::memcpy(&word, given, sizeof(word));
    if (std::atomic_ref(*stored).load(std::memory_order_relaxed) != word) return false;
  }
  if (left == 0) return true;
  uint64_t word = 0;
  if (left == sizeof(uint32_t))
    std::memcpy(&word, given, sizeof(uint32_t));
  else
    std::memcpy(&word, given, left);
  return std::atomic_ref(*stored).load(std::memory_order_relaxed) == word;
}

HashIndex::Found HashIndex::find(const void* key, uint64_t hash) const noexcept {
  return search(hash, [&](uint32_t slot) { return equal(slot, key); });
}

HashIndex::Line& HashIndex::line_of(const Found& found) const noexcept {
  const auto offset = static_cast<size_t>(reinterpret_cast<const std::byte*>(found.at) - area_.data());
  return lines_[offset / sizeof(Line)];
}

bool HashIndex::next(const Found& after, std::byte* key) const noexcept {
  size_t line = 0;
  size_t cell = 0;
  if (after) {
    line = static_cast<size_t>(&line_of(after) - lines_.data());
    cell = static_cast<size_t>(after.at - lines_[line].words) + 1;
  }
  for (; line < lines_.size(); ++line, cell = 0) {
    while (cell < kWords) {
      const Word& at = lines_[line].words[cell];
      const Found found{&at, at.load(std::memory_order_acquire)};
      if (found.word != 0) {
        copy_out(key, keys_.at(found.slot()), keys_.size);
        if (!found.still()) continue;  // once more
        return true;
      }
      ++cell;
    }
  }
  return false;
}

HashIndex::Writer::Writer(HashIndex& index, uint64_t hash) noexcept
    : index_(index), hash_(hash), home_(index.home(hash)) {
  auto& control = index_.lines_[home_].control;
  uint32_t turns = 0;
  for (;;) {
    control_ = control.load(std::memory_order_relaxed);
    if ((control_ & kLocked) == 0 &&
        control.compare_exchange_weak(control_, control_ | kLocked, std::memory_order_acquire,
                                      std::memory_order_relaxed))
      return;
    spin_wait(turns);
  }
}

HashIndex::Writer::~Writer() {
  index_.lines_[home_].control.store(control_, std::memory_order_release);
}

HashIndex::Found HashIndex::Writer::find_slot(uint32_t slot) const noexcept {
  const auto wanted = word_of(hash_, slot);
  for (uint64_t distance = 0; distance <= control_ >> kReachShift; ++distance)
    for (const auto& cell : index_.lines_[(home_ + distance) & index_.mask_].words)
      if (cell.load(std::memory_order_relaxed) == wanted) return {&cell, wanted};
  return {};
}

void HashIndex::Writer::insert(uint32_t slot) noexcept {
  for (uint64_t distance = 0;; ++distance) {
    auto& line = index_.lines_[(home_ + distance) & index_.mask_];
    if (distance > control_ >> kReachShift) {
      // Before the key is there: no look-up may stop short of it
      control_ = (control_ & (kAway | 1)) | distance << kReachShift;
      index_.lines_[home_].control.store(control_ | kLocked, std::memory_order_release);
    }
    for (auto& cell : line.words) {
      uint64_t empty = 0;
      // Writers of other homes may want the same word
      if (cell.load(std::memory_order_relaxed) != 0 ||
          !cell.compare_exchange_strong(empty, word_of(hash_, slot), std::memory_order_release,
                                        std::memory_order_relaxed))
        continue;
      if (distance != 0) control_ += kOneAway;
      return;
    }
  }
}

void HashIndex::Writer::replace(const Found& found, uint32_t slot) noexcept {
  const_cast<Word*>(found.at)->store(word_of(hash_, slot), std::memory_order_release);
}

void HashIndex::Writer::erase(const Found& found) noexcept {
  const_cast<Word*>(found.at)->store(0, std::memory_order_release);
  if (&index_.line_of(found) == &index_.lines_[home_]) return;
  control_ -= kOneAway;
  // The last one away: look-ups need go no further than this line again
  if ((control_ & kAway) == 0) control_ = 0;
}

}  // namespace xbond::bpf
