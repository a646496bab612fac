// A frame as programs see it, and back. Frames in one segment only. Thread: worker.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bpf_compat/engine/program.hpp"
#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/counters.hpp"

namespace xbond::xdp {

// What the kernel keeps behind a frame for skb_shared_info (SKB_DATA_ALIGN(sizeof(struct skb_shared_info)), x86-64):
// adjust_tail grows up to there, not up to the end of the buffer.
inline constexpr uint32_t kSharedInfo = 320;

// Frees the frames and counts them.
inline void discard(PortCounters& counters, Drop reason, rte_mbuf** pkts, uint16_t n) noexcept {
  if (n == 0) {
    return;
  }
  port::count_up(counters.drops[static_cast<size_t>(reason)], n);
  rte_pktmbuf_free_bulk(pkts, n);
}

// `meta`: bytes of metadata in front of the frame.
[[nodiscard]] inline bpf::XdpFrame seen_by_program(const rte_mbuf* m, uint32_t meta, uint32_t ingress, uint32_t queue,
                                                   uint32_t egress) noexcept {
  auto* data = rte_pktmbuf_mtod(m, uint8_t*);
  auto* start = static_cast<uint8_t*>(m->buf_addr);
  uint8_t* end = data + m->data_len;
  uint8_t* limit = start + m->buf_len;
  return {.data = data,
          .data_end = end,
          .data_meta = data - meta,
          .hard_start = start,
          .hard_end = limit - end > kSharedInfo ? limit - kSharedInfo : end,
          .ingress_ifindex = ingress,
          .rx_queue_index = queue,
          .egress_ifindex = egress};
}

// The program may have moved the frame's ends.
inline void take_back(rte_mbuf* m, const bpf::XdpFrame& frame) noexcept {
  m->data_off = static_cast<uint16_t>(frame.data - static_cast<uint8_t*>(m->buf_addr));
  m->data_len = static_cast<uint16_t>(frame.data_end - frame.data);
  m->pkt_len = m->data_len;
}

// In one segment that nobody else holds: only then may a program write to it. Or-ed over frames, so that one comparison
// judges a burst: rte_mbuf's refcnt and nb_segs lie side by side.
inline constexpr uint32_t kPlainShape = 0x00010001;
static_assert(offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, refcnt) + sizeof(uint16_t));
[[nodiscard]] inline uint32_t shape(const rte_mbuf* m) noexcept {
  uint32_t counts = 0;
  std::memcpy(&counts, reinterpret_cast<const uint8_t*>(m) + offsetof(rte_mbuf, refcnt), sizeof counts);
  return counts;
}

[[nodiscard]] inline bool all_plain(rte_mbuf* const* pkts, uint16_t n) noexcept {
  uint32_t shapes = kPlainShape;
  for (uint16_t i = 0; i < n; ++i) {
    shapes |= shape(pkts[i]);
  }
  return shapes == kPlainShape;
}

// Gives each frame the plain shape: shared ones are copied, segments joined. Frames that have no room are dropped and
// counted. Returns how many are left; `at` (may be nullptr) stays beside `pkts`.
[[nodiscard]] uint16_t make_plain(PortCounters& counters, rte_mbuf** pkts, uint8_t* at, uint16_t n) noexcept;

// A copy that shares nothing, with the metadata in front of it. nullptr: no buffer is free.
[[nodiscard]] rte_mbuf* deep_copy(const rte_mbuf* m) noexcept;

}  // namespace xbond::xdp
