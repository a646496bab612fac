// Bonds in 802.3ad, two of them wired to each other in virtual time: what LACP decides arrives in tables and carrier,
// and is shown with its reasons.
#include <algorithm>

#include "tests/unit/bond/lacp_pair.hpp"
#include "tests/unit/json_schema.hpp"

namespace xbond::bond::test {
namespace {

TEST(Lacp, BothMembersCarryFramesOnceThePartnerIsInSync) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  EXPECT_FALSE(pair.side(0).member_inactive(7));
  EXPECT_TRUE(pair.side(0).member_inactive(0)) << "frames before the partner collects";
  pair.run(10'000);
  for (size_t which : {0, 1}) {
    EXPECT_EQ(pair.told(which), (Ports{0, 1}));
    EXPECT_TRUE(pair.side(which).carrier());
    EXPECT_FALSE(pair.side(which).member_inactive(0));
  }
}

TEST(Lacp, ALinkCutByCarrierLeavesAtOnceAndComesBack) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  pair.carrier(0, false);
  EXPECT_EQ(pair.told(0), (Ports{1}));
  pair.run(1'000);
  EXPECT_EQ(pair.told(1), (Ports{1}));
  pair.carrier(0, true);
  pair.run(10'000);
  EXPECT_EQ(pair.told(0), (Ports{0, 1}));
  EXPECT_EQ(pair.told(1), (Ports{0, 1}));
}

TEST(Lacp, ASilentLinkLeavesAfterThreeFastPeriods) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  pair.silence(0, true);
  pair.run(1'900);
  EXPECT_EQ(pair.told(0), (Ports{0, 1}));
  pair.run(1'300);
  EXPECT_EQ(pair.told(0), (Ports{1}));
  EXPECT_TRUE(std::any_of(pair.log(0).begin(), pair.log(0).end(), [](const std::string& line) {
    return line.starts_with("(slave s0): LACP: carries no frames any more");
  }));
  pair.silence(0, false);
  pair.run(10'000);
  EXPECT_EQ(pair.told(0), (Ports{0, 1}));
}

TEST(Lacp, GoingDownTellsThePartnerFirst) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  (void)pair.side(0).set_up(false, pair.now());
  pair.run(1'100);
  EXPECT_EQ(pair.told(1), (Ports{})) << "no need to wait for a timeout of 3 s";
  EXPECT_FALSE(pair.side(0).farewells_pending());
}

TEST(Lacp, ALeavingMemberTellsThePartnerAndTheSystemIdStays) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  const Mac system = pair.side(0).mac();
  ASSERT_TRUE(pair.side(0).remove_member(0, pair.now()));
  pair.run(500);
  EXPECT_EQ(pair.told(1), (Ports{1}));
  EXPECT_EQ(usable(pair.side(0)), (Ports{1}));
  EXPECT_EQ(pair.side(0).mac(), system);
  EXPECT_NE(pair.side(0).show("x").find("System MAC address: 02:00:00:00:0a:00"), std::string::npos);
}

TEST(Lacp, BelowMinLinksThereIsNoCarrier) {
  Pair pair({{"lacp_rate", "fast"}, {"min_links", "2"}}, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  EXPECT_TRUE(pair.side(0).carrier());
  pair.carrier(1, false);
  EXPECT_FALSE(pair.side(0).carrier());
}

TEST(Lacp, PassiveOnBothSidesSaysNothing) {
  Pair pair({{"lacp_active", "off"}}, {{"lacp_active", "off"}});
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  EXPECT_NE(pair.side(0).lacp_json(pair.now()).find(R"("lacpdu_tx":0)"), std::string::npos);
}

TEST(Lacp, OptionsHaveLinuxRefusals) {
  Bond down = make({{"mode", "802.3ad"}});
  EXPECT_TRUE(down.set_option("lacp_rate", "fast", 0));
  EXPECT_TRUE(down.set_option("ad_actor_system", "02:00:00:00:00:09", 0));
  EXPECT_EQ(down.set_option("ad_actor_system", "01:00:00:00:00:09", 0).error().code, EINVAL);
  EXPECT_EQ(down.set_option("ad_actor_sys_prio", "0", 0).error().text,
            "option ad_actor_sys_prio: invalid value (0), allowed values 1 - 65535");
  down.set_up(true, 0);
  EXPECT_EQ(down.set_option("lacp_rate", "slow", 0).error().text,
            "option lacp_rate: unable to set option because the bond is up");
  EXPECT_TRUE(down.set_option("ad_actor_sys_prio", "7", 0));
  EXPECT_TRUE(down.set_option("min_links", "2", 0));
  Bond other = make({});
  EXPECT_EQ(other.set_option("lacp_rate", "fast", 0).error().text,
            "option lacp_rate: mode dependency failed, not supported in mode balance-rr(0)");
}

TEST(Lacp, TheTableShowsBothSidesAndWhy) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  const std::string table = pair.side(0).show_lacp(pair.now());
  for (const std::string_view part :
       {"bond0: up, carrier, system 02:00:00:00:0a:00 priority 65535, lacp_rate fast, lacp_active on, ad_select stable",
        "aggregator 1, active: 2 ports with a link, key 15, partner 02:00:00:00:0b:00 key 15",
        "exp def dis col syn agg tim act", "  0   0   1   1   1   1   1   1     0   0   1   1   1   1   1   1",
        "s0: receive CURRENT, periodic FAST_PERIODIC, mux COLLECTING_DISTRIBUTING",
        "mux               ATTACHED -> COLLECTING_DISTRIBUTING (partner in sync)"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\nis not in\n" << table;
  }
  EXPECT_TRUE(make({}).show_lacp(0).empty());
}

TEST(Lacp, JsonIsWhatItsSchemaSays) {
  using xbond::test::JsonReader;
  Pair pair(kFast, kFast);
  const auto expect_fits = [&](const std::string& text, const std::string& schema) {
    const auto wanted = JsonReader::read_file((XBOND_TEST_DATA "/schema/" + schema).c_str());
    const auto json = JsonReader::read("[" + text + "]");
    ASSERT_TRUE(wanted);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(xbond::test::mismatch(*json, *wanted), "") << text;
  };
  for (int step = 0; step < 3; ++step) {
    expect_fits(pair.side(0).lacp_json(pair.now()), "show_lacp.json");
    expect_fits(pair.side(0).json(), "show_bond.json");
    if (step == 0) pair.open(0);
    if (step == 1) pair.open(1);
    pair.run(10'000);
  }
}

}  // namespace
}  // namespace xbond::bond::test
