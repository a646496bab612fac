#include "lib/xdp/slow_protocol.hpp"

#include <rte_byteorder.h>
#include <rte_prefetch.h>

#include <cstring>

#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/punt.hpp"

namespace xbond::xdp {
namespace {

constexpr uint32_t kTypeAt = 12, kSubtypeAt = 14;
constexpr uint8_t kLacp = 1, kMarker = 2;

// One load and one comparison a frame; is_lacp_or_marker() has the last word. A shorter frame's bytes are of its
// buffer, so they may be read.
bool maybe_slow(const rte_mbuf* m) noexcept {
  uint16_t type = 0;
  std::memcpy(&type, rte_pktmbuf_mtod_offset(m, const char*, kTypeAt), sizeof type);
  return type == RTE_BE16(0x8809);
}

[[gnu::cold, gnu::noinline]] uint16_t take(PortCounters& counters, rte_ring* punt, uint16_t port, rte_mbuf** pkts,
                                           uint16_t n) noexcept {
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; ++i) {
    rte_mbuf* m = pkts[i];
    if (!is_lacp_or_marker(m)) {
      pkts[kept++] = m;
    } else if (punt != nullptr && PuntRing::push(punt, m, PuntKind::slow_protocol, port)) {
      port::count_up(counters.slow_protocols, 1);
    } else {
      port::count_up(counters.drops[static_cast<size_t>(Drop::punt_full)], 1);
      rte_pktmbuf_free(m);
    }
  }
  return kept;
}

}  // namespace

bool is_lacp_or_marker(const rte_mbuf* frame) noexcept {
  if (frame->data_len <= kSubtypeAt) return false;
  constexpr uint8_t kStart[14] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02, 0, 0, 0, 0, 0, 0, 0x88, 0x09};
  const auto* bytes = rte_pktmbuf_mtod(frame, const uint8_t*);
  return std::memcmp(bytes, kStart, 6) == 0 && std::memcmp(bytes + kTypeAt, kStart + kTypeAt, 2) == 0 &&
         (bytes[kSubtypeAt] == kLacp || bytes[kSubtypeAt] == kMarker);
}

uint16_t take_slow_protocols(PortCounters& counters, rte_ring* punt, uint16_t port, rte_mbuf** pkts,
                             uint16_t n) noexcept {
  for (uint16_t i = 0; i < n; ++i) {
    rte_prefetch0(rte_pktmbuf_mtod(pkts[i], const char*));
  }
  bool any = false;
  for (uint16_t i = 0; i < n; ++i) {
    any |= maybe_slow(pkts[i]);
  }
  return any ? take(counters, punt, port, pkts, n) : n;
}

}  // namespace xbond::xdp
