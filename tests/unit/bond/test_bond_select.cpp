// Who becomes the active member: primary, primary_reselect, prio, active_slave.
#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

constexpr LinkReport kFast{.up = true, .speed_mbps = 25000, .full_duplex = true};
constexpr LinkReport kHalf{.up = true, .speed_mbps = 10000, .full_duplex = false};
constexpr LinkReport kUnknown{.up = true, .speed_mbps = UINT32_MAX, .full_duplex = true};

void prio(Bond& bond, uint16_t port, const char* value) {
  const auto ok = bond.set_member_option(port, "prio", value, 0);
  ASSERT_TRUE(ok) << ok.error().text;
}

TEST(Selection, TheFirstUsableAndItStays) {
  for (const char* mode : {"0", "1", "2"}) {
    Bond bond = make_up({{"mode", mode}}, {kDown, kUp, kUp});
    EXPECT_EQ(bond.active(), 1) << mode;
    bond.link(0, kUp, 1);
    EXPECT_EQ(bond.active(), 1) << mode;
    bond.link(1, kDown, 2);
    EXPECT_EQ(bond.active(), 0) << mode;
    bond.link(1, kUp, 3);
    EXPECT_EQ(bond.active(), 0) << mode;
  }
}

TEST(Selection, TheActiveOneLeaves) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kDown, kUp});
  ASSERT_TRUE(bond.remove_member(0, 0));
  EXPECT_EQ(bond.active(), 2);
  ASSERT_TRUE(bond.remove_member(2, 0));
  EXPECT_FALSE(bond.active());
}

TEST(Primary, TakesOverWhenSet) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  const auto changes = bond.set_option("primary", "s1", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_TRUE(changes->active_changed && changes->table);
}

TEST(Primary, SetTakesOverWhateverReselectSays) {
  Bond bond = make_up({{"mode", "1"}, {"primary_reselect", "failure"}}, {kUp, kUp});
  set(bond, "primary", "s1");
  EXPECT_EQ(bond.active(), 1);
  set(bond, "primary", "s0");
  EXPECT_EQ(bond.active(), 0);
}

TEST(Primary, BeforeItIsAMember) {
  Bond bond = make_up({{"mode", "1"}, {"primary_reselect", "failure"}}, {kUp});
  const auto changes = bond.set_option("primary", "s1", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, Lines{"Recording s1 as primary, but it has not been enslaved yet"});
  EXPECT_EQ(bond.active(), 0);
  ASSERT_TRUE(bond.add_member(new_member(1), 0));
  EXPECT_EQ(bond.active(), 1) << "enslaving the primary makes it active whatever reselect says";
  ASSERT_TRUE(bond.remove_member(1, 0));
  EXPECT_EQ(bond.active(), 0);
  ASSERT_TRUE(bond.add_member(new_member(1), 0));
  EXPECT_EQ(bond.active(), 1) << "the name was kept";
}

TEST(Primary, Cleared) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  set(bond, "primary", "s1");
  set(bond, "primary", "");
  // As Linux: without a primary the first of the greatest priority is preferred, and primary_reselect is `always`.
  EXPECT_EQ(bond.active(), 0);
  bond.link(0, kDown, 1);
  bond.link(0, kUp, 2);
  EXPECT_EQ(bond.active(), 1) << "s0 is no primary and no better";
}

// What happens when a primary that was down comes back.
std::optional<uint16_t> after_return(const char* reselect, LinkReport primary, LinkReport other) {
  Bond bond = make_up({{"mode", "1"}, {"primary", "s0"}, {"primary_reselect", reselect}}, {primary, other});
  EXPECT_EQ(bond.active(), 0);
  bond.link(0, kDown, 1);
  EXPECT_EQ(bond.active(), 1);
  bond.link(0, primary, 2);
  return bond.active();
}

TEST(PrimaryReselect, Always) {
  EXPECT_EQ(after_return("always", kUp, kUp), 0);
  EXPECT_EQ(after_return("always", kHalf, kFast), 0);
}

TEST(PrimaryReselect, BetterBySpeedThenDuplex) {
  EXPECT_EQ(after_return("better", kUp, kUp), 1);
  EXPECT_EQ(after_return("better", kFast, kUp), 0);
  EXPECT_EQ(after_return("better", kUp, kFast), 1);
  EXPECT_EQ(after_return("better", kUp, kHalf), 0);
  EXPECT_EQ(after_return("better", kHalf, kUp), 1);
  EXPECT_EQ(after_return("better", kUp, kUnknown), 0);
  EXPECT_EQ(after_return("better", kUnknown, kUp), 1);
}

TEST(PrimaryReselect, FailureOnlyWhenTheActiveOneFails) {
  EXPECT_EQ(after_return("failure", kFast, kUp), 1);
  Bond bond = make_up({{"mode", "1"}, {"primary", "s1"}, {"primary_reselect", "failure"}}, {kUp, kUp, kUp});
  EXPECT_EQ(bond.active(), 1);
  bond.link(1, kDown, 1);
  EXPECT_EQ(bond.active(), 0);
  bond.link(1, kUp, 2);
  EXPECT_EQ(bond.active(), 0);
  bond.link(0, kDown, 3);
  EXPECT_EQ(bond.active(), 1) << "the primary before s2";
}

TEST(PrimaryReselect, DoesNotHinderThePrimarysFirstLink) {
  Bond bond = make_up({{"mode", "1"}, {"primary", "s1"}, {"primary_reselect", "failure"}}, {kUp, kDown});
  EXPECT_EQ(bond.active(), 0);
  bond.link(1, kUp, 1);
  EXPECT_EQ(bond.active(), 1) << "as Linux: it was enslaved with its link down";
}

TEST(PrimaryReselect, AChangeIsActedOnAtOnce) {
  Bond bond = make_up({{"mode", "1"}, {"primary", "s0"}, {"primary_reselect", "failure"}}, {kUp, kUp});
  bond.link(0, kDown, 1);
  bond.link(0, kUp, 2);
  EXPECT_EQ(bond.active(), 1);
  const auto changes = bond.set_option("primary_reselect", "always", 3);
  ASSERT_TRUE(changes);
  EXPECT_EQ(bond.active(), 0);
  EXPECT_TRUE(changes->active_changed);
}

TEST(Prio, TheGreatestTakesOverAtOnce) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp, kUp});
  prio(bond, 2, "10");
  EXPECT_EQ(bond.active(), 2);
  prio(bond, 1, "20");
  EXPECT_EQ(bond.active(), 1);
  bond.link(1, kDown, 1);
  EXPECT_EQ(bond.active(), 2);
  bond.link(1, kUp, 2);
  EXPECT_EQ(bond.active(), 1);
}

TEST(Prio, CanBeNegative) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  prio(bond, 0, "-1");
  EXPECT_EQ(bond.active(), 1);
  bond.link(1, kDown, 1);
  EXPECT_EQ(bond.active(), 0);
  bond.link(1, kUp, 2);
  EXPECT_EQ(bond.active(), 1);
}

TEST(Prio, EqualsStay) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  prio(bond, 0, "5");
  prio(bond, 1, "5");
  bond.link(0, kDown, 1);
  bond.link(0, kUp, 2);
  EXPECT_EQ(bond.active(), 1);
}

TEST(Prio, FollowsPrimaryReselect) {
  Bond bond = make_up({{"mode", "1"}, {"primary_reselect", "failure"}}, {kUp, kUp});
  prio(bond, 1, "10");
  EXPECT_EQ(bond.active(), 0);
  bond.link(0, kDown, 1);
  EXPECT_EQ(bond.active(), 1);
}

TEST(Prio, YieldsToAPrimary) {
  Bond bond = make_up({{"mode", "1"}, {"primary", "s0"}}, {kUp, kUp, kUp});
  const auto changes = bond.set_member_option(1, "prio", "10", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log,
            Lines{"(slave s1): prio updated, but will not affect failover re-selection as primary slave have "
                  "been set"});
  EXPECT_EQ(bond.active(), 0);
  prio(bond, 2, "20");
  bond.link(0, kDown, 1);
  EXPECT_EQ(bond.active(), 2) << "while the primary is down, priorities count";
  bond.link(0, kUp, 2);
  EXPECT_EQ(bond.active(), 0);
}

TEST(ActiveSlave, CanBeSetByHand) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp, kDown});
  auto changes = bond.set_option("active_slave", "s1", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_TRUE(changes->active_changed && changes->table);
  EXPECT_EQ(changes->log, Lines{"(slave s1): making interface the new active one"});
  EXPECT_TRUE(bond.member_inactive(0));
  EXPECT_FALSE(bond.member_inactive(1));
  changes = bond.set_option("active_slave", "s1", 0);
  ASSERT_TRUE(changes);
  EXPECT_FALSE(changes->active_changed || changes->table);
  EXPECT_EQ(refusal(bond, "active_slave", "s2", EINVAL),
            "option active_slave: (slave s2): Could not set as active slave; either s2 is down or the link is down");
  EXPECT_EQ(refusal(bond, "active_slave", "eth0", EINVAL),
            "option active_slave: (slave eth0): Device is not our slave");
}

TEST(ActiveSlave, Cleared) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  set(bond, "active_slave", "s1");
  set(bond, "active_slave", "default");
  EXPECT_EQ(bond.active(), 0);
}

TEST(ActiveSlave, NotAMemberThatWaits) {
  Bond bond = make_up({{"mode", "1"}, {"updelay", "100"}, {"downdelay", "100"}}, {kUp, kUp, kDown});
  bond.tick(100);
  bond.link(2, kUp, 200);
  EXPECT_NE(refusal(bond, "active_slave", "s2", EINVAL), "") << "updelay runs";
  bond.link(1, kDown, 200);
  EXPECT_NE(refusal(bond, "active_slave", "s1", EINVAL), "") << "downdelay runs";
}

}  // namespace
}  // namespace xbond::bond::test
