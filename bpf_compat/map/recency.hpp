// Which entries of an LRU map were used lately, so that others are evicted. Each worker notes its look-ups in memory of
// its own: no line is written by two. The evicting worker only reads the others' notes. Approximate, like the kernel's.
#pragma once

#include <atomic>
#include <cstdint>

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

class Recency {
 public:
  static Result<Recency> create(uint32_t slots, uint32_t cpus);
  Recency() = default;
  // While it is made: nobody evicts yet.
  Recency(Recency&& other) noexcept;
  Recency& operator=(Recency&& other) noexcept;

  // Worker `cpu` used the entry.
  void touch(uint32_t slot, uint32_t cpu) noexcept {
    auto note = at(slot, cpu);
    const auto now = age_.load(std::memory_order_relaxed);
    if (note.load(std::memory_order_relaxed) != now) note.store(now, std::memory_order_relaxed);
  }
  // Used since the hand came by last.
  [[nodiscard]] bool recent(uint32_t slot) const noexcept;

  // The next place to look at for one to evict, of the first `touched`.
  uint32_t advance(uint32_t touched) noexcept;

 private:
  [[nodiscard]] std::atomic_ref<uint8_t> at(uint32_t slot, uint32_t cpu) const {
    return std::atomic_ref(reinterpret_cast<uint8_t*>(area_.data())[plane_ * cpu + slot]);
  }

  Area area_;
  size_t plane_ = 0;  // bytes from one worker's notes to the next's
  uint32_t cpus_ = 0;
  std::atomic<uint32_t> hand_{0};
  std::atomic<uint8_t> age_{1};  // rounds of the hand; 0 stands for never
};

}  // namespace xbond::bpf
