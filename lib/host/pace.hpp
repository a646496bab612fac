// How long the host thread sleeps. Workers cannot wake it (that would cost them a system call), so it looks at their
// rings by itself: often while frames flow, seldom when not.
#pragma once

#include <algorithm>
#include <chrono>

namespace xbond::host {

class Pace {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed point
  static constexpr Time kShortest = std::chrono::microseconds(50);
  // A wake-up costs up to 25 us of a busy virtual machine's CPU: this one keeps idling below 2 % of it.
  static constexpr Time kLongest = std::chrono::microseconds(1500);
  // 50 us until 10 ms after the last frame, then longer with the silence: 1 ms after 200 ms.
  static constexpr int kFraction = 200;

  void moved(Time now) noexcept { last_ = now; }
  [[nodiscard]] Time sleep(Time now) const noexcept {
    return std::clamp((now - last_) / kFraction, kShortest, kLongest);
  }

 private:
  Time last_ = Time::min() / 2;  // long ago, and far from overflow
};

}  // namespace xbond::host
