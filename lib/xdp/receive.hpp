// The packet path behind an rx burst: program, verdicts, the bond's receive rules. Thread: worker.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "lib/bond/transmit.hpp"
#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/counters.hpp"
#include "lib/xdp/cpu_rings.hpp"
#include "lib/xdp/device.hpp"
#include "lib/xdp/slow_protocol.hpp"

namespace xbond::xdp {

// balance-alb: the addresses by which peers send.
struct AlbAddresses {
  std::array<uint8_t, 6> bond{};
  std::vector<std::array<uint8_t, 6>> members;
};

// What a worker needs to know of a receiving port. Part of a snapshot: immutable once published.
struct PortView {
  uint16_t port = port::kNoPort;
  uint32_t ifindex = 0;
  bool polled = false;                    // started and administratively up
  const bpf::Program* program = nullptr;  // its own or its bond's
  const bond::TxTable* bond = nullptr;    // where XDP_TX goes; nullptr: a port by itself
  bool bond_up = true;                    // administrative state of that bond
  bool host_up = true;                    // and of all bonds above: PASS
  SlowProtocols slow = SlowProtocols::are_data;
  bool inactive = false;               // PASS is dropped here (bond_handle_frame, should_deliver_exact_match)
  bool no_groups = false;              // inactive, in balance-alb: only frames to groups are dropped
  const AlbAddresses* alb = nullptr;   // balance-alb
  bool probes = false;                 // the bond's monitor wants copies of ARP and neighbour discovery, on PASS
  bool restore_tags = false;           // the driver takes VLAN tags out, whatever it is told
  std::span<rte_ring* const> to_host;  // by worker; empty: no tap
  const Devices* devices = nullptr;    // where XDP_REDIRECT may go; nullptr: nowhere
};

// All that one worker owns. Nothing of it is written by another thread.
struct WorkerContext {
  uint32_t cpu = 0;                                       // dense worker index, the CPU number that programs see
  rte_ring* punt = nullptr;                               // to the protocol thread (punt.hpp); nullptr: there is none
  std::array<port::TxBuffer, bond::kMemberIds> tx;        // by ethdev port id, then bonds as members
  std::array<bond::LcoreState, bond::kMaxBonds> bonds{};  // by TxTable::bond_index
  std::array<PortCounters, RTE_MAX_ETHPORTS> counters{};  // by receiving port
  CpuRings cpus;                                          // for CPU maps: to and from each worker
  // Scratch of one burst
  std::array<bpf::XdpFrame, port::kMaxBurst> frames;
  std::array<uint32_t, port::kMaxBurst> verdicts;
  std::array<std::array<rte_mbuf*, port::kMaxBurst>, 6> bins;  // by verdict, the last for unknown values
  // The same of programs that run where a frame leaves
  std::array<bpf::XdpFrame, port::kMaxBurst> egress_frames;
  std::array<uint32_t, port::kMaxBurst> egress_verdicts;
};

// Takes the burst over: afterwards each frame is freed, in a tx buffer, or in the host ring. n <= port::kMaxBurst.
void receive_burst(WorkerContext& worker, const PortView& view, uint16_t queue, rte_mbuf** pkts, uint16_t n) noexcept;

}  // namespace xbond::xdp
