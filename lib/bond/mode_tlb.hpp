// balance-tlb and the transmit side of balance-alb (drivers/net/bonding/bond_alb.c): unicast IP by hash, either to the
// member that the hash's channel is assigned to by measured load, or to usable[hash % count]; all else by the active
// member. A frame that leaves by another one than the active carries that member's own source MAC.
#pragma once

#include <span>

#include "lib/bond/mode.hpp"

namespace xbond::bond {

// Whether the frame may leave by another member than the active one; in balance-alb its channel, the xor of the
// destination address's bytes, comes with it.
bool tlb_balances(Path path, std::span<const uint8_t> frame) noexcept;
bool alb_balances(Path path, std::span<const uint8_t> frame, uint32_t& channel) noexcept;

uint16_t transmit_tlb(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                      uint16_t n) noexcept;
uint16_t transmit_alb(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                      uint16_t n) noexcept;

}  // namespace xbond::bond
