#include "lib/xdp/receive.hpp"

#include <linux/bpf.h>
#include <rte_ether.h>
#include <rte_prefetch.h>

#include <cstring>

#include "lib/bond/neighbour.hpp"
#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/punt.hpp"

namespace xbond::xdp {
namespace {

constexpr unsigned kUnknown = XDP_REDIRECT + 1;
// What the kernel keeps behind a frame for skb_shared_info (SKB_DATA_ALIGN(sizeof(struct skb_shared_info)), x86-64):
// adjust_tail grows up to there, not up to the end of the buffer.
constexpr uint32_t kSharedInfo = 320;

void discard(PortCounters& counters, Drop reason, rte_mbuf** pkts, uint16_t n) noexcept {
  if (n == 0) {
    return;
  }
  port::count_up(counters.drops[static_cast<size_t>(reason)], n);
  rte_pktmbuf_free_bulk(pkts, n);
}

// A program without xdp.frags sees a frame in one piece.
[[gnu::cold, gnu::noinline]] uint16_t linearize(PortCounters& counters, rte_mbuf** pkts, uint16_t n) noexcept {
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; ++i) {
    rte_mbuf* m = pkts[i];
    if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
      discard(counters, Drop::xdp_not_linear, &m, 1);
      continue;
    }
    pkts[kept++] = m;
  }
  return kept;
}

// Returns whether any frame has several segments.
bool describe(WorkerContext& worker, const PortView& view, uint16_t queue, rte_mbuf** pkts, uint16_t n) noexcept {
  unsigned segments = 0;
  for (uint16_t i = 0; i < n; ++i) {
    const rte_mbuf* m = pkts[i];
    auto* data = rte_pktmbuf_mtod(m, uint8_t*);
    rte_prefetch0(data);
    auto* start = static_cast<uint8_t*>(m->buf_addr);
    uint8_t* end = data + m->data_len;
    uint8_t* limit = start + m->buf_len;
    worker.frames[i] = {.data = data,
                        .data_end = end,
                        .data_meta = data,
                        .hard_start = start,
                        .hard_end = limit - end > kSharedInfo ? limit - kSharedInfo : end,
                        .ingress_ifindex = view.ifindex,
                        .rx_queue_index = queue,
                        .egress_ifindex = 0};
    segments |= m->nb_segs;
  }
  return segments > 1;
}

// The program may have moved the frame's ends.
inline void take_back(rte_mbuf* m, const bpf::XdpFrame& frame) noexcept {
  m->data_off = static_cast<uint16_t>(frame.data - static_cast<uint8_t*>(m->buf_addr));
  m->data_len = static_cast<uint16_t>(frame.data_end - frame.data);
  m->pkt_len = m->data_len;
}

// Programs and the bond's hash see tags where the kernel's would. Without room in front the frame stays as it came.
[[gnu::cold, gnu::noinline]] void restore_tags(rte_mbuf** pkts, uint16_t n) noexcept {
  for (uint16_t i = 0; i < n; ++i) {
    const uint64_t stripped = pkts[i]->ol_flags & (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED);
    if (stripped == 0 || rte_vlan_insert(&pkts[i]) != 0) {
      continue;
    }
    if ((stripped & RTE_MBUF_F_RX_QINQ_STRIPPED) != 0) {
      pkts[i]->vlan_tci = pkts[i]->vlan_tci_outer;
      if (rte_vlan_insert(&pkts[i]) == 0) {
        rte_pktmbuf_mtod(pkts[i], rte_ether_hdr*)->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_QINQ);
      }
    }
    pkts[i]->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED);
  }
}

bool is_probe(const rte_mbuf* m) noexcept {
  constexpr uint32_t kTagsAtMost = 2;
  return bond::neighbour_kind({rte_pktmbuf_mtod(m, const uint8_t*), m->data_len}, kTagsAtMost) !=
         bond::Neighbour::neither;
}

// A copy that finds no room is no loss of the frame: the next probe comes.
[[gnu::cold, gnu::noinline]] void copy_probes(const WorkerContext& worker, const PortView& view, rte_mbuf* const* pkts,
                                              uint16_t n) noexcept {
  constexpr uint32_t kBytes = 128;
  for (uint16_t i = 0; i < n; ++i) {
    if (worker.punt == nullptr || !is_probe(pkts[i])) {
      continue;
    }
    rte_mbuf* copy = rte_pktmbuf_copy(pkts[i], pkts[i]->pool, 0, kBytes);
    if (copy != nullptr && !PuntRing::push(worker.punt, copy, PuntKind::probe, view.port)) {
      rte_pktmbuf_free(copy);
    }
  }
}

// Drops frames to groups, which the active member gets as well; returns how many are left.
uint16_t without_groups(PortCounters& counters, rte_mbuf** pkts, uint16_t n) noexcept {
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; ++i) {
    rte_mbuf* m = pkts[i];
    if ((*rte_pktmbuf_mtod(m, const uint8_t*) & 1U) != 0) {
      discard(counters, Drop::inactive_member, &m, 1);
    } else {
      pkts[kept++] = m;
    }
  }
  return kept;
}

// Peers send to the member that they are assigned to, or to one that was; the host knows the bond's address only.
void to_host_address(const AlbAddresses& addresses, rte_mbuf* const* pkts, uint16_t n) noexcept {
  constexpr size_t kBytes = sizeof(rte_ether_addr);
  for (uint16_t i = 0; i < n; ++i) {
    auto* destination = rte_pktmbuf_mtod(pkts[i], uint8_t*);
    if (pkts[i]->data_len < kBytes || std::memcmp(destination, addresses.bond.data(), kBytes) == 0) {
      continue;
    }
    for (const auto& member : addresses.members) {
      if (std::memcmp(destination, member.data(), kBytes) == 0) {
        std::memcpy(destination, addresses.bond.data(), kBytes);
        break;
      }
    }
  }
}

// bond_handle_frame and the stack behind it.
void pass(WorkerContext& worker, const PortView& view, rte_mbuf** pkts, uint16_t n) noexcept {
  PortCounters& counters = worker.counters[view.port];
  if (view.slow == SlowProtocols::after_program) {
    n = take_slow_protocols(counters, worker.punt, view.port, pkts, n);
  }
  if (view.probes) [[unlikely]] {
    copy_probes(worker, view, pkts, n);
  }
  if (view.alb != nullptr) [[unlikely]] {
    n = view.no_groups ? without_groups(counters, pkts, n) : n;
    to_host_address(*view.alb, pkts, n);
  }
  if (view.inactive) {
    discard(counters, Drop::inactive_member, pkts, n);
  } else if (!view.host_up) {
    discard(counters, Drop::bond_down, pkts, n);
  } else if (view.to_host.empty()) {
    discard(counters, Drop::no_host, pkts, n);
  } else {
    const auto taken = static_cast<uint16_t>(
        rte_ring_sp_enqueue_burst(view.to_host[worker.cpu], reinterpret_cast<void* const*>(pkts), n, nullptr));
    discard(counters, Drop::host_ring_full, pkts + taken, n - taken);
  }
}

// XDP_TX (xdp_master_redirect in net/core/filter.c): bond down is ABORTED; no usable member is a plain TX.
void send_back(WorkerContext& worker, const PortView& view, rte_mbuf** pkts, uint16_t n) noexcept {
  if (view.bond != nullptr) {
    if (!view.bond_up) {
      discard(worker.counters[view.port], Drop::xdp_bond_down, pkts, n);
      return;
    }
    if (bond::transmit(*view.bond, worker.bonds.data(), bond::Path::xdp, worker.tx.data(), pkts, n) != 0) {
      return;
    }
  }
  port::append(worker.tx[view.port], pkts, n);
}

}  // namespace

void receive_burst(WorkerContext& worker, const PortView& view, uint16_t queue, rte_mbuf** pkts, uint16_t n) noexcept {
  PortCounters& counters = worker.counters[view.port];
  port::count_up(counters.rx, n);
  if (view.restore_tags) [[unlikely]] {
    restore_tags(pkts, n);
  }
  if (view.slow == SlowProtocols::before_program) {
    n = take_slow_protocols(counters, worker.punt, view.port, pkts, n);
  }
  if (view.program == nullptr) {
    pass(worker, view, pkts, n);
    return;
  }
  if (describe(worker, view, queue, pkts, n)) [[unlikely]] {
    n = linearize(counters, pkts, n);
    describe(worker, view, queue, pkts, n);
  }
  view.program->run_burst({worker.frames.data(), n}, worker.verdicts.data(), worker.cpu);
  port::count_up(counters.runs, n);

  std::array<uint16_t, kUnknown + 1> count{};
  for (uint16_t i = 0; i < n; ++i) {
    const uint32_t verdict = worker.verdicts[i];
    const unsigned bin = verdict < kUnknown ? verdict : kUnknown;
    take_back(pkts[i], worker.frames[i]);
    worker.bins[bin][count[bin]++] = pkts[i];
  }
  for (unsigned v = 0; v < kUnknown; ++v) {
    if (count[v] != 0) {
      port::count_up(counters.verdicts[v], count[v]);
    }
  }
  if (count[XDP_DROP] != 0) {
    discard(counters, Drop::xdp_drop, worker.bins[XDP_DROP].data(), count[XDP_DROP]);
  }
  if (count[XDP_TX] != 0) {
    send_back(worker, view, worker.bins[XDP_TX].data(), count[XDP_TX]);
  }
  if (count[XDP_PASS] != 0) {
    pass(worker, view, worker.bins[XDP_PASS].data(), count[XDP_PASS]);
  }
  if ((count[XDP_ABORTED] | count[XDP_REDIRECT] | count[kUnknown]) != 0) [[unlikely]] {
    port::count_up(counters.verdicts[XDP_ABORTED], count[kUnknown]);
    discard(counters, Drop::xdp_aborted, worker.bins[XDP_ABORTED].data(), count[XDP_ABORTED]);
    discard(counters, Drop::xdp_redirect_err, worker.bins[XDP_REDIRECT].data(), count[XDP_REDIRECT]);
    discard(counters, Drop::xdp_unknown, worker.bins[kUnknown].data(), count[kUnknown]);
  }
}

}  // namespace xbond::xdp
