// Every transition of both churn machines.
#include <gtest/gtest.h>

#include "lib/lacp/churn_machine.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

constexpr Time kNow = 1000 * kSecond;

Port monitored(bool actor_sync, bool partner_sync) {
  Port port = fresh_port();
  port.churn_restart = true;
  churn_step(port, kNow);
  EXPECT_FALSE(port.churn_restart);
  port.actor.set(kSynchronization, actor_sync);
  port.partner.set(kSynchronization, partner_sync);
  return port;
}

TEST(ChurnMachine, JudgesEachSideAfterAMinute) {
  for (bool actor : {false, true}) {
    for (bool partner : {false, true}) {
      Port port = monitored(actor, partner);
      churn_step(port, kNow + kChurnDetection - 1);
      EXPECT_EQ(port.actor_churn, ChurnState::monitor);
      EXPECT_EQ(port.partner_churn, ChurnState::monitor);
      churn_step(port, kNow + kChurnDetection);
      EXPECT_EQ(port.actor_churn, actor ? ChurnState::none : ChurnState::churned);
      EXPECT_EQ(port.partner_churn, partner ? ChurnState::none : ChurnState::churned);
      EXPECT_EQ(port.actor_churn_count, actor ? 0 : 1);
      EXPECT_EQ(port.partner_churn_count, partner ? 0 : 1);
      churn_step(port, kNow + 10 * kChurnDetection);
      EXPECT_EQ(port.actor_churn_count, actor ? 0 : 1);
    }
  }
}

TEST(ChurnMachine, ChurnEndsWithSync) {
  Port port = monitored(false, false);
  churn_step(port, kNow + kChurnDetection);
  port.actor.set(kSynchronization, true);
  churn_step(port, kNow + kChurnDetection + kTick);
  EXPECT_EQ(port.actor_churn, ChurnState::none);
  EXPECT_EQ(port.partner_churn, ChurnState::churned);
  EXPECT_EQ(port.actor_churn_count, 1);
}

TEST(ChurnMachine, LostSyncIsWatchedForAnotherMinute) {
  Port port = monitored(true, true);
  churn_step(port, kNow + kChurnDetection);
  const Time lost = kNow + 100 * kSecond;
  port.partner.set(kSynchronization, false);
  churn_step(port, lost);
  EXPECT_EQ(port.partner_churn, ChurnState::monitor);
  EXPECT_EQ(port.actor_churn, ChurnState::none);
  churn_step(port, lost + kChurnDetection - 1);
  EXPECT_EQ(port.partner_churn, ChurnState::monitor);
  churn_step(port, lost + kChurnDetection);
  EXPECT_EQ(port.partner_churn, ChurnState::churned);
  EXPECT_EQ(port.partner_churn_count, 1);
}

TEST(ChurnMachine, RestartLeadsFromEveryStateToMonitor) {
  for (bool sync : {false, true}) {
    Port port = monitored(sync, sync);
    churn_step(port, kNow + kChurnDetection);
    port.churn_restart = true;
    const Time again = kNow + 2 * kChurnDetection;
    churn_step(port, again);
    EXPECT_EQ(port.actor_churn, ChurnState::monitor);
    EXPECT_EQ(port.partner_churn, ChurnState::monitor);
    EXPECT_EQ(port.actor_churn_due, again + kChurnDetection);
    EXPECT_EQ(port.partner_churn_due, again + kChurnDetection);
  }
}

}  // namespace
}  // namespace xbond::lacp
