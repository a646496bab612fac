// balance-xor, and 802.3ad over the active aggregator's members: a frame's flow decides, member = hash % usable
// members.
#pragma once

#include "lib/bond/mode.hpp"

namespace xbond::bond {

uint16_t transmit_xor(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                      uint16_t n) noexcept;

}  // namespace xbond::bond
