#include "lib/xdp/redirect.hpp"

#include <linux/bpf.h>

#include <algorithm>

#include "bpf_compat/map/map.hpp"
#include "lib/xdp/cpumap.hpp"
#include "lib/xdp/frame_view.hpp"

namespace xbond::xdp {
namespace {

// Keys are the worker's number in a CPU map and the consumer's in an XSKMAP; entries of device maps that lead to the
// same interface are one target.
bool same(const bpf::RedirectTarget& a, const bpf::RedirectTarget& b) noexcept {
  if (a.map != b.map || a.program != b.program || a.ifindex != b.ifindex || a.flags != b.flags) {
    return false;
  }
  return a.key == b.key || a.map->spec().type == BPF_MAP_TYPE_DEVMAP || a.map->spec().type == BPF_MAP_TYPE_DEVMAP_HASH;
}

// __xdp_enqueue
void to_device(WorkerContext& worker, const PortView& view, const bpf::RedirectTarget& target, Batch batch) noexcept {
  PortCounters& counters = worker.counters[view.port];
  const DeviceView* device = view.devices != nullptr ? view.devices->find(target.ifindex) : nullptr;
  if (device == nullptr) {
    discard(counters, Drop::xdp_redirect_einval, batch.pkts, batch.n);
  } else if (!device->transmits) {
    discard(counters, Drop::xdp_redirect_eopnotsupp, batch.pkts, batch.n);
  } else if (!device->up) {
    discard(counters, Drop::xdp_redirect_enetdown, batch.pkts, batch.n);
  } else {
    without_longer(counters, device->longest, batch);
    leave_by(worker, view, *device, target.program, batch);
  }
}

void to_target(WorkerContext& worker, const PortView& view, const bpf::RedirectTarget& target, const Batch& batch) {
  switch (target.map != nullptr ? target.map->spec().type : uint32_t{BPF_MAP_TYPE_UNSPEC}) {
    case BPF_MAP_TYPE_CPUMAP:
      to_cpu(worker, view, target, batch);
      break;
    case BPF_MAP_TYPE_XSKMAP:
      discard(worker.counters[view.port], Drop::xdp_redirect_eopnotsupp, batch.pkts, batch.n);
      break;
    default:
      if ((target.flags & BPF_F_BROADCAST) != 0) {
        broadcast(worker, view, *target.map, (target.flags & BPF_F_EXCLUDE_INGRESS) != 0, batch);
      } else {
        to_device(worker, view, target, batch);
      }
  }
}

// dev_map_bpf_prog_run
void run_program(WorkerContext& worker, const PortView& view, const DeviceView& device, const bpf::Program& program,
                 Batch& batch) noexcept {
  PortCounters& counters = worker.counters[view.port];
  if (!all_plain(batch.pkts, batch.n)) [[unlikely]] {
    batch.n = make_plain(counters, batch.pkts, batch.at, batch.n);
  }
  for (uint16_t i = 0; i < batch.n; ++i) {
    worker.egress_frames[i] = seen_by_program(batch.pkts[i], batch.meta(worker, i), view.ifindex, 0, device.ifindex);
  }
  program.run_burst({worker.egress_frames.data(), batch.n}, worker.egress_verdicts.data(), worker.cpu);
  uint16_t kept = 0;
  for (uint16_t i = 0; i < batch.n; ++i) {
    rte_mbuf* m = batch.pkts[i];
    take_back(m, worker.egress_frames[i]);
    switch (worker.egress_verdicts[i]) {
      case XDP_PASS:
        batch.pkts[kept++] = m;
        break;
      case XDP_DROP:
        discard(counters, Drop::xdp_devmap_drop, &m, 1);
        break;
      case XDP_ABORTED:
        discard(counters, Drop::xdp_aborted, &m, 1);
        break;
      default:
        discard(counters, Drop::xdp_unknown, &m, 1);
    }
  }
  batch.n = kept;
}

}  // namespace

void without_longer(PortCounters& counters, uint32_t longest, Batch& batch) noexcept {
  uint32_t length = 0;
  for (uint16_t i = 0; i < batch.n; ++i) {
    length = std::max(length, batch.pkts[i]->pkt_len);
  }
  if (length <= longest) [[likely]] {
    return;
  }
  uint16_t kept = 0;
  for (uint16_t i = 0; i < batch.n; ++i) {
    rte_mbuf* m = batch.pkts[i];
    if (m->pkt_len > longest) {
      discard(counters, Drop::xdp_redirect_emsgsize, &m, 1);
      continue;
    }
    batch.at[kept] = batch.at[i];
    batch.pkts[kept++] = m;
  }
  batch.n = kept;
}

// bq_xmit_all
void leave_by(WorkerContext& worker, const PortView& view, const DeviceView& device, const bpf::Program* program,
              Batch batch) noexcept {
  if (program != nullptr && batch.n != 0) {
    run_program(worker, view, device, *program, batch);
  }
  if (batch.n == 0) {
    return;
  }
  if (device.kind == DeviceView::Kind::port) {
    port::append(worker.tx[device.port], batch.pkts, batch.n);
  } else if (bond::transmit(*device.table, worker.bonds.data(), bond::Path::xdp, worker.tx.data(), batch.pkts,
                            batch.n) == 0) {
    discard(worker.counters[view.port], Drop::xdp_devmap_xmit, batch.pkts, batch.n);
  }
}

void redirect(WorkerContext& worker, const PortView& view, uint16_t n) noexcept {
  rte_mbuf** pkts = worker.bins[XDP_REDIRECT].data();
  std::array<uint8_t, port::kMaxBurst> at;
  const bpf::RedirectTarget* target = nullptr;
  uint16_t begin = 0, end = 0;
  const auto send = [&] {
    if (end != begin) {
      to_target(worker, view, *target, {pkts + begin, at.data() + begin, static_cast<uint16_t>(end - begin)});
    }
    begin = end;
  };
  for (uint16_t i = 0; i < n; ++i) {
    if (worker.verdicts[i] != XDP_REDIRECT) {
      continue;
    }
    const bpf::RedirectTarget& next = worker.frames[i].redirect;
    if (target == nullptr || !same(*target, next)) {
      send();
      target = &next;
    }
    at[end++] = static_cast<uint8_t>(i);
  }
  send();
}

}  // namespace xbond::xdp
