// A lock for a few dozen instructions. Only writers take it: look-ups never do.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace xbond::bpf {

// Waits one turn. A holder that the system took off its core comes back sooner when this thread gives up its own.
inline void spin_wait(uint32_t& turns) noexcept {
  constexpr uint32_t kPatience = 2000;
  if (++turns % kPatience == 0) sched_yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class SpinLock {
 public:
  void lock() noexcept {
    uint32_t turns = 0;
    while (held_.exchange(true, std::memory_order_acquire))
      while (held_.load(std::memory_order_relaxed)) spin_wait(turns);
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace xbond::bpf
