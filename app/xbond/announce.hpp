// Gratuitous ARP and unsolicited neighbour advertisements for the addresses that the host has on a bond's tap.
#pragma once

#include <rte_mbuf.h>

#include <string>
#include <vector>

#include "lib/port/port.hpp"

namespace xbond::app {

// One frame an address, from `pool`; the caller owns them. Fewer when the pool is empty.
std::vector<rte_mbuf*> announcements(const std::string& tap, const port::Mac& mac, rte_mempool* pool);

}  // namespace xbond::app
