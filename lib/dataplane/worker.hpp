// The worker loop: polls its queues, runs the packet path, flushes. One object a worker lcore.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/dataplane/snapshot.hpp"
#include "lib/xdp/cpumap.hpp"

namespace xbond::dataplane {

struct RxQueue {
  uint16_t port;
  uint16_t queue;
};

// A port whose one tx queue control shares: its frames wait in a ring for the queue's owner.
struct ControlRing {
  uint16_t port;
  rte_ring* ring;
};

class Worker {
 public:
  Worker(uint32_t cpu, uint16_t burst, Published& published, Qsbr& qsbr);

  // While the worker does not run: which queues it polls, where it transmits (tx queue `queue` of `port`).
  void poll(RxQueue queue) { queues_.push_back(queue); }
  void transmit_by(uint16_t port, uint16_t queue);
  void drain(ControlRing ring) { control_.push_back(ring); }
  void punt_to(rte_ring* ring) { context_->punt = ring; }
  void share_cpus(const xdp::CpuRings& rings) { context_->cpus = rings; }
  // When no worker runs any more: drops and counts what others had sent on to this one.
  void discard_waiting() noexcept { xdp::discard_from_cpus(*context_); }

  // The loop, on its lcore, until `stop` turns true. On return all that was buffered has left or is counted.
  void run(const std::atomic<bool>& stop) noexcept;

  [[nodiscard]] const xdp::WorkerContext& context() const { return *context_; }
  [[nodiscard]] std::span<const RxQueue> queues() const { return queues_; }

 private:
  void receive(const Snapshot& snapshot) noexcept;
  void send_from_host(const Snapshot& snapshot) noexcept;
  uint16_t punt_arp(const HostView& host, rte_mbuf** pkts, uint16_t n) noexcept;
  void send_control(const Snapshot& snapshot) noexcept;
  void flush() noexcept;

  std::unique_ptr<xdp::WorkerContext> context_;
  Published& published_;
  Qsbr& qsbr_;
  uint16_t burst_;
  std::vector<RxQueue> queues_;
  std::vector<ControlRing> control_;
  std::vector<uint16_t> tx_ports_;
};

}  // namespace xbond::dataplane
