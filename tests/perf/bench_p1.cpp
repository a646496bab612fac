// P1, bond transmit: cycles a packet above the same loop without a bond; DPDK's bonding PMD against ours.
#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_eth_bond.h>
#include <rte_eth_bond_8023ad.h>
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

// The PMD's names for the cases of p1_sides.hpp, and the targets; 0: no more than the PMD.
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
    {BONDING_MODE_8023AD, BALANCE_XMIT_POLICY_LAYER2, 8},
    {BONDING_MODE_8023AD, BALANCE_XMIT_POLICY_LAYER23, 10},
    {BONDING_MODE_8023AD, BALANCE_XMIT_POLICY_LAYER34, 12},
    {BONDING_MODE_BROADCAST, BALANCE_XMIT_POLICY_LAYER2, 0},
    {BONDING_MODE_TLB, BALANCE_XMIT_POLICY_LAYER2, 0},
    {BONDING_MODE_ALB, BALANCE_XMIT_POLICY_LAYER2, 0},
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

// Nobody answers LACP here, so the PMD is told from outside who collects and distributes.
void ignore_slow(uint16_t /*member*/, rte_mbuf* frame) {
  rte_pktmbuf_free(frame);
}
Status without_partner(uint16_t bonded) {
  rte_eth_bond_8023ad_conf conf{};
  rte_eth_bond_8023ad_conf_get(bonded, &conf);
  conf.slowrx_cb = ignore_slow;
  return rte_eth_bond_8023ad_setup(bonded, &conf) == 0 ? Status{} : Status{fail(EIO, "the bonding PMD keeps its LACP")};
}
Status distribute(uint16_t bonded, std::array<uint16_t, 2> members) {
  for (const uint16_t member : members) {
    if (rte_eth_bond_8023ad_ext_collect(bonded, member, 1) != 0 ||
        rte_eth_bond_8023ad_ext_distrib(bonded, member, 1) != 0) {
      return fail(EIO, "the bonding PMD's members do not distribute");
    }
  }
  return {};
}

// In broadcast the second member frees its copy.
Result<uint16_t> add_member(RingLoop& ring, const std::string& name, size_t number, bond::Mode mode) {
  return number > 0 && leaves(mode) == Leaves::copies ? ring.add_sink(name, true) : ring.add_port(name, true);
}

// The bond, with two members in member order; in active-backup, the active one first.
struct Pmd {
  uint16_t bonded = 0;
  std::array<uint16_t, 2> members{};
};

Status set_options(const Pmd& pmd, const Rival& r) {
  const bool hashes = r.mode == BONDING_MODE_BALANCE || r.mode == BONDING_MODE_8023AD;
  const bool ordered = r.mode != BONDING_MODE_8023AD;
  if ((ordered && rte_eth_bond_primary_set(pmd.bonded, pmd.members[0]) != 0) ||
      (hashes && rte_eth_bond_xmit_policy_set(pmd.bonded, r.policy) != 0)) {
    return fail(EIO, "the bonding PMD refuses the options");
  }
  return r.mode == BONDING_MODE_8023AD ? without_partner(pmd.bonded) : Status{};
}

Result<Pmd> make_pmd(RingLoop& ring, const BondCase& c, const Rival& r) {
  const int created = rte_eth_bond_create(fmt::format("net_bonding_{}", c.name).c_str(), r.mode, 0);
  if (created < 0) {
    return fail(-created, fmt::format("rte_eth_bond_create: error {}", created));
  }
  Pmd pmd;
  pmd.bonded = static_cast<uint16_t>(created);
  ring.adopt(pmd.bonded);
  for (size_t i = 0; i < pmd.members.size(); ++i) {
    Result<uint16_t> member = add_member(ring, fmt::format("pmd_{}_{}", c.name, i), i, c.mode);
    if (!member) {
      return member.error();
    }
    pmd.members[i] = *member;
    if (rte_eth_bond_slave_add(pmd.bonded, *member) != 0) {
      return fail(EIO, fmt::format("the bonding PMD refuses member {} for {}", i, c.name));
    }
  }
  if (Status set = set_options(pmd, r); !set) {
    return fail(set.error().code, fmt::format("{}: {}", c.name, set.error().text));
  }
  if (Status started = RingLoop::start(pmd.bonded, ring.pool()); !started) {
    return started.error();
  }
  if (Status active = wait_active(pmd.bonded); !active) {
    return fail(active.error().code, fmt::format("{}: {}", c.name, active.error().text));
  }
  if (r.mode == BONDING_MODE_8023AD) {
    if (Status ok = distribute(pmd.bonded, pmd.members); !ok) {
      return ok.error();
    }
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
  // (The PMD's tlb and alb fill one member after the other.)
  const bool one = c.mode == bond::Mode::active_backup;
  const bool any = leaves(c.mode) == Leaves::addresses;
  const bool as_it_should = one ? sent[0] == packets : any || (sent[0] > 0 && sent[1] > 0);
  const uint64_t copies = c.mode == bond::Mode::broadcast ? 2 : 1;
  if (packets != 64U * kBurst || sent[0] + sent[1] != copies * packets || ring.frames() != kFlows || !as_it_should) {
    return fail(EIO, fmt::format("{}: {} frames in, {} and {} out, {} in the ring", side.name, packets, sent[0],
                                 sent[1], ring.frames()));
  }
  return {};
}

// Cases that can share a loop: no bond, then for each of them the PMD and ours.
struct Group {
  std::unique_ptr<RingLoop> ring;
  std::array<uint16_t, 2> members{};  // ours
  std::vector<size_t> cases;
  std::vector<Side> sides;
};

Status add_case(Group& group, size_t number) {
  const BondCase& c = kBondCases[number];
  RingLoop& ring = *group.ring;
  Result<Pmd> pmd = make_pmd(ring, c, kRivals[number]);
  if (!pmd) {
    return pmd.error();
  }
  group.sides.push_back(rival(fmt::format("bonding PMD {}", c.name), ring.source(), pmd->bonded));
  if (Status ok = check(group.sides.back(), c, ring, pmd->members); !ok) {
    return ok;
  }
  group.sides.push_back(ours(c, ring.source(), group.members));
  group.cases.push_back(number);
  return check(group.sides.back(), c, ring, group.members);
}

Result<Group> make_group(const std::string& name, std::span<const size_t> cases) {
  Group group;
  Result<std::unique_ptr<RingLoop>> ring = RingLoop::create(name, kFlows);
  if (!ring) {
    return ring.error();
  }
  group.ring = std::move(ring.value());
  group.sides.push_back(rival("no bond", group.ring->source(), group.ring->source()));
  for (size_t i = 0; i < group.members.size(); ++i) {
    const bond::Mode mode = kBondCases[cases.front()].mode;
    Result<uint16_t> member = add_member(*group.ring, fmt::format("{}_own{}", name, i), i, mode);
    if (!member) {
      return member.error();
    }
    group.members[i] = *member;
  }
  for (const size_t number : cases) {
    if (Status ok = add_case(group, number); !ok) {
      return ok.error();
    }
  }
  return group;
}

Status measure_group(const Group& group, double seconds, Table& table) {
  const std::vector<Measure> raw = measure(group.sides, seconds, kRounds);
  if (group.ring->frames() != kFlows) {
    return fail(EIO, fmt::format("frames were lost: {} of {} are left", group.ring->frames(), kFlows));
  }
  const double base = raw[0].cycles;
  for (size_t i = 0; i < group.cases.size(); ++i) {
    const size_t number = group.cases[i];
    const double pmd = raw[1 + 2 * i].cycles - base;
    const double target = kRivals[number].target;
    table.rows.push_back(
        {kBondCases[number].name, "cycles", pmd, raw[2 + 2 * i].cycles - base, target != 0 ? target : pmd});
  }
  table.raw.insert(table.raw.end(), raw.begin(), raw.end());
  return {};
}

}  // namespace

Result<Table> bond_transmit(const Options& options) {
  std::vector<size_t> sharing;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < kBondCases.size(); ++i) {
    if (leaves(kBondCases[i].mode) == Leaves::same) {
      sharing.push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  groups.insert(groups.begin(), sharing);
  Table table;
  for (size_t i = 0; i < groups.size(); ++i) {
    Result<Group> group = make_group(fmt::format("loop{}", i), groups[i]);
    if (!group) {
      return group.error();
    }
    const double share = static_cast<double>(groups[i].size()) / static_cast<double>(kBondCases.size());
    if (Status ok = measure_group(*group, options.seconds * share, table); !ok) {
      return ok.error();
    }
  }
  return table;
}

}  // namespace xbond::perf
