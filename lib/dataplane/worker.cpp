#include "lib/dataplane/worker.hpp"

#include <rte_ethdev.h>

#include "lib/bond/neighbour.hpp"
#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/punt.hpp"

namespace xbond::dataplane {

Worker::Worker(uint32_t cpu, uint16_t burst, Published& published, Qsbr& qsbr)
    : context_(std::make_unique<xdp::WorkerContext>()), published_(published), qsbr_(qsbr), burst_(burst) {
  context_->cpu = cpu;
  for (uint32_t i = 0; i < context_->bonds.size(); ++i) {
    // Any value but 0 starts a xorshift; a different one for each worker and bond.
    context_->bonds[i].random = 0x9e3779b9U * (cpu * bond::kMaxBonds + i + 1);
  }
}

void Worker::transmit_by(uint16_t port, uint16_t queue) {
  context_->tx[port].port = port;
  context_->tx[port].queue = queue;
  tx_ports_.push_back(port);
}

void Worker::run(const std::atomic<bool>& stop) noexcept {
  qsbr_.online(context_->cpu);
  while (!stop.load(std::memory_order_relaxed)) {
    if (const Snapshot* snapshot = published_.get(); snapshot != nullptr) {
      send_control(*snapshot);
      receive(*snapshot);
      xdp::receive_from_cpus(*context_, snapshot->ports);
      send_from_host(*snapshot);
      flush();
    }
    qsbr_.quiescent(context_->cpu);
  }
  qsbr_.offline(context_->cpu);
}

void Worker::receive(const Snapshot& snapshot) noexcept {
  rte_mbuf* pkts[port::kMaxBurst];
  for (const RxQueue& q : queues_) {
    const xdp::PortView& view = snapshot.ports[q.port];
    if (!view.polled) {
      continue;
    }
    if (const uint16_t n = rte_eth_rx_burst(q.port, q.queue, pkts, burst_); n != 0) {
      xdp::receive_burst(*context_, view, q.queue, pkts, n);
    }
  }
}

void Worker::send_from_host(const Snapshot& snapshot) noexcept {
  rte_mbuf* pkts[port::kMaxBurst];
  for (const HostView& host : snapshot.hosts) {
    const unsigned n =
        rte_ring_sc_dequeue_burst(host.from_host[context_->cpu], reinterpret_cast<void**>(pkts), burst_, nullptr);
    if (n == 0) {
      continue;
    }
    xdp::PortCounters& counters = context_->counters[host.port];
    port::count_up(counters.from_host, n);
    auto count = static_cast<uint16_t>(n);
    if (host.up && host.punts_arp) [[unlikely]] {
      count = punt_arp(host, pkts, count);
    }
    bool taken = host.up;
    if (taken && host.bond != nullptr) {
      taken =
          bond::transmit(*host.bond, context_->bonds.data(), bond::Path::host, context_->tx.data(), pkts, count) != 0;
    } else if (taken) {
      port::append(context_->tx[host.port], pkts, count);
    }
    if (!taken) {
      port::count_up(counters.drops[static_cast<size_t>(xdp::Drop::no_member)], count);
      rte_pktmbuf_free_bulk(pkts, count);
    }
  }
}

// balance-alb: the protocol thread writes into the host's ARP which member the peer shall answer to. Returns how many
// frames are left. A full ring sends ARP by the active member, as it is.
uint16_t Worker::punt_arp(const HostView& host, rte_mbuf** pkts, uint16_t n) noexcept {
  constexpr uint32_t kTagsAtMost = 2;
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; ++i) {
    rte_mbuf* m = pkts[i];
    const std::span<const uint8_t> bytes(rte_pktmbuf_mtod(m, const uint8_t*), m->data_len);
    if (bond::neighbour_kind(bytes, kTagsAtMost) != bond::Neighbour::arp || context_->punt == nullptr ||
        !xdp::PuntRing::push(context_->punt, m, xdp::PuntKind::host_arp, host.port)) {
      pkts[kept++] = m;
    }
  }
  return kept;
}

// Before data: these are the frames that keep a link alive.
void Worker::send_control(const Snapshot& snapshot) noexcept {
  rte_mbuf* pkts[port::kMaxBurst];
  for (const ControlRing& control : control_) {
    if (!snapshot.ports[control.port].polled) {
      continue;
    }
    const unsigned n = rte_ring_sc_dequeue_burst(control.ring, reinterpret_cast<void**>(pkts), port::kFlushAt, nullptr);
    if (n != 0) {
      port::append(context_->tx[control.port], pkts, static_cast<uint16_t>(n));
      port::flush(context_->tx[control.port]);
    }
  }
}

void Worker::flush() noexcept {
  for (const uint16_t port : tx_ports_) {
    if (context_->tx[port].count != 0) {
      port::flush(context_->tx[port]);
    }
  }
}

}  // namespace xbond::dataplane
