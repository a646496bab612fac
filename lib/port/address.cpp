// A port's addresses: its MAC, and which frames it lets through.
#include <fmt/format.h>

#include "lib/port/mac.hpp"
#include "lib/port/port.hpp"

namespace xbond::port {
Status Port::set_mac(const Mac& wanted, Restart restart) {
  rte_ether_addr address = to_ether(wanted);
  const std::string text = to_text(wanted);
  if (rte_is_valid_assigned_ether_addr(&address) == 0)
    return fail(EINVAL, fmt::format("{}: {} is not the address of one station", name_, text));
  rte_ether_addr before = to_ether(mac_);
  Status status = reconfigure([&] { return rte_eth_dev_default_mac_addr_set(id_, &address); },
                              [&] { return rte_eth_dev_default_mac_addr_set(id_, &before); }, restart,
                              fmt::format("set the MAC address to {}", text));
  // A driver that cannot change it has nothing to change here.
  if (!status && status.error().code == ENOTSUP && wanted == mac_) return {};
  if (status) mac_ = wanted;
  return status;
}

bool Port::promiscuous() const {
  return rte_eth_promiscuous_get(id_) == 1;
}

Status Port::set_promiscuous(bool on) {
  const int status = on ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
  if (status == 0) return {};
  return refusal(-status, fmt::format("turn promiscuous mode {}", on ? "on" : "off"));
}

bool Port::allmulticast() const {
  return rte_eth_allmulticast_get(id_) == 1;
}

Status Port::set_allmulticast(bool on) {
  const int status = on ? rte_eth_allmulticast_enable(id_) : rte_eth_allmulticast_disable(id_);
  if (status == 0) return {};
  return refusal(-status, fmt::format("turn allmulticast {}", on ? "on" : "off"));
}

}  // namespace xbond::port
