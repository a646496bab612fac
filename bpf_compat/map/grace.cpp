#include "bpf_compat/map/grace.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace xbond::bpf {
namespace {

constexpr size_t kThreads = 256;

// One for each thread that runs programs. 0: no burst runs.
struct alignas(128) Slot {
  std::atomic<uint64_t> since{0};
  std::atomic<bool> taken{false};
};

constinit std::array<Slot, kThreads> slots{};
constinit std::atomic<uint64_t> epoch{1};
// Bursts of threads for which no slot was left: while there are any, nothing passes
constinit std::atomic<uint32_t> unnamed{0};

// The calling thread's slot, returned when the thread ends.
class Membership {
 public:
  Membership() noexcept {
    for (auto& slot : slots) {
      bool expected = false;
      if (slot.taken.load(std::memory_order_relaxed) || !slot.taken.compare_exchange_strong(expected, true)) continue;
      slot_ = &slot;
      return;
    }
  }
  ~Membership() {
    if (slot_) slot_->taken.store(false, std::memory_order_release);
  }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // False when the thread is in a burst already.
  bool enter() noexcept {
    if (inside_) return false;
    inside_ = true;
    // Sequentially consistent: seen by passed() before this thread looks anything up
    if (slot_)
      slot_->since.store(epoch.load());
    else
      unnamed.fetch_add(1);
    return true;
  }
  void leave() noexcept {
    inside_ = false;
    if (slot_)
      slot_->since.store(0, std::memory_order_release);
    else
      unnamed.fetch_sub(1);
  }

 private:
  Slot* slot_ = nullptr;
  bool inside_ = false;
};

thread_local Membership membership;

}  // namespace

BurstGrace& BurstGrace::instance() noexcept {
  static BurstGrace grace;
  return grace;
}

uint64_t BurstGrace::start() noexcept {
  return epoch.fetch_add(1) + 1;
}

bool BurstGrace::passed(uint64_t token) noexcept {
  if (unnamed.load() != 0) return false;
  for (const auto& slot : slots) {
    const auto since = slot.since.load();
    if (since != 0 && since < token) return false;
  }
  return true;
}

BurstGrace::Burst::Burst() noexcept : outer_(membership.enter()) {}

BurstGrace::Burst::~Burst() {
  if (outer_) membership.leave();
}

}  // namespace xbond::bpf
