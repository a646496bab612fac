// How often the marker responder may answer.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "lib/lacp/types.hpp"

namespace xbond::lacp {

class MarkerResponder {
 public:
  // Slow protocols send ten frames a second at most (802.3 annex 57A), so an honest partner never meets this limit.
  static constexpr std::size_t kPerSecond = 10;

  // Whether an answer may leave now; counts it if so.
  bool allow(Time now) noexcept {
    std::optional<Time>& oldest = times_[next_];
    if (oldest && now < after(*oldest, kSecond)) return false;
    oldest = now;
    next_ = (next_ + 1) % kPerSecond;
    return true;
  }

 private:
  std::array<std::optional<Time>, kPerSecond> times_{};
  std::size_t next_ = 0;
};

}  // namespace xbond::lacp
