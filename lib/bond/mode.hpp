// A bonding mode on the packet path is one small unit: a function that puts a burst into its members' tx buffers. To
// add a mode, write its unit and name it in the table of transmit.cpp. Thread: worker.
#pragma once

#include "lib/bond/transmit.hpp"

namespace xbond::bond {

// As transmit(), which has seen to it that the table has a usable member.
using ModeUnit = uint16_t (*)(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port,
                              rte_mbuf** pkts, uint16_t n) noexcept;

}  // namespace xbond::bond
