// P1, bond transmit: cycles a packet above the same loop without a bond; DPDK's bonding PMD against ours.
#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_eth_bond.h>
#include <rte_ethdev.h>

#include <array>
#include <memory>

#include "tests/perf/harness.hpp"
#include "tests/perf/p1_sides.hpp"
#include "tests/perf/ring_loop.hpp"

// The bonding PMD refuses members that can't take its MAC address, and net_ring has no address to set. A definition in
// the executable goes before the library's: nothing in the bench needs the real one.
extern "C" int rte_eth_dev_default_mac_addr_set(uint16_t /*port*/, rte_ether_addr* /*address*/) {
  return 0;
}

namespace xbond::perf {
namespace {

constexpr unsigned kFlows = 256;
constexpr uint64_t kRounds = 1024;  // a slice: some 0.3 ms

// The PMD's names for the cases of p1_sides.hpp, and the targets.
struct Rival {
  uint8_t mode;
  uint8_t policy;
  double target;
};
constexpr std::array<Rival, kBondCases.size()> kRivals{{
    {BONDING_MODE_ROUND_ROBIN, BALANCE_XMIT_POLICY_LAYER2, 3},
    {BONDING_MODE_ACTIVE_BACKUP, BALANCE_XMIT_POLICY_LAYER2, 1},
    {BONDING_MODE_BALANCE, BALANCE_XMIT_POLICY_LAYER2, 8},
    {BONDING_MODE_BALANCE, BALANCE_XMIT_POLICY_LAYER23, 10},
    {BONDING_MODE_BALANCE, BALANCE_XMIT_POLICY_LAYER34, 12},
}};

Side rival(const std::string& name, uint16_t source, uint16_t to) {
  return {name, [=](uint64_t rounds) { return plain_loop(source, to, rounds); }};
}

Side ours(const BondCase& c, uint16_t source, std::array<uint16_t, 2> members) {
  auto worker = std::make_shared<BondWorker>();
  set_up(*worker, c, members);
  return {fmt::format("xbond {}", c.name), [=](uint64_t rounds) { return bond_loop(source, *worker, rounds); }};
}

// The PMD's members become active some time after the start.
Status wait_active(uint16_t bonded) {
  for (int i = 0; i < 200; ++i) {
    std::array<uint16_t, RTE_MAX_ETHPORTS> members;
    if (rte_eth_bond_active_slaves_get(bonded, members.data(), members.size()) == 2) {
      return {};
    }
    rte_delay_us_sleep(10'000);
  }
  return fail(ETIMEDOUT, "the bonding PMD's members did not become active within 2 s");
}

// The bond, with two members in member order; in active-backup, the active one first.
struct Pmd {
  uint16_t bonded = 0;
  std::array<uint16_t, 2> members{};
};

Result<Pmd> make_pmd(RingLoop& ring, const std::string& name, const Rival& r) {
  const int created = rte_eth_bond_create(fmt::format("net_bonding_{}", name).c_str(), r.mode, 0);
  if (created < 0) {
    return fail(-created, fmt::format("rte_eth_bond_create: error {}", created));
  }
  Pmd pmd;
  pmd.bonded = static_cast<uint16_t>(created);
  ring.adopt(pmd.bonded);
  for (size_t i = 0; i < pmd.members.size(); ++i) {
    Result<uint16_t> member = ring.add_port(fmt::format("pmd_{}_{}", name, i), true);
    if (!member) {
      return member.error();
    }
    pmd.members[i] = *member;
    if (rte_eth_bond_slave_add(pmd.bonded, *member) != 0) {
      return fail(EIO, fmt::format("the bonding PMD refuses member {} for {}", i, name));
    }
  }
  if (rte_eth_bond_primary_set(pmd.bonded, pmd.members[0]) != 0 ||
      (r.mode == BONDING_MODE_BALANCE && rte_eth_bond_xmit_policy_set(pmd.bonded, r.policy) != 0)) {
    return fail(EIO, fmt::format("the bonding PMD refuses the options of {}", name));
  }
  if (Status started = RingLoop::start(pmd.bonded, ring.pool()); !started) {
    return started.error();
  }
  if (Status active = wait_active(pmd.bonded); !active) {
    return active.error();
  }
  return pmd;
}

// A side that loses frames, or does not use its members as it should, would be fast for the wrong reason.
Status check(const Side& side, const BondCase& c, const RingLoop& ring, std::array<uint16_t, 2> members) {
  std::array<uint64_t, 2> sent{};
  rte_eth_stats stats;
  for (size_t i = 0; i < 2; ++i) {
    rte_eth_stats_get(members[i], &stats);
    sent[i] = stats.opackets;
  }
  const uint64_t packets = side.run(64);
  for (size_t i = 0; i < 2; ++i) {
    rte_eth_stats_get(members[i], &stats);
    sent[i] = stats.opackets - sent[i];
  }
  const bool as_it_should = c.mode == bond::Mode::active_backup ? sent[0] == packets : sent[0] > 0 && sent[1] > 0;
  if (packets != 64u * kBurst || sent[0] + sent[1] != packets || ring.frames() != kFlows || !as_it_should) {
    return fail(EIO, fmt::format("{}: {} frames in, {} and {} out, {} in the ring", side.name, packets, sent[0],
                                 sent[1], ring.frames()));
  }
  return {};
}

// no bond, then for each case the PMD and ours.
Result<std::vector<Side>> make_sides(RingLoop& ring) {
  Result<uint16_t> first = ring.add_port("member0", true);
  Result<uint16_t> second = ring.add_port("member1", true);
  if (!first || !second) {
    return first ? second.error() : first.error();
  }
  const std::array<uint16_t, 2> members{*first, *second};
  std::vector<Side> sides{rival("no bond", ring.source(), ring.source())};
  for (size_t i = 0; i < kBondCases.size(); ++i) {
    const BondCase& c = kBondCases[i];
    Result<Pmd> pmd = make_pmd(ring, c.name, kRivals[i]);
    if (!pmd) {
      return pmd.error();
    }
    sides.push_back(rival(fmt::format("bonding PMD {}", c.name), ring.source(), pmd->bonded));
    if (Status ok = check(sides.back(), c, ring, pmd->members); !ok) {
      return ok.error();
    }
    sides.push_back(ours(c, ring.source(), members));
    if (Status ok = check(sides.back(), c, ring, members); !ok) {
      return ok.error();
    }
  }
  return sides;
}

}  // namespace

Result<Table> bond_transmit(const Options& options) {
  Result<std::unique_ptr<RingLoop>> ring = RingLoop::create(kFlows);
  if (!ring) {
    return ring.error();
  }
  Result<std::vector<Side>> sides = make_sides(**ring);
  if (!sides) {
    return sides.error();
  }
  Table table;
  table.raw = measure(*sides, options.seconds, kRounds);
  if ((*ring)->frames() != kFlows) {
    return fail(EIO, fmt::format("frames were lost: {} of {} are left", (*ring)->frames(), kFlows));
  }
  const double base = table.raw[0].cycles;
  for (size_t i = 0; i < kBondCases.size(); ++i) {
    table.rows.push_back({kBondCases[i].name, "cycles", table.raw[1 + 2 * i].cycles - base,
                          table.raw[2 + 2 * i].cycles - base, kRivals[i].target});
  }
  return table;
}

}  // namespace xbond::perf
