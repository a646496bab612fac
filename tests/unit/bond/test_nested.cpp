// Bonds under bonds on the packet path: frames leave by the ports that both modes name, in order, each once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/bond/hash.hpp"
#include "lib/bond/transmit.hpp"
#include "tests/unit/bond/ring_ports.hpp"

namespace xbond::bond::test {
namespace {

constexpr uint8_t kOuter = 0, kLeft = 1, kRight = 2;

TxTable table_of(uint8_t index, Mode mode, std::vector<uint16_t> members) {
  TxTable table;
  table.mode = mode;
  table.policy = Policy::layer34;
  table.bond_index = index;
  table.usable = static_cast<uint16_t>(members.size());
  std::copy(members.begin(), members.end(), table.port.begin());
  for (uint16_t i = 0; i < table.usable; ++i) {
    table.mac[i] = {2, 0, 0, 0, index, static_cast<uint8_t>(i)};
  }
  table.active = members.empty() ? port::kNoPort : members[0];
  table.seal();
  return table;
}

void nest(TxTable& outer, uint16_t member, const TxTable& inner) {
  outer.inner[member] = &inner;
  outer.nested = true;
}

class Nested : public testing::Test {
 protected:
  static void SetUpTestSuite() { start_eal(); }

  uint16_t send(const TxTable& table, uint16_t n, unsigned flows = 61) {
    std::vector<rte_mbuf*> pkts;
    for (uint16_t i = 0; i < n; ++i, ++serial_) {
      pkts.push_back(pool_.frame(udp_frame(serial_ % flows, serial_)));
    }
    const uint16_t taken = transmit(table, states_.data(), Path::host, ports_.buffers(), pkts.data(), n);
    if (taken == 0) {
      rte_pktmbuf_free_bulk(pkts.data(), n);
    }
    for (uint16_t id = RTE_MAX_ETHPORTS; id < kMemberIds; ++id) {
      EXPECT_EQ(ports_.buffers()[id].count, 0) << "a bond's buffer is nobody's to flush";
    }
    return taken;
  }
  // By port: the serial numbers that left.
  std::vector<std::vector<uint32_t>> left() {
    ports_.flush();
    std::vector<std::vector<uint32_t>> all;
    for (unsigned i = 0; i < ports_.count(); ++i) {
      std::vector<uint32_t>& serials = all.emplace_back();
      for (const auto& frame : ports_.sent(i)) {
        serials.push_back(serial_of(frame));
      }
    }
    return all;
  }

  Pool pool_;
  RingPorts ports_{4};
  std::array<LcoreState, kMaxBonds> states_{};
  uint32_t serial_ = 0;
};

// Two inner bonds of two ports, by every pair of modes: nothing is lost, nothing is doubled but by broadcast, and a
// flow stays in order.
TEST_F(Nested, EveryPairOfModes) {
  constexpr Mode kModes[] = {Mode::balance_rr, Mode::active_backup, Mode::balance_xor, Mode::broadcast,
                             Mode::ieee8023ad, Mode::balance_tlb,   Mode::balance_alb};
  for (const Mode outer_mode : kModes) {
    for (const Mode inner_mode : kModes) {
      const TxTable left_table = table_of(kLeft, inner_mode, {ports_.id(0), ports_.id(1)});
      const TxTable right_table = table_of(kRight, inner_mode, {ports_.id(2), ports_.id(3)});
      TxTable outer = table_of(kOuter, outer_mode, {member_id(kLeft), member_id(kRight)});
      nest(outer, 0, left_table);
      nest(outer, 1, right_table);
      const uint32_t first = serial_;
      for (const uint16_t n : {1, 31, 32, 33, 128, 5}) {
        ASSERT_EQ(send(outer, n), n);
      }
      std::map<uint32_t, unsigned> copies;
      for (const auto& serials : left()) {
        std::map<uint32_t, uint32_t> last;  // by flow
        for (const uint32_t serial : serials) {
          ++copies[serial];
          const auto [entry, fresh] = last.try_emplace(serial % 61, serial);
          EXPECT_TRUE(fresh || entry->second < serial) << "overtaken";
          entry->second = serial;
        }
      }
      const unsigned wanted = (outer_mode == Mode::broadcast ? 2U : 1U) * (inner_mode == Mode::broadcast ? 2U : 1U);
      ASSERT_EQ(copies.size(), serial_ - first);
      EXPECT_TRUE(std::all_of(copies.begin(), copies.end(), [&](const auto& c) { return c.second == wanted; }));
      ASSERT_EQ(pool_.in_use(), 0U);
    }
  }
}

TEST_F(Nested, BothHashesDecide) {
  const TxTable inner = table_of(kLeft, Mode::balance_xor, {ports_.id(0), ports_.id(1), ports_.id(2)});
  TxTable outer = table_of(kOuter, Mode::balance_xor, {member_id(kLeft), ports_.id(3)});
  outer.policy = Policy::layer2;
  outer.seal();
  nest(outer, 0, inner);
  send(outer, 128);
  const auto all = left();
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_FALSE(all[i].empty());
    for (const uint32_t serial : all[i]) {
      const auto frame = udp_frame(serial % 61, serial);
      const bool by_port = hash(Policy::layer2, Path::host, frame) % 2 == 1;
      EXPECT_EQ(i, by_port ? 3U : hash(Policy::layer34, Path::host, frame) % 3);
    }
  }
}

TEST_F(Nested, RoundRobinTakesTurnsOnEachLevel) {
  const TxTable inner = table_of(kLeft, Mode::balance_rr, {ports_.id(0), ports_.id(1)});
  TxTable outer = table_of(kOuter, Mode::balance_rr, {member_id(kLeft), ports_.id(2)});
  nest(outer, 0, inner);
  for (const uint16_t n : {1, 2, 61, 128}) {
    send(outer, n);
  }
  const auto all = left();
  EXPECT_EQ(all[0].size(), 48U);
  EXPECT_EQ(all[1].size(), 48U);
  EXPECT_EQ(all[2].size(), 96U);
}

TEST_F(Nested, AnInnerBondWithoutMembersDropsItsShareAndCounts) {
  const TxTable none = table_of(kLeft, Mode::balance_xor, {});
  TxTable outer = table_of(kOuter, Mode::balance_rr, {member_id(kLeft), ports_.id(0)});
  nest(outer, 0, none);
  EXPECT_EQ(send(outer, 100), 100);
  EXPECT_EQ(left()[0].size(), 50U);
  EXPECT_EQ(port::read_counter(ports_.buffers()[member_id(kLeft)].dropped), 50U);
  EXPECT_EQ(pool_.in_use(), 0U);
  TxTable nobody = table_of(kOuter, Mode::active_backup, {});
  nobody.nested = true;
  EXPECT_EQ(send(nobody, 3), 0);
}

TEST_F(Nested, AsDeepAsLinuxAllows) {
  std::vector<TxTable> chain;
  chain.reserve(kMaxLevels);
  chain.push_back(table_of(1, Mode::balance_xor, {ports_.id(0), ports_.id(1)}));
  for (uint8_t index = 2; index < kMaxLevels; ++index) {
    chain.push_back(table_of(index, Mode::balance_xor, {member_id(static_cast<uint8_t>(index - 1))}));
    nest(chain.back(), 0, chain[index - 2U]);
  }
  EXPECT_EQ(send(chain.back(), 128), 128);
  const auto all = left();
  EXPECT_EQ(all[0].size() + all[1].size(), 128U);
  EXPECT_FALSE(all[0].empty() || all[1].empty());
}

// Under broadcast two bonds send one frame: the source that one writes into it must not appear at the other.
TEST_F(Nested, SharedFramesKeepTheirSource) {
  TxTable tlb = table_of(kLeft, Mode::balance_tlb, {ports_.id(0), ports_.id(1)});
  const TxTable single = table_of(kRight, Mode::active_backup, {ports_.id(2)});
  TxTable outer = table_of(kOuter, Mode::broadcast, {member_id(kLeft), member_id(kRight)});
  nest(outer, 0, tlb);
  nest(outer, 1, single);
  send(outer, 64);
  ports_.flush();
  const auto source = [](const std::vector<uint8_t>& frame) {
    return std::array<uint8_t, 6>{frame[6], frame[7], frame[8], frame[9], frame[10], frame[11]};
  };
  const auto by_second = ports_.sent(1);
  EXPECT_FALSE(by_second.empty());
  for (const auto& frame : by_second) {
    EXPECT_EQ(source(frame), tlb.mac[1]);
  }
  const auto by_other = ports_.sent(2);
  ASSERT_EQ(by_other.size(), 64U);
  for (const auto& frame : by_other) {
    const uint32_t serial = serial_of(frame);
    EXPECT_EQ(source(frame), source(udp_frame(serial % 61, serial)));
  }
}

}  // namespace
}  // namespace xbond::bond::test
