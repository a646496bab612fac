// One transmit buffer per (lcore, port), shared by all verdicts, so that a flow is never reordered.
// It lives in the port room because bonds fill it and the worker loop flushes it. Thread: its worker.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace xbond::port {

inline constexpr uint16_t kMaxBurst = 128;  // greatest --burst
inline constexpr uint16_t kFlushAt = 32;    // frames that make a full buffer
inline constexpr uint16_t kNoPort = UINT16_MAX;

// Owns the frames in [0, count). Invariant between bursts: count < kFlushAt. While one burst (at most kMaxBurst frames)
// is scattered no fullness check is needed: there is room for all of it. After the burst whoever scattered calls
// flush_full().
struct alignas(64) TxBuffer {
  uint16_t port = kNoPort;
  uint16_t queue = 0;
  uint16_t count = 0;
  // Written by the owning worker only, read by control (relaxed).
  uint64_t sent = 0;
  uint64_t dropped = 0;  // the driver did not take them (queue full, link down)
  rte_mbuf* pkts[kFlushAt + kMaxBurst];
};

// A counter with one writer: readers on other threads see a whole value, the writer pays a plain store.
inline void count_up(uint64_t& counter, uint64_t by) noexcept {
  std::atomic_ref<uint64_t> shared(counter);
  shared.store(shared.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// The control side's view of TxBuffer::sent and TxBuffer::dropped.
[[nodiscard]] inline uint64_t read_counter(const uint64_t& counter) noexcept {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(counter)).load(std::memory_order_relaxed);
}

// Frees what the driver left. Out of line: with a healthy port it never runs.
[[gnu::cold, gnu::noinline]] inline void drop(TxBuffer& buffer, rte_mbuf** pkts, uint16_t n) noexcept {
  rte_pktmbuf_free_bulk(pkts, n);
  count_up(buffer.dropped, n);
}

// Hands `pkts` to the driver, past the buffer. Takes the frames always: one attempt, then the rest is freed and
// counted, because a retry would stall the worker's other ports for the sake of a full one.
inline void send(TxBuffer& buffer, rte_mbuf** pkts, uint16_t n) noexcept {
  const uint16_t taken = rte_eth_tx_burst(buffer.port, buffer.queue, pkts, n);
  count_up(buffer.sent, taken);
  if (taken < n) [[unlikely]] {
    drop(buffer, pkts + taken, static_cast<uint16_t>(n - taken));
  }
}

// The end of a round: sends what the buffer holds.
inline void flush(TxBuffer& buffer) noexcept {
  const uint16_t n = buffer.count;
  if (n == 0) {
    return;
  }
  buffer.count = 0;
  send(buffer, buffer.pkts, n);
}

// Out of line, so that the loops that fill buffers keep their registers.
[[gnu::noinline]] inline void flush_apart(TxBuffer& buffer) noexcept {
  flush(buffer);
}

// The end of a burst: restores the invariant.
inline void flush_full(TxBuffer& buffer) noexcept {
  if (buffer.count >= kFlushAt) {
    flush_apart(buffer);
  }
}

// A burst (n <= kMaxBurst) that goes to one port as it stands. Takes the frames. A burst that would fill an empty
// buffer needs no copy: nothing can be overtaken.
inline void append(TxBuffer& buffer, rte_mbuf** pkts, uint16_t n) noexcept {
  if (n >= kFlushAt && buffer.count == 0) {
    send(buffer, pkts, n);
    return;
  }
  std::copy_n(pkts, n, buffer.pkts + buffer.count);
  buffer.count = static_cast<uint16_t>(buffer.count + n);
  flush_full(buffer);
}

}  // namespace xbond::port
