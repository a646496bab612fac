// balance-rr: members in turn, packets_per_slave frames each; IGMP to the active member.
#pragma once

#include <span>

#include "lib/bond/mode.hpp"

namespace xbond::bond {

// As Linux sees it: by ethertype and protocol, fragments included. Such frames leave by igmp_port().
bool is_igmp(Path path, std::span<const uint8_t> frame) noexcept;
inline uint16_t igmp_port(const TxTable& table) noexcept {
  return table.igmp < table.usable ? table.port[table.igmp] : table.active;
}

uint16_t transmit_rr(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                     uint16_t n) noexcept;

}  // namespace xbond::bond
