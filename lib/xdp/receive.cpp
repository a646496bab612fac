#include "lib/xdp/receive.hpp"

#include <linux/bpf.h>
#include <rte_ether.h>
#include <rte_prefetch.h>

#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/frame_view.hpp"
#include "lib/xdp/pass.hpp"
#include "lib/xdp/redirect.hpp"

namespace xbond::xdp {
namespace {

constexpr unsigned kUnknown = XDP_REDIRECT + 1;

// Returns whether any frame is shared or has several segments.
bool describe(WorkerContext& worker, const PortView& view, uint16_t queue, rte_mbuf** pkts, uint16_t n) noexcept {
  uint32_t shapes = kPlainShape;
  for (uint16_t i = 0; i < n; ++i) {
    const rte_mbuf* m = pkts[i];
    rte_prefetch0(rte_pktmbuf_mtod(m, uint8_t*));
    worker.frames[i] = seen_by_program(m, 0, view.ifindex, queue, 0);
    shapes |= shape(m);
  }
  return shapes != kPlainShape;
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
    n = make_plain(counters, pkts, nullptr, n);
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
  if (count[XDP_REDIRECT] != 0) {
    redirect(worker, view, n);
  }
  if ((count[XDP_ABORTED] | count[kUnknown]) != 0) [[unlikely]] {
    port::count_up(counters.verdicts[XDP_ABORTED], count[kUnknown]);
    discard(counters, Drop::xdp_aborted, worker.bins[XDP_ABORTED].data(), count[XDP_ABORTED]);
    discard(counters, Drop::xdp_unknown, worker.bins[kUnknown].data(), count[kUnknown]);
  }
}

}  // namespace xbond::xdp
