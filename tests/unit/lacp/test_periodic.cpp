// Every transition of the periodic machine, and its grid.
#include <gtest/gtest.h>

#include "lib/lacp/periodic_machine.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

constexpr Time kNow = 1000 * kSecond;

Port port_in(PeriodicState wanted) {
  Port port = fresh_port();
  if (wanted == PeriodicState::no_periodic) return port;
  port.actor.set(kDefaulted, false);
  port.partner.set(kTimeout, wanted == PeriodicState::fast);
  periodic_step(port, kNow - kFastPeriod);
  periodic_step(port, kNow);
  port.ntt = false;
  EXPECT_EQ(port.periodic, wanted);
  return port;
}

TEST(PeriodicMachine, StartsFastWhenEitherSideIsActive) {
  for (bool actor : {false, true}) {
    for (bool partner : {false, true}) {
      Port port = fresh_port();
      port.actor.set(kActivity, actor);
      port.partner.set(kActivity, partner);
      periodic_step(port, kNow);
      EXPECT_EQ(port.periodic, actor || partner ? PeriodicState::fast : PeriodicState::no_periodic);
      EXPECT_EQ(port.periodic_due, actor || partner ? kNow + kFastPeriod : kNever);
      EXPECT_FALSE(port.ntt);
    }
  }
}

TEST(PeriodicMachine, StopsFromEveryStateWhenThereIsNothingToSay) {
  for (PeriodicState from : {PeriodicState::no_periodic, PeriodicState::fast, PeriodicState::slow}) {
    for (int why = 0; why < 4; ++why) {
      Port port = port_in(from);
      if (why == 0) port.begin = true;
      if (why == 1) port.enabled = false;
      if (why == 2) port.lacp_enabled = false;
      if (why == 3) port.actor.set(kActivity, false);
      periodic_step(port, kNow + kSlowPeriod);
      EXPECT_EQ(port.periodic, PeriodicState::no_periodic);
      EXPECT_EQ(port.periodic_due, kNever);
      EXPECT_FALSE(port.ntt);
    }
  }
}

TEST(PeriodicMachine, FastSendsEachSecondAndStaysFast) {
  Port port = port_in(PeriodicState::fast);
  for (int i = 1; i < 100; ++i) {
    const Time due = kNow + static_cast<Time>(i) * kFastPeriod;
    EXPECT_EQ(port.periodic_due, due);
    periodic_step(port, due - 1);
    EXPECT_FALSE(port.ntt);
    periodic_step(port, due);
    EXPECT_TRUE(port.ntt);
    EXPECT_EQ(port.periodic, PeriodicState::fast);
    port.ntt = false;
  }
}

TEST(PeriodicMachine, SlowSendsEachThirtySeconds) {
  Port port = port_in(PeriodicState::slow);
  EXPECT_EQ(port.periodic_due, kNow + kSlowPeriod);
  periodic_step(port, kNow + kSlowPeriod - 1);
  EXPECT_FALSE(port.ntt);
  periodic_step(port, kNow + kSlowPeriod);
  EXPECT_TRUE(port.ntt);
  EXPECT_EQ(port.periodic, PeriodicState::slow);
  EXPECT_EQ(port.periodic_due, kNow + 2 * kSlowPeriod);
}

TEST(PeriodicMachine, SlowToFastSendsAtOnce) {
  Port port = port_in(PeriodicState::slow);
  port.partner.set(kTimeout, true);
  periodic_step(port, kNow + kSecond);
  EXPECT_TRUE(port.ntt);
  EXPECT_EQ(port.periodic, PeriodicState::fast);
  EXPECT_EQ(port.periodic_due, kNow + kSecond + kFastPeriod);
}

TEST(PeriodicMachine, FastToSlowAfterOneMorePdu) {
  Port port = port_in(PeriodicState::fast);
  port.partner.set(kTimeout, false);
  periodic_step(port, kNow + kFastPeriod / 2);
  EXPECT_EQ(port.periodic, PeriodicState::fast);
  EXPECT_FALSE(port.ntt);
  periodic_step(port, kNow + kFastPeriod);
  EXPECT_EQ(port.periodic, PeriodicState::slow);
  EXPECT_TRUE(port.ntt);
  EXPECT_EQ(port.periodic_due, kNow + kFastPeriod + kSlowPeriod);
}

TEST(PeriodicMachine, FastToSlowWithoutOneWhenThePartnerIsGone) {
  Port port = port_in(PeriodicState::fast);
  port.partner = kDefaultPartner;
  port.actor.set(kDefaulted, true);
  periodic_step(port, kNow + kFastPeriod);
  EXPECT_EQ(port.periodic, PeriodicState::slow);
  EXPECT_FALSE(port.ntt);
  EXPECT_EQ(port.periodic_due, kNow + kFastPeriod + kSlowPeriod);
}

TEST(PeriodicMachine, LatenessDoesNotAddUp) {
  Port port = port_in(PeriodicState::fast);
  for (int i = 1; i <= 10; ++i) {
    const Time due = kNow + static_cast<Time>(i) * kFastPeriod;
    EXPECT_EQ(port.periodic_due, due);
    periodic_step(port, due + static_cast<Time>(i) * 90 * kMillisecond);
  }
}

TEST(PeriodicMachine, AStallIsNotMadeUpForByABurst) {
  Port port = port_in(PeriodicState::fast);
  const Time late = kNow + 7 * kSecond + 300 * kMillisecond;
  periodic_step(port, late);
  EXPECT_TRUE(port.ntt);
  EXPECT_EQ(port.periodic_due, late + kFastPeriod);
}

}  // namespace
}  // namespace xbond::lacp
