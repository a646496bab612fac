// The places of a hash map's entries: which are free, and which will be once a grace period is over. A map has more
// places than entries, so that a replaced or deleted entry can rest. Thread: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/grace.hpp"
#include "bpf_compat/map/spin.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

inline constexpr uint32_t kNoSlot = ~uint32_t{0};

class SlotPool {
 public:
  // `owners`: workers, and one for control. Each has a list of its own, so that they do not wait for each other.
  static Result<std::unique_ptr<SlotPool>> create(uint32_t slots, uint32_t owners, Grace& grace);

  // Takes a place, one that has rested if there is any. When all rest, the one that rested longest is taken all the
  // same: as in the kernel, a pointer that its worker still holds then sees another entry's value. kNoSlot: none at
  // all.
  // Without `hurry` kNoSlot is given instead.
  uint32_t take(uint32_t owner, bool hurry = true) noexcept;
  // The entry in `slot` can't be found any more.
  void retire(uint32_t slot, uint32_t owner) noexcept;
  // Gives back what take() gave and nobody has seen.
  void give_back(uint32_t slot, uint32_t owner) noexcept;

  // Places below this one have been used at some time; the others' memory was never touched.
  [[nodiscard]] uint32_t touched() const noexcept;

 private:
  struct Link {
    uint64_t token;  // of Grace; kOpen: not asked for yet
    uint32_t next;
  };
  // A queue, oldest first
  struct alignas(128) Queue {
    SpinLock lock;
    uint32_t head = kNoSlot;
    uint32_t tail = kNoSlot;
    uint32_t open = kNoSlot;  // first without a token
    uint32_t open_count = 0;
  };

  SlotPool(Area links, uint32_t slots, uint32_t owners, Grace& grace);
  uint32_t pop(Queue& queue, bool rested_only) noexcept;
  void close(Queue& queue) noexcept;
  Link& link(uint32_t slot) noexcept { return links_[slot]; }

  Area area_;
  std::span<Link> links_;
  uint32_t slots_;
  std::unique_ptr<Queue[]> queues_;
  uint32_t owners_;
  Grace& grace_;
  alignas(128) std::atomic<uint32_t> fresh_{0};
};

}  // namespace xbond::bpf
