// One transmit buffer per (lcore, port), shared by all verdicts, so that a flow is never reordered.
// It lives in the port room because bonds fill it and the worker loop flushes it. Thread: its worker.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>

namespace xbond::port {

inline constexpr uint16_t kMaxBurst = 128;  // greatest --burst
inline constexpr uint16_t kFlushAt = 32;    // frames that make a full buffer
inline constexpr uint16_t kNoPort = UINT16_MAX;

// Invariant between bursts: count < kFlushAt. While one burst (at most kMaxBurst frames) is scattered no fullness
// check is needed: there is room for all of it. After the burst whoever scattered calls flush_full().
struct alignas(64) TxBuffer {
  uint16_t port = kNoPort;
  uint16_t queue = 0;
  uint16_t count = 0;
  // Written by the owning worker only, read by control (relaxed).
  uint64_t sent = 0;
  uint64_t dropped = 0;  // the driver did not take them (queue full, link down)
  rte_mbuf* pkts[kFlushAt + kMaxBurst];
};

}  // namespace xbond::port
