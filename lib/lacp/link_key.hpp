// A port's operational key: ports may share an aggregator only when their keys are equal. Thread: any.
#pragma once

#include <cstdint>

namespace xbond::lacp {

// A port's link as its driver tells it.
struct Link {
  bool up = false;
  uint32_t speed_mbps = 0;  // 0 or UINT32_MAX: unknown
  bool full_duplex = true;
  bool operator==(const Link&) const = default;

  // As in Linux, a link of unknown speed is no link for 802.3ad.
  [[nodiscard]] bool usable() const noexcept { return up && speed_mbps != 0 && speed_mbps != UINT32_MAX; }
};

inline constexpr uint16_t kMaxUserKey = 1023;

// Linux's code of a speed; 0 for one that it has no code for.
uint16_t speed_code(uint32_t mbps) noexcept;

// user key << 6 | speed code << 1 | duplex; without a usable link only the user's part.
uint16_t oper_key(uint16_t user_key, const Link& link) noexcept;

}  // namespace xbond::lacp
