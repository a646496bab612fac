// MAC addresses in the library's form and as text. Internal to the room. Thread: any.
#pragma once

#include <fmt/format.h>
#include <rte_ether.h>

#include <algorithm>
#include <string>

#include "lib/port/port.hpp"

namespace xbond::port {

inline rte_ether_addr to_ether(const Mac& mac) {
  rte_ether_addr address{};
  std::copy(mac.begin(), mac.end(), address.addr_bytes);
  return address;
}

inline std::string to_text(const Mac& mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

}  // namespace xbond::port
