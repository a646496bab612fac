// The transmit hash of Linux bonding, bit-exact (bond_xmit_hash, bond_xmit_hash_xdp in
// drivers/net/bonding/bond_main.c). Member = hash % usable members. One implementation for all paths. Thread: any.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <span>

#include "lib/bond/types.hpp"

namespace xbond::bond {

// `frame`: the bytes from the destination MAC on, in one piece. Under 14 bytes the hash is 0.
uint32_t hash(Policy policy, Path path, std::span<const uint8_t> frame) noexcept;

// The same for a frame in an mbuf, whose headers may be spread over segments.
uint32_t hash_mbuf(Policy policy, Path path, const rte_mbuf* frame) noexcept;

// The same for a burst. Worker: no allocation, no branch on the policy per packet.
void hash_burst(Policy policy, Path path, rte_mbuf* const* pkts, uint16_t n, uint32_t* out) noexcept;

}  // namespace xbond::bond
