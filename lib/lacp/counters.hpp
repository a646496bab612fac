// What a port counts.
#pragma once

#include <cstdint>

namespace xbond::lacp {

// Names are Linux's (BOND_3AD_STAT_*).
struct Counters {
  uint64_t lacpdu_rx = 0;
  uint64_t lacpdu_tx = 0;
  uint64_t lacpdu_unknown_rx = 0;  // slow protocol of another subtype
  uint64_t lacpdu_illegal_rx = 0;  // too short, or bad TLV lengths
  uint64_t marker_rx = 0;
  uint64_t marker_tx = 0;
  uint64_t marker_resp_rx = 0;
  uint64_t marker_resp_tx = 0;
  uint64_t marker_unknown_rx = 0;

  Counters& operator+=(const Counters& other) noexcept {
    lacpdu_rx += other.lacpdu_rx;
    lacpdu_tx += other.lacpdu_tx;
    lacpdu_unknown_rx += other.lacpdu_unknown_rx;
    lacpdu_illegal_rx += other.lacpdu_illegal_rx;
    marker_rx += other.marker_rx;
    marker_tx += other.marker_tx;
    marker_resp_rx += other.marker_resp_rx;
    marker_resp_tx += other.marker_resp_tx;
    marker_unknown_rx += other.marker_unknown_rx;
    return *this;
  }
  bool operator==(const Counters&) const = default;
};

// Why frames had no effect; finer than Linux's counters, which count them too where they have a name.
struct Refused {
  uint64_t not_slow_protocol = 0;  // another destination or ethertype
  uint64_t too_short = 0;
  uint64_t bad_tlv_length = 0;
  uint64_t loopback = 0;        // our own system id
  uint64_t bond_down = 0;       // arrived while the bond was down
  uint64_t not_listening = 0;   // link down, half duplex, or the port is only just starting
  uint64_t marker_limited = 0;  // not answered: more than the 10 a second that slow protocols allow
  // Accepted none the less:
  uint64_t malformed_tail = 0;
  uint64_t unknown_tlvs = 0;
  bool operator==(const Refused&) const = default;
};

}  // namespace xbond::lacp
