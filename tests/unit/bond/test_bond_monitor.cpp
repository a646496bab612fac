// The link monitor in virtual time.
#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

TEST(LinkDown, FailsOverAtTheEventWithoutADelay) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  const Changes changes = bond.link(0, kDown, 1234);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_EQ(bond.table().active, 1);
  EXPECT_EQ(usable(bond), Ports{1});
  EXPECT_TRUE(changes.table && changes.active_changed);
  EXPECT_FALSE(changes.carrier);
  EXPECT_EQ(changes.log, (Lines{"(slave s0): link status definitely down, disabling slave",
                                "(slave s1): making interface the new active one"}));
  EXPECT_FALSE(bond.next_deadline_ms());
}

TEST(LinkDown, OfTheLastLeavesNone) {
  Bond bond = make_up({{"mode", "1"}}, {kUp});
  const Changes changes = bond.link(0, kDown, 1);
  EXPECT_FALSE(bond.active());
  EXPECT_FALSE(bond.carrier());
  EXPECT_TRUE(changes.table && changes.carrier);
  EXPECT_FALSE(changes.active_changed);
  EXPECT_EQ(changes.log, (Lines{"(slave s0): link status definitely down, disabling slave",
                                "now running without any active interface!"}));
}

TEST(LinkUp, OfTheFirstMakesItActive) {
  Bond bond = make_up({{"mode", "1"}}, {kDown, kDown});
  EXPECT_FALSE(bond.active());
  const Changes changes = bond.link(1, {.up = true, .speed_mbps = 2500, .full_duplex = false}, 1);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_TRUE(changes.table && changes.carrier && changes.active_changed);
  EXPECT_EQ(changes.log, (Lines{"(slave s1): link status definitely up, 2500 Mbps half duplex",
                                "(slave s1): making interface the new active one", "active interface up!"}));
}

TEST(LinkUp, TheSameMemberAgainIsAnnouncedAgain) {
  Bond bond = make_up({{"mode", "1"}}, {kUp});
  bond.link(0, kDown, 1);
  EXPECT_TRUE(bond.link(0, kUp, 2).active_changed);
}

TEST(LinkReports, AreIdempotent) {
  Bond bond = make_up({{"mode", "1"}, {"downdelay", "200"}}, {kUp, kUp});
  bond.link(0, kDown, 10);
  const std::string before = all_of(bond);
  const Changes changes = bond.link(0, kDown, 150);
  EXPECT_TRUE(changes.log.empty());
  EXPECT_FALSE(changes.table);
  EXPECT_EQ(all_of(bond), before) << "a poll must not restart the delay";
}

TEST(LinkReports, SpeedAloneIsNoFlap) {
  Bond bond = make_up({}, {kUp});
  const Changes changes = bond.link(0, {.up = true, .speed_mbps = 100, .full_duplex = true}, 1);
  EXPECT_TRUE(changes.log.empty());
  EXPECT_FALSE(changes.table || changes.carrier);
  EXPECT_NE(bond.show("x").find("Speed: 100 Mbps"), std::string::npos);
}

TEST(DownDelay, KeepsTheActiveMemberUntilItEnds) {
  Bond bond = make_up({{"mode", "1"}, {"downdelay", "300"}}, {kUp, kUp});
  Changes changes = bond.link(0, kDown, 1000);
  EXPECT_EQ(changes.log, Lines{"(slave s0): link status down for active interface, disabling it in 300 ms"});
  EXPECT_FALSE(changes.table);
  EXPECT_EQ(bond.active(), 0);
  EXPECT_EQ(bond.next_deadline_ms(), 1300U);
  EXPECT_TRUE(bond.tick(1299).log.empty());
  EXPECT_EQ(bond.active(), 0);
  changes = bond.tick(1300);
  EXPECT_EQ(changes.log, (Lines{"(slave s0): link status definitely down, disabling slave",
                                "(slave s1): making interface the new active one"}));
  EXPECT_TRUE(changes.table && changes.active_changed);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_FALSE(bond.next_deadline_ms());
}

TEST(DownDelay, RecoveryBeforeItsEnd) {
  Bond bond = make_up({{"mode", "1"}, {"downdelay", "300"}}, {kUp, kUp});
  bond.link(1, kDown, 1000);
  const Changes changes = bond.link(1, kUp, 1120);
  EXPECT_EQ(changes.log, (Lines{"(slave s1): link status up again after 120 ms",
                                "(slave s1): link status definitely up, 10000 Mbps full duplex"}));
  EXPECT_FALSE(bond.next_deadline_ms());
  EXPECT_TRUE(bond.tick(5000).log.empty());
  EXPECT_NE(bond.show("x").find("Link Failure Count: 0\nPermanent HW addr: 02:00:00:00:0a:01"), std::string::npos);
}

TEST(DownDelay, TheWordsForABackupAndForOtherModes) {
  Bond ab = make_up({{"mode", "1"}, {"downdelay", "100"}}, {kUp, kUp});
  EXPECT_EQ(ab.link(1, kDown, 0).log,
            Lines{"(slave s1): link status down for backup interface, disabling it in 100 ms"});
  Bond rr = make_up({{"downdelay", "100"}}, {kUp, kUp});
  EXPECT_EQ(rr.link(1, kDown, 0).log, Lines{"(slave s1): link status down for interface, disabling it in 100 ms"});
}

// As the kernel: bond_slave_can_tx() in round robin looks at the link now, the xor array is rebuilt when the delay
// ends.
TEST(DownDelay, RoundRobinPassesOverAtOnceXorWaits) {
  Bond rr = make_up({{"downdelay", "100"}}, {kUp, kUp});
  EXPECT_TRUE(rr.link(0, kDown, 0).table);
  EXPECT_EQ(usable(rr), Ports{1});
  EXPECT_EQ(rr.table().active, port::kNoPort) << "IGMP must not go to a dead link";
  Bond hash = make_up({{"mode", "2"}, {"downdelay", "100"}}, {kUp, kUp});
  EXPECT_FALSE(hash.link(0, kDown, 0).table);
  EXPECT_EQ(usable(hash), (Ports{0, 1}));
  EXPECT_TRUE(hash.tick(100).table);
  EXPECT_EQ(usable(hash), Ports{1});
}

TEST(UpDelay, TheMemberWaits) {
  Bond bond = make_up({{"updelay", "200"}}, {kUp, kDown});
  Changes changes = bond.link(1, kUp, 500);
  EXPECT_EQ(changes.log, Lines{"(slave s1): link status up, enabling it in 200 ms"});
  EXPECT_FALSE(changes.table);
  EXPECT_EQ(usable(bond), Ports{0});
  EXPECT_EQ(bond.next_deadline_ms(), 700U);
  EXPECT_TRUE(bond.tick(699).log.empty());
  changes = bond.tick(700);
  EXPECT_EQ(changes.log, Lines{"(slave s1): link status definitely up, 10000 Mbps full duplex"});
  EXPECT_TRUE(changes.table);
  EXPECT_EQ(usable(bond), (Ports{0, 1}));
}

TEST(UpDelay, DownAgainBeforeItsEndCountsAsAFailure) {
  Bond bond = make_up({{"updelay", "200"}}, {kUp, kDown});
  bond.link(1, kUp, 500);
  const Changes changes = bond.link(1, kDown, 560);
  EXPECT_EQ(changes.log, (Lines{"(slave s1): link status down again after 60 ms",
                                "(slave s1): link status definitely down, disabling slave"}));
  EXPECT_FALSE(bond.next_deadline_ms());
  EXPECT_NE(bond.show("x").find("Link Failure Count: 1"), std::string::npos);
}

TEST(UpDelay, AppliesToAMemberThatComesWithItsLinkUp) {
  Bond bond = make_up({{"updelay", "200"}}, {kUp});
  EXPECT_EQ(usable(bond), Ports{0}) << "nothing else was usable";
  ASSERT_TRUE(bond.add_member(new_member(1), 1000));
  EXPECT_EQ(usable(bond), Ports{0});
  EXPECT_EQ(bond.next_deadline_ms(), 1200U);
  bond.tick(1200);
  EXPECT_EQ(usable(bond), (Ports{0, 1}));
}

class UpDelayInEachMode : public testing::TestWithParam<const char*> {};

TEST_P(UpDelayInEachMode, IsSkippedWhenNothingUsableIsLeft) {
  Bond bond = make_up({{"mode", GetParam()}, {"updelay", "1000"}}, {kDown, kDown});
  const Changes changes = bond.link(1, kUp, 10);
  EXPECT_EQ(changes.log[0], "(slave s1): link status up, enabling it in 0 ms");
  EXPECT_EQ(changes.log[1], "(slave s1): link status definitely up, 10000 Mbps full duplex");
  EXPECT_EQ(usable(bond), Ports{1});
  EXPECT_TRUE(bond.carrier());
  EXPECT_EQ(bond.link(0, kUp, 20).log, Lines{"(slave s0): link status up, enabling it in 1000 ms"})
      << "only for the first";
}

TEST_P(UpDelayInEachMode, EndsEarlyWhenTheLastOtherGoes) {
  Bond bond = make_up({{"mode", GetParam()}, {"updelay", "1000"}}, {kUp, kDown, kDown});
  bond.link(2, kUp, 100);
  bond.link(1, kUp, 300);
  EXPECT_EQ(usable(bond), Ports{0});
  const Changes changes = bond.link(0, kDown, 400);
  EXPECT_EQ(usable(bond), Ports{2}) << "the one that had waited longest";
  EXPECT_TRUE(bond.carrier());
  EXPECT_FALSE(changes.carrier);
  EXPECT_EQ(bond.active(), 2);
  EXPECT_EQ(bond.next_deadline_ms(), 1300U) << "the other goes on waiting";
  if (bond.mode() == Mode::active_backup) {
    EXPECT_EQ(changes.log.back(), "(slave s2): making interface the new active one 700 ms earlier");
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, UpDelayInEachMode, testing::Values("0", "1", "2"));

TEST(UpDelay, IsSkippedWhileAnotherCountsDown) {
  Bond bond = make_up({{"updelay", "1000"}, {"downdelay", "500"}}, {kUp, kDown});
  bond.link(1, kUp, 0);
  bond.link(0, kDown, 100);
  EXPECT_EQ(usable(bond), Ports{1}) << "round robin can't use s0 any more, so s1 must not wait";
  EXPECT_TRUE(bond.carrier());
}

TEST(Delays, SeveralRunAtOnce) {
  Bond bond = make_up({{"mode", "2"}, {"updelay", "200"}, {"downdelay", "300"}}, {kUp, kUp, kUp, kDown});
  // s1 and s2 waited for s0; let that end first.
  bond.tick(200);
  bond.link(1, kDown, 1000);
  bond.link(3, kUp, 1050);
  bond.link(2, kDown, 1100);
  EXPECT_EQ(bond.next_deadline_ms(), 1250U);
  bond.tick(1250);
  EXPECT_EQ(usable(bond), (Ports{0, 1, 2, 3}));
  EXPECT_EQ(bond.next_deadline_ms(), 1300U);
  bond.tick(1300);
  EXPECT_EQ(usable(bond), (Ports{0, 2, 3}));
  EXPECT_EQ(bond.next_deadline_ms(), 1400U);
  bond.tick(100000);  // late
  EXPECT_EQ(usable(bond), (Ports{0, 3}));
  EXPECT_FALSE(bond.next_deadline_ms());
}

TEST(Delays, TimeThatGoesBackOrToItsEndDoesNoHarm) {
  Bond bond = make_up({{"mode", "1"}, {"downdelay", "maxval"}}, {kUp, kUp});
  bond.link(0, kDown, UINT64_MAX - 5);
  EXPECT_EQ(bond.next_deadline_ms(), UINT64_MAX);
  EXPECT_TRUE(bond.tick(0).log.empty());
  EXPECT_EQ(bond.link(0, kUp, 0).log[0], "(slave s0): link status up again after 0 ms");
}

TEST(Flaps, AreCountedEach) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  uint64_t now = 0;
  for (int flap = 0; flap < 1000; ++flap) {
    bond.link(0, kDown, ++now);
    ASSERT_EQ(bond.active(), 1);
    bond.link(0, kUp, ++now);
    ASSERT_EQ(bond.active(), 1) << "equals do not take over";
  }
  EXPECT_NE(bond.show("x").find("Link Failure Count: 1000\nPermanent HW addr: 02:00:00:00:0a:00"), std::string::npos);
  EXPECT_NE(bond.show("x").find("Link Failure Count: 0\nPermanent HW addr: 02:00:00:00:0a:01"), std::string::npos);
}

TEST(Flaps, ShorterThanDowndelayGoUnnoticed) {
  Bond bond = make_up({{"mode", "1"}, {"downdelay", "100"}}, {kUp, kUp});
  for (uint64_t now = 1000; now < 10000; now += 150) {
    bond.link(0, kDown, now);
    bond.tick(now + 99);
    bond.link(0, kUp, now + 99);
    ASSERT_EQ(bond.active(), 0);
    ASSERT_TRUE(bond.carrier());
  }
  EXPECT_EQ(bond.show("x").find("Link Failure Count: 1"), std::string::npos);
}

TEST(MiimonOff, MembersCountAsUp) {
  Bond ab = make_up({{"mode", "1"}, {"miimon", "0"}}, {kDown, kUp});
  EXPECT_EQ(ab.active(), 0);
  EXPECT_TRUE(ab.link(1, kDown, 1).log.empty());
  EXPECT_EQ(ab.active(), 0);
  EXPECT_TRUE(ab.carrier());
  EXPECT_FALSE(ab.next_deadline_ms());
}

TEST(MiimonOff, RoundRobinStillPassesOverDeadLinks) {
  Bond rr = make_up({{"miimon", "0"}}, {kUp, kUp});
  const Changes changes = rr.link(0, kDown, 1);
  EXPECT_TRUE(changes.table);
  EXPECT_EQ(usable(rr), Ports{1});
  rr.link(1, kDown, 2);
  EXPECT_TRUE(usable(rr).empty());
  EXPECT_FALSE(rr.carrier());
}

TEST(MiimonOff, TurningItOnLooksAtOnce) {
  Bond bond = make_up({{"mode", "1"}, {"miimon", "0"}}, {kDown, kUp});
  const auto changes = bond.set_option("miimon", "100", 5);
  ASSERT_TRUE(changes);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_TRUE(changes->active_changed);
}

TEST(MiimonOff, FreezesADelay) {
  Bond bond = make_up({{"mode", "1"}, {"downdelay", "100"}}, {kUp, kUp});
  bond.link(0, kDown, 0);
  set(bond, "miimon", "0", 50);
  EXPECT_FALSE(bond.next_deadline_ms());
  bond.tick(1000);
  EXPECT_EQ(bond.active(), 0);
  set(bond, "miimon", "100", 2000);
  EXPECT_EQ(bond.active(), 1);
}

TEST(MonitorWhileDown, RestsAndCatchesUp) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  bond.set_up(false, 10);
  EXPECT_TRUE(bond.link(0, kDown, 20).log.empty());
  EXPECT_EQ(bond.active(), 0);
  const Changes changes = bond.set_up(true, 30);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_TRUE(changes.table && changes.active_changed && changes.carrier);
  EXPECT_EQ(changes.log[0], "(slave s0): link status definitely down, disabling slave");
}

}  // namespace
}  // namespace xbond::bond::test
