// 802.3ad: by hash, as balance-xor; with broadcast_neighbor the host's ARP and neighbour discovery by every member that
// can transmit, so that both switches of a pair that share no tables learn the host (Linux 6.17).
#pragma once

#include <span>

#include "lib/bond/mode.hpp"

namespace xbond::bond {

// Whether the frame goes by every member.
bool goes_to_every(const TxTable& table, Path path, std::span<const uint8_t> frame) noexcept;

uint16_t transmit_lacp(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                       uint16_t n) noexcept;

}  // namespace xbond::bond
