// LACP and marker PDUs leave the packet path here, for the protocol thread. Thread: worker; stopped workers' queues are
// the protocol thread's.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstdint>

#include "lib/xdp/counters.hpp"

namespace xbond::xdp {

// When a bond in 802.3ad takes them.
enum class SlowProtocols : uint8_t {
  are_data,        // no 802.3ad: frames like any others
  before_program,  // so that a program that drops everything does not kill the link
  after_program,   // the kernel's order: the program sees them, and what it passes is taken (xdp_sees_slow_protocols)
};

// 01:80:c2:00:00:02, untagged, ethertype 0x8809, subtype 1 (LACP) or 2 (marker): IEEE 802.3 annex 57A. Other subtypes
// are data.
[[nodiscard]] bool is_lacp_or_marker(const rte_mbuf* frame) noexcept;

// Moves them from the burst to the punt ring (nullptr: none, they are dropped), keeps the order of the rest, and
// returns how many those are.
[[nodiscard]] uint16_t take_slow_protocols(PortCounters& counters, rte_ring* punt, uint16_t port, rte_mbuf** pkts,
                                           uint16_t n) noexcept;

}  // namespace xbond::xdp
