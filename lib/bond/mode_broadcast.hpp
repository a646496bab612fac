// broadcast: every frame by every usable member.
#pragma once

#include "lib/bond/mode.hpp"

namespace xbond::bond {

uint16_t transmit_broadcast(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port,
                            rte_mbuf** pkts, uint16_t n) noexcept;

}  // namespace xbond::bond
