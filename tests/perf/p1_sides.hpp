// P1's loops, shared by the bench (cycles) and the instruction counts: receive a burst, transmit it with or without a
// bond. Thread: main.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "lib/bond/transmit.hpp"
#include "tests/perf/ring_loop.hpp"

namespace xbond::perf {

struct BondCase {
  const char* name;
  bond::Mode mode;
  bond::Policy policy;
};
inline constexpr std::array<BondCase, 5> kBondCases{{
    {"rr", bond::Mode::balance_rr, bond::Policy::layer2},
    {"ab", bond::Mode::active_backup, bond::Policy::layer2},
    {"xor l2", bond::Mode::balance_xor, bond::Policy::layer2},
    {"xor l23", bond::Mode::balance_xor, bond::Policy::layer23},
    {"xor l34", bond::Mode::balance_xor, bond::Policy::layer34},
}};

// What a worker has for one bond.
struct BondWorker {
  bond::TxTable table;
  bond::LcoreState state;
  std::array<port::TxBuffer, RTE_MAX_ETHPORTS> buffers;
};

inline void set_up(BondWorker& worker, const BondCase& c, std::span<const uint16_t> members) {
  worker.table.mode = c.mode;
  worker.table.policy = c.policy;
  worker.table.usable = static_cast<uint16_t>(members.size());
  worker.table.active = members[0];
  for (size_t i = 0; i < members.size(); ++i) {
    worker.table.port[i] = members[i];
    worker.buffers[members[i]].port = members[i];
  }
  worker.table.seal();
}

// The loop that all sides share. Returns the packets.
template <class Send>
uint64_t loop(uint16_t source, uint64_t rounds, Send send) {
  uint64_t packets = 0;
  std::array<rte_mbuf*, kBurst> pkts;
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint16_t n = rte_eth_rx_burst(source, 0, pkts.data(), kBurst);
    send(pkts.data(), n);
    packets += n;
  }
  return packets;
}

// Without a bond, or through another driver's: `to` is the port to send by.
inline uint64_t plain_loop(uint16_t source, uint16_t to, uint64_t rounds) {
  return loop(source, rounds, [=](rte_mbuf** pkts, uint16_t n) { rte_eth_tx_burst(to, 0, pkts, n); });
}

// As a worker does it: the bond puts the burst into the members' buffers, the end of the round flushes them.
inline uint64_t bond_loop(uint16_t source, BondWorker& worker, uint64_t rounds) {
  return loop(source, rounds, [&](rte_mbuf** pkts, uint16_t n) {
    bond::transmit(worker.table, worker.state, bond::Path::xdp, worker.buffers.data(), pkts, n);
    for (uint16_t i = 0; i < worker.table.usable; ++i) {
      port::flush(worker.buffers[worker.table.port[i]]);
    }
  });
}

}  // namespace xbond::perf
