// active-backup: every frame goes to the active member.
#pragma once

#include "lib/bond/mode.hpp"

namespace xbond::bond {

uint16_t transmit_ab(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                     uint16_t n) noexcept;

}  // namespace xbond::bond
