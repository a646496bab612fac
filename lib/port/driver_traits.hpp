// What drivers do not say about themselves. Internal to the room. Thread: any.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace xbond::port {

struct DriverTraits {
  std::string_view driver;
  bool link_by_iface = false;  // the driver always says "up": the kernel netdevice knows better
  bool silent_lsc = false;     // advertises link events and never raises one: only polling sees the link
  bool equal_queues = false;   // as many receive as transmit queues, or it refuses
};

inline constexpr std::array kDriverTraits = {
    DriverTraits{.driver = "net_af_packet", .link_by_iface = true},
    DriverTraits{.driver = "net_af_xdp", .link_by_iface = true},
    DriverTraits{.driver = "net_tap", .silent_lsc = true, .equal_queues = true},
};

constexpr DriverTraits traits_of(std::string_view driver) {
  const auto* found = std::find_if(kDriverTraits.begin(), kDriverTraits.end(),
                                   [driver](const DriverTraits& traits) { return traits.driver == driver; });
  return found != kDriverTraits.end() ? *found : DriverTraits{.driver = driver};
}

}  // namespace xbond::port
