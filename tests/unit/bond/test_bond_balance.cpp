// balance-tlb and balance-alb: channels follow the measured load; MAC addresses follow the active member.
#include <map>

#include "lib/bond/channels.hpp"
#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

using Totals = std::array<uint64_t, kChannels>;

std::map<uint16_t, uint64_t> load_of(const TxTable& table, const Totals& bytes) {
  std::map<uint16_t, uint64_t> load;
  for (uint32_t i = 0; i < kChannels; ++i) load[table.port[table.channel[i]]] += bytes[i];
  return load;
}

TEST(Balance, ChannelsSpreadEvenlyBeforeAnythingIsMeasured) {
  const Bond bond = make_up({{"mode", "balance-tlb"}}, {kUp, kUp, kUp, kUp});
  Totals one{};
  one.fill(1);
  for (const auto& [port, channels] : load_of(bond.table(), one)) EXPECT_EQ(channels, 64U) << port;
  EXPECT_TRUE(bond.table().dynamic);
}

TEST(Balance, TheBusiestChannelsAreParted) {
  Bond bond = make_up({{"mode", "balance-tlb"}}, {kUp, kUp});
  EXPECT_TRUE(bond.wants_load(0));
  bond.tick(0);
  EXPECT_FALSE(bond.wants_load(9999));
  EXPECT_TRUE(bond.wants_load(10000));
  Totals bytes{};
  // All the load is on channels that one member has now.
  const TxTable before = bond.table();
  for (uint32_t i = 0, n = 0; i < kChannels && n < 8; ++i) {
    if (before.channel[i] == 0) bytes[i] = (++n) * 10'000'000;
  }
  bond.measured(bytes, 0);
  const Changes changes = bond.tick(10000);
  EXPECT_TRUE(changes.table);
  const auto load = load_of(bond.table(), bytes);
  ASSERT_EQ(load.size(), 2U);
  EXPECT_LT(std::max(load.at(0), load.at(1)), 200'000'000U) << "of 360 million bytes";
}

TEST(Balance, SpeedAndUnbalancedTrafficCount) {
  const LinkReport slow{.up = true, .speed_mbps = 1000, .full_duplex = true};
  Bond bond = make_up({{"mode", "balance-tlb"}}, {kUp, slow});
  Totals bytes{};
  bytes.fill(1'000'000);
  bond.measured(bytes, 0);
  bond.tick(0);
  EXPECT_EQ(load_of(bond.table(), bytes).count(1), 0U) << "ten times slower, and the fast one has room";
  Bond equal = make_up({{"mode", "balance-tlb"}}, {kUp, kUp});
  equal.measured(bytes, 256'000'000);  // by the active member, as much as all channels
  equal.tick(0);
  const auto load = load_of(equal.table(), bytes);
  EXPECT_EQ(load.count(0) != 0 ? load.at(0) : 0, 0U);
}

TEST(Balance, AMemberThatLeavesHasHeirsAndOthersKeepTheirs) {
  Bond bond = make_up({{"mode", "balance-tlb"}}, {kUp, kUp, kUp});
  const TxTable before = bond.table();
  EXPECT_TRUE(bond.link(1, kDown, 50).table);
  const TxTable after = bond.table();
  ASSERT_EQ(after.usable, 2);
  size_t moved = 0;
  for (uint32_t i = 0; i < kChannels; ++i) {
    const uint16_t had = before.port[before.channel[i]];
    const uint16_t has = after.port[after.channel[i]];
    EXPECT_NE(has, 1);
    if (had != 1) {
      EXPECT_EQ(has, had) << "channel " << i;
    } else {
      ++moved;
    }
  }
  EXPECT_GT(moved, 60U);
  bond.link(1, kUp, 60);
  Totals one{};
  one.fill(1);
  EXPECT_GT(load_of(bond.table(), one).at(1), 60U) << "and gets its share back";
}

TEST(Balance, WithoutDynamicNothingIsMeasured) {
  Bond bond = make_up({{"mode", "balance-tlb"}, {"tlb_dynamic_lb", "0"}}, {kUp, kUp});
  EXPECT_FALSE(bond.wants_load(100000));
  EXPECT_FALSE(bond.table().dynamic);
}

TEST(Balance, LearningPacketsEachLpInterval) {
  Bond bond = make_up({{"mode", "balance-alb"}, {"lp_interval", "3"}}, {kUp, kUp});
  bond.tick(0);
  EXPECT_FALSE(bond.tick(2999).learn);
  EXPECT_TRUE(bond.tick(3000).learn);
  EXPECT_FALSE(bond.tick(3001).learn);
  EXPECT_TRUE(bond.link(0, kDown, 3100).learn) << "a new active member";
  EXPECT_EQ(bond.active(), 1);
}

TEST(Balance, InDowndelayTheNextOneStepsIn) {
  Bond bond = make_up({{"mode", "balance-tlb"}, {"downdelay", "500"}}, {kUp, kUp});
  bond.link(0, kDown, 10);
  EXPECT_EQ(bond.active(), 0);
  EXPECT_EQ(usable(bond), Ports{1});
  EXPECT_EQ(bond.table().active, 1);
}

Mac carried(const Bond& bond, uint16_t port) {
  return bond.member_mac(port);
}

TEST(Macs, MembersCarryTheBonds) {
  for (const char* mode : {"0", "1", "2", "3"}) {
    Bond bond = make_up({{"mode", mode}}, {kUp, kUp});
    EXPECT_EQ(carried(bond, 1), mac_of(0)) << mode;
    bond.link(0, kDown, 1);
    EXPECT_EQ(carried(bond, 0), mac_of(0));
    const Mac other{2, 9, 9, 9, 9, 9};
    const auto changes = bond.set_mac(other, 0);
    ASSERT_TRUE(changes);
    EXPECT_TRUE(changes->macs);
    EXPECT_EQ(carried(bond, 1), other);
  }
}

TEST(Macs, FailOverMacActiveTheBondCarriesTheirs) {
  Bond bond = make_up({{"mode", "1"}, {"fail_over_mac", "active"}}, {kUp, kUp});
  EXPECT_EQ(bond.mac(), mac_of(0));
  EXPECT_EQ(carried(bond, 1), mac_of(1));
  const Changes changes = bond.link(0, kDown, 1);
  EXPECT_TRUE(changes.macs);
  EXPECT_TRUE(changes.active_changed);
  EXPECT_EQ(bond.mac(), mac_of(1));
  EXPECT_EQ(carried(bond, 0), mac_of(0));
  ASSERT_TRUE(bond.set_mac({2, 9, 9, 9, 9, 9}, 0));
  EXPECT_EQ(bond.mac(), mac_of(1)) << "Linux takes it and does nothing";
  EXPECT_NE(bond.show("x").find("(active-backup) (fail_over_mac active)\n"), std::string::npos);
}

TEST(Macs, FollowAndTheLoadBalancingModesSwap) {
  for (const Options& options :
       {Options{{"mode", "1"}, {"fail_over_mac", "follow"}}, Options{{"mode", "5"}}, Options{{"mode", "6"}}}) {
    Bond bond = make_up(options, {kUp, kUp, kUp});
    EXPECT_EQ(carried(bond, 0), mac_of(0));
    EXPECT_EQ(carried(bond, 1), mac_of(1));
    EXPECT_TRUE(bond.link(0, kDown, 1).macs);
    EXPECT_EQ(bond.mac(), mac_of(0)) << "the bond's stays";
    EXPECT_EQ(bond.active(), 1);
    EXPECT_EQ(carried(bond, 1), mac_of(0));
    EXPECT_EQ(carried(bond, 0), mac_of(1));
    ASSERT_TRUE(bond.remove_member(1, 2));
    EXPECT_EQ(bond.active(), 2);
    EXPECT_EQ(carried(bond, 2), mac_of(0));
    EXPECT_EQ(carried(bond, 0), mac_of(1));
  }
}

TEST(Rejoin, WhereTheActiveMemberMatters) {
  for (const auto& [mode, rejoins] :
       {std::pair{"0", true}, std::pair{"1", true}, std::pair{"2", false}, std::pair{"5", true}}) {
    Bond bond = make_up({{"mode", mode}}, {kUp, kUp});
    EXPECT_EQ(bond.link(0, kDown, 1).rejoin, rejoins) << mode;
  }
}

}  // namespace
}  // namespace xbond::bond::test
