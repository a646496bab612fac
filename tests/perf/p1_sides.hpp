// P1's loops, shared by the bench (cycles) and the instruction counts: receive a burst, transmit it with or without a
// bond. Thread: main.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "lib/bond/params.hpp"
#include "lib/bond/transmit.hpp"
#include "tests/perf/ring_loop.hpp"

namespace xbond::perf {

struct BondCase {
  const char* name;
  bond::Mode mode;
  bond::Policy policy;
};
inline constexpr std::array<BondCase, 11> kBondCases{{
    {"rr", bond::Mode::balance_rr, bond::Policy::layer2},
    {"ab", bond::Mode::active_backup, bond::Policy::layer2},
    {"xor l2", bond::Mode::balance_xor, bond::Policy::layer2},
    {"xor l23", bond::Mode::balance_xor, bond::Policy::layer23},
    {"xor l34", bond::Mode::balance_xor, bond::Policy::layer34},
    {"lacp l2", bond::Mode::ieee8023ad, bond::Policy::layer2},
    {"lacp l23", bond::Mode::ieee8023ad, bond::Policy::layer23},
    {"lacp l34", bond::Mode::ieee8023ad, bond::Policy::layer34},
    {"bcast", bond::Mode::broadcast, bond::Policy::layer2},
    {"tlb", bond::Mode::balance_tlb, bond::Policy::layer2},
    {"alb", bond::Mode::balance_alb, bond::Policy::layer2},
}};

// What such a bond leaves of the loop's frames: the same for the next round; the same, but with other source addresses,
// so that by layer2 they spread no more; or more of them, so that members beside the first must free theirs.
enum class Leaves : uint8_t { same, addresses, copies };
constexpr Leaves leaves(bond::Mode mode) {
  return mode == bond::Mode::broadcast   ? Leaves::copies
         : bond::is_load_balancing(mode) ? Leaves::addresses
                                         : Leaves::same;
}
// XDP sends by those that it knows; the others are the host's.
constexpr bond::Path path_of(bond::Mode mode) {
  return leaves(mode) == Leaves::same ? bond::Path::xdp : bond::Path::host;
}

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
    worker.table.mac[i] = {2, 0, 0, 0, 0xee, static_cast<uint8_t>(i)};
    worker.buffers[members[i]].port = members[i];
  }
  worker.table.dynamic = bond::is_load_balancing(c.mode);
  for (uint32_t i = 0; i < bond::kChannels; ++i) {
    worker.table.channel[i] = static_cast<uint8_t>(i % members.size());
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
  const bond::Path path = path_of(worker.table.mode);
  return loop(source, rounds, [&](rte_mbuf** pkts, uint16_t n) {
    bond::transmit(worker.table, &worker.state, path, worker.buffers.data(), pkts, n);
    for (uint16_t i = 0; i < worker.table.usable; ++i) {
      port::flush(worker.buffers[worker.table.port[i]]);
    }
  });
}

}  // namespace xbond::perf
