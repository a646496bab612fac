// Where each mode sends frames, in which order, and what happens to those that a port does not take.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "lib/bond/hash.hpp"
#include "lib/bond/modulo.hpp"
#include "lib/bond/transmit.hpp"
#include "tests/unit/bond/ring_ports.hpp"

namespace xbond::bond::test {
namespace {

TxTable table_of(Mode mode, const RingPorts& ports) {
  TxTable table;
  table.mode = mode;
  table.usable = static_cast<uint16_t>(ports.count());
  for (unsigned i = 0; i < ports.count(); ++i) {
    table.port[i] = ports.id(i);
  }
  table.active = ports.count() > 0 ? ports.id(0) : port::kNoPort;
  table.seal();
  return table;
}

std::vector<uint8_t> igmp_frame(uint32_t serial) {
  std::vector<uint8_t> frame = udp_frame(0, serial);
  frame[14 + 9] = 2;
  return frame;
}

std::vector<uint8_t> tagged(std::vector<uint8_t> frame) {
  const uint8_t tag[] = {0x81, 0x00, 0x00, 0x07};
  frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
  return frame;
}

class Transmit : public testing::Test {
 protected:
  static void SetUpTestSuite() { start_eal(); }

  // Sends serial numbers [next, next + n) as one burst; frame(serial) makes each.
  template <class Frame>
  uint16_t burst(const TxTable& table, RingPorts& ports, uint16_t n, Frame frame, Path path = Path::xdp) {
    std::vector<rte_mbuf*> pkts;
    for (uint16_t i = 0; i < n; ++i) {
      pkts.push_back(pool_.frame(frame(next_++)));
    }
    const uint16_t taken = transmit(table, &state_, path, ports.buffers(), pkts.data(), n);
    if (taken == 0 && n > 0) {
      rte_pktmbuf_free_bulk(pkts.data(), n);
    }
    for (unsigned i = 0; i < ports.count(); ++i) {
      EXPECT_LT(ports.buffer(i).count, port::kFlushAt) << "the buffers' invariant";
    }
    return taken;
  }
  uint16_t udp_burst(const TxTable& table, RingPorts& ports, uint16_t n) {
    return burst(table, ports, n, [](uint32_t serial) { return udp_frame(serial % 61, serial); });
  }

  // Flushes, and returns the serial numbers that left by each port.
  static std::vector<std::vector<uint32_t>> sent(RingPorts& ports) {
    ports.flush();
    std::vector<std::vector<uint32_t>> all;
    for (unsigned i = 0; i < ports.count(); ++i) {
      std::vector<uint32_t>& serials = all.emplace_back();
      for (const auto& frame : ports.sent(i)) {
        serials.push_back(serial_of(frame));
      }
    }
    return all;
  }
  // The port index of each serial number, in the order of the numbers.
  static std::vector<unsigned> choices(RingPorts& ports) {
    std::map<uint32_t, unsigned> by_serial;
    const auto all = sent(ports);
    for (unsigned i = 0; i < all.size(); ++i) {
      for (const uint32_t serial : all[i]) {
        EXPECT_TRUE(by_serial.emplace(serial, i).second) << "sent twice";
      }
    }
    std::vector<unsigned> result;
    for (const auto& [serial, index] : by_serial) {
      result.push_back(index);
    }
    return result;
  }

  Pool pool_;
  LcoreState state_;
  uint32_t next_ = 0;
};

TEST_F(Transmit, NoUsableMemberTakesNothing) {
  RingPorts ports(0);
  for (uint8_t number = 0; number < kModeCount; ++number) {
    const auto mode = static_cast<Mode>(number);
    EXPECT_EQ(udp_burst(table_of(mode, ports), ports, 5), 0);
  }
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(Transmit, EmptyBurst) {
  RingPorts ports(2);
  for (uint8_t number = 0; number < kModeCount; ++number) {
    const auto mode = static_cast<Mode>(number);
    EXPECT_EQ(udp_burst(table_of(mode, ports), ports, 0), 0);
  }
  EXPECT_TRUE(choices(ports).empty());
}

TEST_F(Transmit, RoundRobinTakesTurnsAcrossBursts) {
  for (unsigned members = 1; members <= kMaxMembers; ++members) {
    RingPorts ports(members);
    const TxTable table = table_of(Mode::balance_rr, ports);
    state_ = {};
    for (const uint16_t n : {1, 3, 32, 7, 128, 31, 2}) {
      EXPECT_EQ(udp_burst(table, ports, n), n);
    }
    const std::vector<unsigned> chosen = choices(ports);
    ASSERT_EQ(chosen.size(), 204u);
    for (size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_EQ(chosen[i], i % members) << members << " members, frame " << i;
    }
  }
}

TEST_F(Transmit, RoundRobinRunsOfPacketsPerSlave) {
  for (const uint32_t run : {2u, 3u, 32u, 50u, 1000u}) {
    RingPorts ports(3);
    TxTable table = table_of(Mode::balance_rr, ports);
    table.packets_per_slave = run;
    table.seal();
    state_ = {};
    for (const uint16_t n : {1, 5, 32, 128, 64, 13, 128}) {
      EXPECT_EQ(udp_burst(table, ports, n), n);
    }
    const std::vector<unsigned> chosen = choices(ports);
    ASSERT_EQ(chosen.size(), 371u);
    for (size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_EQ(chosen[i], i / run % 3) << "run of " << run << ", frame " << i;
    }
  }
}

TEST_F(Transmit, RoundRobinAtRandomUsesAllEvenlyAndInNoCycle) {
  RingPorts ports(4);
  TxTable table = table_of(Mode::balance_rr, ports);
  table.packets_per_slave = 0;
  table.seal();
  std::vector<unsigned> chosen;
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(udp_burst(table, ports, 128), 128);
    const std::vector<unsigned> part = choices(ports);
    chosen.insert(chosen.end(), part.begin(), part.end());
  }
  ASSERT_EQ(chosen.size(), 4096u);
  size_t repeats = 0;
  for (size_t i = 1; i < chosen.size(); ++i) {
    repeats += chosen[i] == chosen[i - 1] ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(repeats), 1024, 200);  // 7 standard deviations
  for (unsigned member = 0; member < 4; ++member) {
    EXPECT_NEAR(static_cast<double>(std::count(chosen.begin(), chosen.end(), member)), 1024, 200);
  }
  EXPECT_NE(state_.random, 0u);
}

// The counter outlives the table it was counted for.
TEST_F(Transmit, RoundRobinGoesOnWithFewerMembers) {
  RingPorts ports(16);
  TxTable table = table_of(Mode::balance_rr, ports);
  EXPECT_EQ(udp_burst(table, ports, 14), 14);
  choices(ports);
  table.usable = 3;
  table.seal();
  EXPECT_EQ(udp_burst(table, ports, 5), 5);
  EXPECT_EQ(choices(ports), (std::vector<unsigned>{2, 0, 1, 2, 0}));  // 14 % 3
  table.packets_per_slave = 0xffffffff;                               // bounded by seal()
  table.seal();
  EXPECT_EQ(udp_burst(table, ports, 5), 5);
  EXPECT_EQ(choices(ports), std::vector<unsigned>(5, 0));
}

// IGMP goes to the active member. It takes a turn only where the turn is that member's.
TEST_F(Transmit, RoundRobinSendsIgmpToTheActiveMember) {
  const auto is_igmp = [](uint32_t serial) { return serial % 7 == 2 || (serial > 100 && serial % 2 == 0); };
  const auto mixed = [&](uint32_t serial) { return is_igmp(serial) ? igmp_frame(serial) : udp_frame(serial, serial); };
  for (const uint32_t per_slave : {1u, 3u}) {
    for (const unsigned members : {2u, 3u}) {
      for (unsigned active = 0; active < members; ++active) {
        RingPorts ports(members);
        TxTable table = table_of(Mode::balance_rr, ports);
        table.packets_per_slave = per_slave;
        table.active = ports.id(active);
        table.seal();
        state_ = {};
        next_ = 0;
        for (const uint16_t n : {1, 2, 9, 32, 17, 128, 64, 1}) {
          EXPECT_EQ(burst(table, ports, n, mixed), n);
        }
        const std::vector<unsigned> chosen = choices(ports);
        ASSERT_EQ(chosen.size(), 254u);
        uint32_t turns = 0;
        for (uint32_t serial = 0; serial < chosen.size(); ++serial) {
          const uint32_t turn = turns / per_slave % members;
          ASSERT_EQ(chosen[serial], is_igmp(serial) ? active : turn)
              << "frame " << serial << " of " << members << " members, " << per_slave << " each";
          turns += !is_igmp(serial) || turn == active ? 1 : 0;
        }
      }
    }
  }
}

// The active member need not be among the usable ones.
TEST_F(Transmit, RoundRobinIgmpToAnActiveMemberThatIsNotInTurn) {
  RingPorts ports(3);
  TxTable table = table_of(Mode::balance_rr, ports);
  table.usable = 2;
  table.active = ports.id(2);
  table.seal();
  const auto mixed = [](uint32_t serial) { return serial % 4 == 0 ? igmp_frame(serial) : udp_frame(serial, serial); };
  EXPECT_EQ(burst(table, ports, 40, mixed), 40);
  EXPECT_EQ(udp_burst(table, ports, 20), 20);
  const auto all = sent(ports);
  EXPECT_EQ(all[0].size(), 25u);
  EXPECT_EQ(all[1].size(), 25u);
  EXPECT_EQ(all[2].size(), 10u);
}

TEST_F(Transmit, RoundRobinIgmpAtRandomAndWithoutActiveMember) {
  RingPorts ports(4);
  TxTable table = table_of(Mode::balance_rr, ports);
  table.packets_per_slave = 0;
  table.active = port::kNoPort;
  table.seal();
  EXPECT_EQ(burst(table, ports, 100, igmp_frame), 100);
  EXPECT_EQ(choices(ports), std::vector<unsigned>(100, 0));  // the first that can transmit
}

TEST_F(Transmit, RoundRobinFindsIgmpWhereLinuxDoes) {
  RingPorts ports(2);
  TxTable table = table_of(Mode::balance_rr, ports);
  table.active = ports.id(1);
  table.seal();
  const auto one = [&](const std::vector<uint8_t>& frame, Path path, std::vector<size_t> cut = {}) {
    state_ = {};  // in turn it would be port 0
    rte_mbuf* m = cut.empty() ? pool_.frame(frame) : pool_.split(frame, cut);
    EXPECT_EQ(transmit(table, &state_, path, ports.buffers(), &m, 1), 1);
    ports.flush();
    const bool active = !ports.sent(1).empty();
    EXPECT_NE(active, !ports.sent(0).empty());
    return active;
  };
  const std::vector<uint8_t> igmp = igmp_frame(0);
  EXPECT_TRUE(one(igmp, Path::xdp));
  EXPECT_TRUE(one(igmp, Path::host));
  EXPECT_FALSE(one(udp_frame(0, 0), Path::xdp));
  EXPECT_FALSE(one(udp_frame(0, 0), Path::host));
  EXPECT_TRUE(one(tagged(igmp), Path::host)) << "the tag is beside the frame";
  EXPECT_FALSE(one(tagged(igmp), Path::xdp)) << "the tag is in the frame";
  EXPECT_TRUE(one(igmp, Path::xdp, {14, 5})) << "headers in three segments";
  EXPECT_FALSE(one({igmp.begin(), igmp.begin() + 33}, Path::xdp)) << "no whole IP header";
  EXPECT_TRUE(one({igmp.begin(), igmp.begin() + 34}, Path::xdp));
  EXPECT_FALSE(one({igmp.begin(), igmp.begin() + 3}, Path::host));
  std::vector<uint8_t> other = igmp;
  other[13] = 6;
  EXPECT_FALSE(one(other, Path::xdp)) << "ARP whose byte 23 happens to be 2";
  std::vector<uint8_t> fragment = igmp;
  fragment[20] = 0x20;
  EXPECT_TRUE(one(fragment, Path::xdp)) << "fragments are not told apart";
}

TEST_F(Transmit, ActiveBackupUsesTheActiveMemberOnly) {
  RingPorts ports(3);
  TxTable table = table_of(Mode::active_backup, ports);
  table.active = ports.id(2);
  table.seal();
  for (const uint16_t n : {1, 31, 32, 5, 128, 64, 3}) {
    EXPECT_EQ(udp_burst(table, ports, n), n);
  }
  const auto all = sent(ports);
  EXPECT_TRUE(all[0].empty());
  EXPECT_TRUE(all[1].empty());
  std::vector<uint32_t> in_order(264);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(all[2], in_order);
  EXPECT_EQ(port::read_counter(ports.buffer(2).sent), 264u);
}

TEST_F(Transmit, ActiveBackupWithNoneActiveTakesNothing) {
  RingPorts ports(2);
  TxTable table = table_of(Mode::active_backup, ports);
  table.active = port::kNoPort;
  table.seal();
  EXPECT_EQ(udp_burst(table, ports, 7), 0);
}

// Full bursts go past an empty buffer, but never past frames that wait.
TEST_F(Transmit, AFullBurstIsSentAtOnceAndAPartialOneWaits) {
  RingPorts ports(2);
  const TxTable table = table_of(Mode::active_backup, ports);
  EXPECT_EQ(udp_burst(table, ports, 32), 32);
  EXPECT_EQ(ports.buffer(0).count, 0);
  EXPECT_EQ(ports.sent(0).size(), 32u);
  EXPECT_EQ(udp_burst(table, ports, 31), 31);
  EXPECT_EQ(ports.buffer(0).count, 31);
  EXPECT_TRUE(ports.sent(0).empty());
  EXPECT_EQ(udp_burst(table, ports, 1), 1);
  EXPECT_EQ(ports.buffer(0).count, 0);
  EXPECT_EQ(ports.sent(0).size(), 32u);
}

TEST_F(Transmit, BroadcastSendsEachFrameByEveryMember) {
  for (unsigned members = 1; members <= kMaxMembers; members += 3) {
    RingPorts ports(members);
    const TxTable table = table_of(Mode::broadcast, ports);
    next_ = 0;
    for (const uint16_t n : {1, 31, 32, 5, 128}) {
      EXPECT_EQ(udp_burst(table, ports, n), n);
    }
    EXPECT_EQ(pool_.in_use(), 197u) << "shared, not copied";
    std::vector<uint32_t> in_order(197);
    std::iota(in_order.begin(), in_order.end(), 0);
    for (const auto& serials : sent(ports)) {
      EXPECT_EQ(serials, in_order);
    }
    EXPECT_EQ(pool_.in_use(), 0u);
  }
}

TEST_F(Transmit, BroadcastSharesEverySegmentAndSurvivesAFullPort) {
  RingPorts ports(3, 4);  // three frames each
  const TxTable table = table_of(Mode::broadcast, ports);
  std::vector<rte_mbuf*> pkts;
  for (uint32_t serial = 0; serial < 5; ++serial) {
    pkts.push_back(pool_.split(udp_frame(0, serial), std::array<size_t, 2>{10, 20}));
  }
  EXPECT_EQ(transmit(table, &state_, Path::host, ports.buffers(), pkts.data(), 5), 5);
  ports.flush();
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(ports.buffer(i).dropped, 2u);
  }
  EXPECT_EQ(pool_.in_use(), 9u) << "what every port refused is back";
  EXPECT_EQ(ports.sent(0).size(), 3u);
  EXPECT_EQ(pool_.in_use(), 9u) << "the others still have it";
  const std::vector<std::vector<uint8_t>> last = ports.sent(2);
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[2], udp_frame(0, 2));
  ports.sent(1);
  EXPECT_EQ(pool_.in_use(), 0u);
}

// --- balance-tlb, balance-alb

// Members' MACs end in their number; the first is active.
TxTable tlb_table(Mode mode, const RingPorts& ports, bool dynamic) {
  TxTable table = table_of(mode, ports);
  table.policy = Policy::layer34;
  table.dynamic = dynamic;
  for (unsigned i = 0; i < ports.count(); ++i) {
    table.mac[i] = {2, 0, 0, 0, 0xee, static_cast<uint8_t>(i)};
  }
  for (uint32_t i = 0; i < kChannels; ++i) {
    table.channel[i] = static_cast<uint8_t>(i * 7 % ports.count());
  }
  table.seal();
  return table;
}

std::vector<uint8_t> without_source(std::vector<uint8_t> frame) {
  std::fill(frame.begin() + 6, frame.begin() + 12, 0);
  return frame;
}

TEST_F(Transmit, TlbSpreadsUnicastIpByHashOrChannel) {
  for (const bool dynamic : {true, false}) {
    RingPorts ports(3);
    const TxTable table = tlb_table(Mode::balance_tlb, ports, dynamic);
    state_ = {};
    next_ = 0;
    EXPECT_EQ(udp_burst(table, ports, 128), 128);
    ports.flush();
    size_t left = 0;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 3; ++i) {
      const auto frames = ports.sent(i);
      EXPECT_GT(frames.size(), 10u) << "the test's flows spread";
      for (const auto& frame : frames) {
        const uint32_t serial = serial_of(frame);
        const std::vector<uint8_t> original = udp_frame(serial % 61, serial);
        const uint32_t value = hash(Policy::layer34, Path::xdp, original);
        EXPECT_EQ(i, dynamic ? table.channel[value % kChannels] : value % 3);
        EXPECT_EQ(without_source(frame), without_source(original));
        const std::vector<uint8_t> source(frame.begin() + 6, frame.begin() + 12);
        const std::vector<uint8_t> own(table.mac[i].begin(), table.mac[i].end());
        EXPECT_EQ(source, i == 0 ? std::vector<uint8_t>(original.begin() + 6, original.begin() + 12) : own);
        ++left;
      }
    }
    EXPECT_EQ(left, 128u);
    for (const uint64_t channel : state_.channel_bytes) {
      bytes += channel;
    }
    EXPECT_EQ(bytes, dynamic ? 128u * 64 : 0u);
    EXPECT_EQ(state_.unbalanced_bytes, 0u);
  }
}

TEST_F(Transmit, TlbSendsTheRestByTheActiveMember) {
  RingPorts ports(2);
  TxTable table = tlb_table(Mode::balance_tlb, ports, true);
  table.channel.fill(1);  // the other one: whoever is balanced is seen
  table.seal();
  const auto balanced = [&](Mode mode, std::vector<uint8_t> frame) {
    table.mode = mode;
    state_ = {};
    rte_mbuf* m = pool_.frame(frame);
    EXPECT_EQ(transmit(table, &state_, Path::host, ports.buffers(), &m, 1), 1);
    ports.flush();
    const bool other = !ports.sent(1).empty();
    EXPECT_NE(other, !ports.sent(0).empty());
    EXPECT_EQ(state_.unbalanced_bytes, other ? 0 : frame.size());
    return other;
  };
  std::vector<uint8_t> udp = udp_frame(3, 3);
  std::vector<uint8_t> group = udp;
  group[0] |= 1;
  std::vector<uint8_t> arp = udp;
  arp[13] = 6;
  std::vector<uint8_t> discovery = udp;  // IPv6, ICMPv6
  discovery[12] = 0x86;
  discovery[13] = 0xdd;
  discovery[14 + 6] = 58;
  discovery[54] = 135;
  discovery[14 + 8] = 0xfe;
  std::vector<uint8_t> echo = discovery;
  echo[54] = 128;
  std::vector<uint8_t> probe = echo;  // from the unspecified address
  std::fill(probe.begin() + 22, probe.begin() + 38, 0);
  for (const Mode mode : {Mode::balance_tlb, Mode::balance_alb}) {
    EXPECT_TRUE(balanced(mode, udp));
    EXPECT_TRUE(balanced(mode, tagged(udp)));
    EXPECT_FALSE(balanced(mode, arp));
    EXPECT_FALSE(balanced(mode, discovery));
    EXPECT_TRUE(balanced(mode, echo));
    EXPECT_FALSE(balanced(mode, {udp.begin(), udp.begin() + 20})) << "no whole IP header";
    EXPECT_FALSE(balanced(mode, {udp.begin(), udp.begin() + 5}));
  }
  EXPECT_FALSE(balanced(Mode::balance_tlb, group));
  EXPECT_TRUE(balanced(Mode::balance_alb, group)) << "balance-alb looks at the IP address";
  EXPECT_FALSE(balanced(Mode::balance_alb, igmp_frame(0)));
  EXPECT_TRUE(balanced(Mode::balance_tlb, probe));
  EXPECT_FALSE(balanced(Mode::balance_alb, probe));
  std::vector<uint8_t> everybody = udp;
  std::fill(everybody.begin(), everybody.begin() + 6, 0xff);
  EXPECT_FALSE(balanced(Mode::balance_alb, everybody));
}

// By the xor of the destination address's bytes (_simple_hash).
TEST_F(Transmit, AlbChannelsAreDestinationAddresses) {
  RingPorts ports(4);
  const TxTable table = tlb_table(Mode::balance_alb, ports, true);
  EXPECT_EQ(udp_burst(table, ports, 100), 100);
  ports.flush();
  for (unsigned i = 0; i < 4; ++i) {
    for (const auto& frame : ports.sent(i)) {
      EXPECT_EQ(table.channel[frame[30] ^ frame[31] ^ frame[32] ^ frame[33]], i);
    }
  }
}

TEST_F(Transmit, TlbWithNoneActiveTakesNothing) {
  RingPorts ports(2);
  TxTable table = tlb_table(Mode::balance_tlb, ports, true);
  table.active = port::kNoPort;
  EXPECT_EQ(udp_burst(table, ports, 3), 0);
}

constexpr Policy kPolicies[] = {Policy::layer2,  Policy::layer23, Policy::layer34,
                                Policy::encap23, Policy::encap34, Policy::vlan_srcmac};

// Every recorded frame, each policy, each number of members, by both paths: the member that Linux chose.
TEST_F(Transmit, GoldenFramesLeaveByLinuxsMember) {
  struct Column {
    Policy policy;
    Path path;
    std::string file, name;
  };
  std::vector<Column> columns;
  const char* const names[] = {"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"};
  for (const Policy policy : kPolicies) {
    const std::string name = names[static_cast<size_t>(policy)];
    const std::string path = policy == Policy::vlan_srcmac ? "skb:" : "xdp:";
    columns.push_back({policy, Path::xdp, "hash32.csv", path + name});
    columns.push_back({policy, Path::host, "vlandev32.csv", name + "@100"});
  }
  Pool pool(2047);
  for (const Column& c : columns) {
    const Golden golden = read_golden(c.file);
    const size_t column = golden.column(c.name);
    for (unsigned members = 1; members <= kMaxMembers; ++members) {
      RingPorts ports(members);
      TxTable table = table_of(Mode::balance_xor, ports);
      table.policy = c.policy;
      std::vector<std::vector<std::vector<uint8_t>>> expected(members);
      std::vector<rte_mbuf*> pkts;
      for (const auto& row : golden.rows) {
        std::vector<uint8_t> frame = bytes_of(row[1]);
        if (c.path == Path::host) {
          const uint8_t tag[] = {0x81, 0x00, 0x00, 100};
          frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
        }
        if (frame.size() > 1514 + 4) {
          continue;
        }
        pkts.push_back(pool.frame(frame));
        expected[std::stoul(row[column], nullptr, 16) % members].push_back(std::move(frame));
      }
      for (size_t at = 0; at < pkts.size(); at += port::kMaxBurst) {
        const auto n = static_cast<uint16_t>(std::min<size_t>(port::kMaxBurst, pkts.size() - at));
        ASSERT_EQ(transmit(table, &state_, c.path, ports.buffers(), pkts.data() + at, n), n);
      }
      ports.flush();
      for (unsigned i = 0; i < members; ++i) {
        EXPECT_EQ(ports.sent(i), expected[i]) << c.file << " " << c.name << ", member " << i << " of " << members;
      }
    }
  }
}

TEST_F(Transmit, XorSendsEachFrameToHashModuloUsable) {
  for (const Policy policy : kPolicies) {
    for (unsigned members = 1; members <= kMaxMembers; ++members) {
      RingPorts ports(members);
      TxTable table = table_of(Mode::balance_xor, ports);
      table.policy = policy;
      next_ = 0;
      for (const uint16_t n : {128, 1, 32, 33}) {
        EXPECT_EQ(udp_burst(table, ports, n), n);
      }
      const std::vector<unsigned> chosen = choices(ports);
      ASSERT_EQ(chosen.size(), 194u);
      std::set<unsigned> used;
      for (uint32_t serial = 0; serial < chosen.size(); ++serial) {
        const std::vector<uint8_t> frame = udp_frame(serial % 61, serial);
        ASSERT_EQ(chosen[serial], hash(policy, Path::xdp, frame) % members) << members << " members";
        used.insert(chosen[serial]);
      }
      // (The flows' source MACs are 3 apart.)
      const bool can_spread = policy != Policy::vlan_srcmac || members % 3 != 0;
      EXPECT_TRUE(!can_spread || used.size() > members / 2) << "the test's flows spread over the members";
    }
  }
}

TEST_F(Transmit, XorTakesThePathIntoTheHash) {
  RingPorts ports(16);
  TxTable table = table_of(Mode::balance_xor, ports);
  table.policy = Policy::layer34;
  for (const Path path : {Path::xdp, Path::host}) {
    next_ = 0;
    EXPECT_EQ(burst(
                  table, ports, 64, [](uint32_t serial) { return tagged(udp_frame(serial, serial)); }, path),
              64);
    ports.flush();
    for (unsigned i = 0; i < ports.count(); ++i) {
      for (const auto& frame : ports.sent(i)) {
        EXPECT_EQ(hash(Policy::layer34, path, frame) % 16, i);
      }
    }
  }
}

TEST_F(Transmit, XorKeepsTheOrderOfEveryFlow) {
  RingPorts ports(3);
  TxTable table = table_of(Mode::balance_xor, ports);
  table.policy = Policy::layer34;
  const uint16_t sizes[] = {1, 128, 7, 32, 64, 5};
  std::map<uint32_t, uint32_t> last;  // flow, serial
  std::map<uint32_t, unsigned> member_of;
  size_t given = 0, left = 0;
  for (int round = 0; round < 20; ++round) {
    const uint16_t n = sizes[round % 6];
    EXPECT_EQ(udp_burst(table, ports, n), n);
    given += n;
    if (round % 5 == 4) {
      ports.flush();
    }
    for (unsigned i = 0; i < ports.count(); ++i) {
      for (const auto& frame : ports.sent(i)) {
        const uint32_t serial = serial_of(frame);
        const auto [entry, first] = last.try_emplace(serial % 61, serial);
        EXPECT_TRUE(first || entry->second < serial) << "overtaken";
        entry->second = serial;
        EXPECT_EQ(member_of.try_emplace(serial % 61, i).first->second, i) << "a flow on two members";
        ++left;
      }
    }
  }
  EXPECT_EQ(left, given);  // the last round flushed
  EXPECT_EQ(last.size(), 61u);
}

// What a port does not take is freed and counted, and the others are served.
TEST_F(Transmit, FullPortDropsAndCounts) {
  struct Case {
    Mode mode;
    uint32_t per_slave;
  };
  for (const Case c : {Case{Mode::balance_rr, 1}, Case{Mode::balance_rr, 0}, Case{Mode::balance_rr, 40},
                       Case{Mode::active_backup, 1}, Case{Mode::balance_xor, 1}, Case{Mode::ieee8023ad, 1}}) {
    RingPorts ports(2, 64);  // 63 frames each
    TxTable table = table_of(c.mode, ports);
    table.packets_per_slave = c.per_slave;
    table.seal();
    state_ = {};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(udp_burst(table, ports, 128), 128);
    }
    ports.flush();
    uint64_t all = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const port::TxBuffer& buffer = ports.buffer(i);
      const size_t left = ports.sent(i).size();
      EXPECT_EQ(port::read_counter(buffer.sent), left);
      const bool used = c.mode != Mode::active_backup || i == 0;
      EXPECT_EQ(left, used ? 63u : 0u);
      EXPECT_EQ(port::read_counter(buffer.dropped) > 0, used);
      all += buffer.sent + buffer.dropped;
    }
    EXPECT_EQ(all, 512u);
    EXPECT_EQ(pool_.in_use(), 0u) << "every frame is freed";
  }
}

TEST_F(Transmit, DroppedFramesOfManySegmentsAreFreedWhole) {
  RingPorts ports(1, 2);  // one frame
  const TxTable table = table_of(Mode::active_backup, ports);
  std::vector<rte_mbuf*> pkts;
  for (int i = 0; i < 10; ++i) {
    pkts.push_back(pool_.split(udp_frame(0, 0), std::array<size_t, 2>{10, 20}));
  }
  EXPECT_EQ(pool_.in_use(), 30u);
  EXPECT_EQ(transmit(table, &state_, Path::xdp, ports.buffers(), pkts.data(), 10), 10);
  ports.flush();
  EXPECT_EQ(ports.buffer(0).dropped, 9u);
  EXPECT_EQ(pool_.in_use(), 3u);
}

TEST_F(Transmit, SealBoundsTheMembers) {
  TxTable table;
  table.usable = 1000;
  table.seal();
  EXPECT_EQ(table.usable, kMaxMembers);
  table.usable = 0;
  table.seal();
  EXPECT_EQ(table.divide, 0u);
}

TEST(Modulo, EqualsTheRemainder) {
  for (uint32_t d = 1; d <= 64; ++d) {
    const uint64_t magic = modulo_magic(d);
    for (uint64_t x = 0; x <= UINT32_MAX; x += 65521) {
      ASSERT_EQ(modulo(static_cast<uint32_t>(x), magic, d), x % d);
    }
    for (uint32_t x = UINT32_MAX; x > UINT32_MAX - 200; --x) {
      ASSERT_EQ(modulo(x, magic, d), x % d);
    }
  }
}

}  // namespace
}  // namespace xbond::bond::test
