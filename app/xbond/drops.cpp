#include "app/xbond/drops.hpp"

namespace xbond::app {

std::vector<DropCount> drops_of(Appliance& appliance, const Device& device) {
  std::vector<DropCount> drops;
  const uint64_t unsent = appliance.tx_counters(device).dropped;
  if (device.port != nullptr) {
    const xdp::PortCounters counters = appliance.counters(device.port->id());
    for (size_t reason = 0; reason < counters.drops.size(); ++reason) {
      drops.push_back({xdp::kDropNames[reason], counters.drops[reason]});
    }
    drops.push_back({"tx_full", unsent});
  } else {
    // Of a bond below another one: without a usable member it drops its share, no port having a part in it.
    drops.push_back({xdp::kDropNames[static_cast<size_t>(xdp::Drop::no_member)], unsent});
  }
  if (appliance.has_tap(device)) {
    const host::Counters host = appliance.host_counters(device);
    drops.push_back({"tap_refused", host.to_kernel_dropped});
    drops.push_back({"from_host_full", host.from_kernel_dropped});
  }
  return drops;
}

}  // namespace xbond::app
