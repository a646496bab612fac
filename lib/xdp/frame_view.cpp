#include "lib/xdp/frame_view.hpp"

#include <algorithm>

namespace xbond::xdp {

uint16_t make_plain(PortCounters& counters, rte_mbuf** pkts, uint8_t* at, uint16_t n) noexcept {
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; ++i) {
    rte_mbuf* m = pkts[i];
    if (rte_mbuf_refcnt_read(m) > 1) {
      rte_mbuf* own = deep_copy(m);
      if (own == nullptr) {
        discard(counters, Drop::no_buffer, &m, 1);
        continue;
      }
      rte_pktmbuf_free(m);
      m = own;
    }
    if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
      discard(counters, Drop::xdp_not_linear, &m, 1);
      continue;
    }
    if (at != nullptr) {
      at[kept] = at[i];
    }
    pkts[kept++] = m;
  }
  return kept;
}

rte_mbuf* deep_copy(const rte_mbuf* m) noexcept {
  constexpr uint16_t kMostMetadata = 32;  // bpf_xdp_adjust_meta's limit
  rte_mbuf* copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
  if (copy != nullptr) {
    const size_t front = std::min({kMostMetadata, rte_pktmbuf_headroom(m), rte_pktmbuf_headroom(copy)});
    std::memcpy(rte_pktmbuf_mtod(copy, uint8_t*) - front, rte_pktmbuf_mtod(m, const uint8_t*) - front, front);
  }
  return copy;
}

}  // namespace xbond::xdp
