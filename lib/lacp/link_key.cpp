#include "lib/lacp/link_key.hpp"

#include <algorithm>
#include <array>

namespace xbond::lacp {

namespace {

// In the order of Linux's enum ad_link_speed_type, whose first entry is 1 Mb/s.
constexpr std::array<uint32_t, 19> kSpeeds{1,     10,    100,   1000,  2500,   5000,   10000,  14000,  20000,  25000,
                                           40000, 50000, 56000, 80000, 100000, 200000, 400000, 800000, 1600000};

}  // namespace

uint16_t speed_code(uint32_t mbps) noexcept {
  const auto* const found = std::find(kSpeeds.begin(), kSpeeds.end(), mbps);
  return found == kSpeeds.end() ? uint16_t{0} : static_cast<uint16_t>(found - kSpeeds.begin() + 1);
}

uint16_t oper_key(uint16_t user_key, const Link& link) noexcept {
  const auto user = static_cast<uint16_t>(user_key << 6U);
  if (!link.usable()) return user;
  return static_cast<uint16_t>(user | speed_code(link.speed_mbps) << 1U | (link.full_duplex ? 1U : 0U));
}

}  // namespace xbond::lacp
