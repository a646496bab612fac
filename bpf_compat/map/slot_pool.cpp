#include "bpf_compat/map/slot_pool.hpp"

#include <algorithm>
#include <mutex>

namespace xbond::bpf {
namespace {

constexpr uint64_t kOpen = ~uint64_t{0};
constexpr uint64_t kRested = 0;  // below all tokens
// Places that share a token: asking for one writes a line that all workers read
constexpr uint32_t kBatch = 32;

}  // namespace

Result<std::unique_ptr<SlotPool>> SlotPool::create(uint32_t slots, uint32_t owners, Grace& grace) {
  auto area = Area::allocate(size_t{slots} * sizeof(Link));
  if (!area) return area.error();
  return std::unique_ptr<SlotPool>(new SlotPool(std::move(*area), slots, owners, grace));
}

SlotPool::SlotPool(Area links, uint32_t slots, uint32_t owners, Grace& grace)
    : area_(std::move(links)),
      links_(reinterpret_cast<Link*>(area_.data()), slots),
      slots_(slots),
      queues_(std::make_unique<Queue[]>(owners)),
      owners_(owners),
      grace_(grace) {}

uint32_t SlotPool::take(uint32_t owner, bool hurry) noexcept {
  if (const auto slot = pop(queues_[owner], true); slot != kNoSlot) return slot;
  if (fresh_.load(std::memory_order_relaxed) < slots_)
    if (const auto slot = fresh_.fetch_add(1, std::memory_order_relaxed); slot < slots_) return slot;
  for (const bool rested_only : {true, false}) {
    if (!rested_only && !hurry) break;
    for (uint32_t i = 0; i < owners_; ++i)
      if (const auto slot = pop(queues_[(owner + i) % owners_], rested_only); slot != kNoSlot) return slot;
  }
  return kNoSlot;
}

void SlotPool::retire(uint32_t slot, uint32_t owner) noexcept {
  auto& queue = queues_[owner];
  const std::lock_guard guard(queue.lock);
  link(slot) = {kOpen, kNoSlot};
  (queue.tail == kNoSlot ? queue.head : link(queue.tail).next) = slot;
  queue.tail = slot;
  if (queue.open == kNoSlot) queue.open = slot;
  if (++queue.open_count >= kBatch) close(queue);
}

void SlotPool::give_back(uint32_t slot, uint32_t owner) noexcept {
  auto& queue = queues_[owner];
  const std::lock_guard guard(queue.lock);
  link(slot) = {kRested, queue.head};
  queue.head = slot;
  if (queue.tail == kNoSlot) queue.tail = slot;
}

uint32_t SlotPool::touched() const noexcept {
  return std::min(fresh_.load(std::memory_order_relaxed), slots_);
}

uint32_t SlotPool::pop(Queue& queue, bool rested_only) noexcept {
  const std::lock_guard guard(queue.lock);
  const auto slot = queue.head;
  if (slot == kNoSlot) return kNoSlot;
  if (link(slot).token == kOpen) close(queue);
  if (rested_only && link(slot).token != kRested && !grace_.passed(link(slot).token)) return kNoSlot;
  queue.head = link(slot).next;
  if (queue.head == kNoSlot) queue.tail = kNoSlot;
  return slot;
}

// Precondition: `queue` is locked.
void SlotPool::close(Queue& queue) noexcept {
  const auto token = grace_.start();
  for (auto slot = queue.open; slot != kNoSlot; slot = link(slot).next) link(slot).token = token;
  queue.open = kNoSlot;
  queue.open_count = 0;
}

}  // namespace xbond::bpf
