// The addresses that the host has on a tap: what a bond announces by gratuitous ARP and unsolicited neighbour
// advertisement after a failover.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xbond::host {

using Ipv4Address = std::array<uint8_t, 4>;   // network byte order
using Ipv6Address = std::array<uint8_t, 16>;  // network byte order

// Any thread. One question to the kernel, which may wait for its rtnl lock (as a rule microseconds). Empty when there
// are none, when no netdevice of that name is in the caller's network namespace, or when the kernel does not answer.
std::vector<Ipv4Address> ipv4_addresses(std::string_view name);
// Without addresses that must not be announced: tentative ones (unless optimistic) and duplicates.
std::vector<Ipv6Address> ipv6_addresses(std::string_view name);

}  // namespace xbond::host
