#include "lib/xdp/cpumap.hpp"

#include <linux/bpf.h>
#include <rte_prefetch.h>

#include <algorithm>

#include "lib/xdp/frame_view.hpp"
#include "lib/xdp/pass.hpp"
#include "lib/xdp/redirect.hpp"

namespace xbond::xdp {
namespace {

// Frames that one port received and one entry's program is to run on.
struct Run {
  const bpf::Program* program;
  const PortView& view;
};

// cpu_map_bpf_prog_run_xdp: PASS and REDIRECT, the rest is dropped. TX has no meaning there.
void judge(WorkerContext& worker, const Run& run, rte_mbuf** pkts, uint16_t n) noexcept {
  PortCounters& counters = worker.counters[run.view.port];
  run.program->run_burst({worker.frames.data(), n}, worker.verdicts.data(), worker.cpu);
  std::array<uint16_t, XDP_REDIRECT + 1> count{};
  for (uint16_t i = 0; i < n; ++i) {
    const uint32_t verdict = worker.verdicts[i];
    take_back(pkts[i], worker.frames[i]);
    const bool known = verdict == XDP_PASS || verdict == XDP_REDIRECT || verdict == XDP_DROP || verdict == XDP_ABORTED;
    if (known) {
      worker.bins[verdict][count[verdict]++] = pkts[i];
    } else {
      discard(counters, Drop::xdp_unknown, &pkts[i], 1);
    }
  }
  discard(counters, Drop::xdp_cpumap_drop, worker.bins[XDP_DROP].data(), count[XDP_DROP]);
  discard(counters, Drop::xdp_aborted, worker.bins[XDP_ABORTED].data(), count[XDP_ABORTED]);
  if (count[XDP_PASS] != 0) {
    pass(worker, run.view, worker.bins[XDP_PASS].data(), count[XDP_PASS]);
  }
  if (count[XDP_REDIRECT] != 0) {
    redirect(worker, run.view, n);
  }
}

void handle(WorkerContext& worker, const Run& run, const CpuFrame* from, uint16_t n) noexcept {
  std::array<rte_mbuf*, port::kMaxBurst> pkts;
  for (uint16_t i = 0; i < n; ++i) {
    pkts[i] = from[i].frame;
  }
  if (run.program == nullptr) {
    pass(worker, run.view, pkts.data(), n);
    return;
  }
  std::array<uint8_t, port::kMaxBurst> at;
  for (uint16_t i = 0; i < n; ++i) {
    at[i] = static_cast<uint8_t>(i);
  }
  if (!all_plain(pkts.data(), n)) [[unlikely]] {
    n = make_plain(worker.counters[run.view.port], pkts.data(), at.data(), n);
  }
  for (uint16_t i = 0; i < n; ++i) {
    worker.frames[i] = seen_by_program(pkts[i], from[at[i]].meta, run.view.ifindex, 0, 0);
  }
  judge(worker, run, pkts.data(), n);
}

}  // namespace

// cpu_map_enqueue, bq_flush_to_queue. The kernel's queue is one for all senders, here each has its own of that size.
void to_cpu(WorkerContext& worker, const PortView& view, const bpf::RedirectTarget& target,
            const Batch& batch) noexcept {
  PortCounters& counters = worker.counters[view.port];
  if (target.key >= worker.cpus.to.size()) {
    discard(counters, Drop::xdp_redirect_einval, batch.pkts, batch.n);
    return;
  }
  rte_ring* ring = worker.cpus.to[target.key];
  const unsigned size = std::min<unsigned>(target.ifindex, rte_ring_get_capacity(ring));
  const unsigned waiting = rte_ring_count(ring);
  const auto room = static_cast<uint16_t>(std::min<unsigned>(size > waiting ? size - waiting : 0, batch.n));
  std::array<CpuFrame, port::kMaxBurst> elements;
  for (uint16_t i = 0; i < room; ++i) {
    batch.pkts[i]->port = view.port;
    elements[i] = {batch.pkts[i], target.program, batch.meta(worker, i), 0};
  }
  const unsigned taken = rte_ring_sp_enqueue_burst_elem(ring, elements.data(), sizeof(CpuFrame), room, nullptr);
  discard(counters, Drop::xdp_cpumap_enqueue, batch.pkts + taken, static_cast<uint16_t>(batch.n - taken));
}

void receive_from_cpus(WorkerContext& worker, std::span<const PortView> ports) noexcept {
  std::array<CpuFrame, port::kMaxBurst> frames;
  for (rte_ring* ring : worker.cpus.from) {
    // Not more than were there: a program may send frames back to its own worker.
    for (unsigned left = rte_ring_count(ring); left != 0;) {
      const unsigned wanted = std::min<unsigned>(left, port::kMaxBurst);
      const unsigned n = rte_ring_sc_dequeue_burst_elem(ring, frames.data(), sizeof(CpuFrame), wanted, nullptr);
      left = n == 0 ? 0 : left - n;
      for (unsigned begin = 0, end = 0; begin < n; begin = end) {
        const CpuFrame& first = frames[begin];
        while (end < n && frames[end].program == first.program && frames[end].frame->port == first.frame->port) {
          rte_prefetch0(rte_pktmbuf_mtod(frames[end].frame, void*));
          ++end;
        }
        handle(worker, {first.program, ports[first.frame->port]}, &first, static_cast<uint16_t>(end - begin));
      }
    }
  }
}

void discard_from_cpus(WorkerContext& worker) noexcept {
  for (rte_ring* ring : worker.cpus.from) {
    CpuFrame one;
    while (rte_ring_sc_dequeue_elem(ring, &one, sizeof one) == 0) {
      discard(worker.counters[one.frame->port], Drop::workers_stopped, &one.frame, 1);
    }
  }
}

}  // namespace xbond::xdp
