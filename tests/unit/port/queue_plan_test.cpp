#include "lib/port/queue_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/port/restart.hpp"

namespace xbond::port {
namespace {

using ::testing::ElementsAre;

MATCHER_P3(Plan, rx, tx, rss, "") {
  *result_listener << arg.rx << "/" << arg.tx << (arg.rss ? " rss" : "");
  return arg == QueuePlan{.rx = static_cast<uint16_t>(rx), .tx = static_cast<uint16_t>(tx), .rss = rss};
}

TEST(QueuePlan, OnePerWorkerAndOneForControl) {
  const auto plans = queue_plans({.workers = 2, .max_rx = 64, .max_tx = 64, .can_rss = true});
  EXPECT_THAT(plans,
              ElementsAre(Plan(2, 3, true), Plan(2, 2, true), Plan(2, 3, false), Plan(2, 2, false), Plan(1, 1, false)));
}

TEST(QueuePlan, LimitsOfTheDriver) {
  EXPECT_THAT(queue_plans({.workers = 4, .max_rx = 1, .max_tx = 1, .can_rss = true}), ElementsAre(Plan(1, 1, false)));
  EXPECT_THAT(queue_plans({.workers = 4, .max_rx = 0, .max_tx = 0}), ElementsAre(Plan(1, 1, false)));
  EXPECT_THAT(queue_plans({.workers = 2, .max_rx = 8, .max_tx = 2}).front(), Plan(2, 2, false));
}

TEST(QueuePlan, EqualQueuesGiveControlNoReceiveQueueThatNobodyPolls) {
  EXPECT_THAT(queue_plans({.workers = 1, .max_rx = 16, .max_tx = 16, .equal_queues = true}),
              ElementsAre(Plan(1, 1, false)));
  EXPECT_THAT(queue_plans({.workers = 2, .max_rx = 16, .max_tx = 16, .can_rss = true, .equal_queues = true}).front(),
              Plan(2, 2, true));
  EXPECT_THAT(queue_plans({.workers = 1, .rx = 2, .max_rx = 16, .max_tx = 16, .equal_queues = true}).front(),
              Plan(2, 2, false));
}

TEST(QueuePlan, WishesWithinLimits) {
  EXPECT_THAT(queue_plans({.workers = 1, .rx = 4, .tx = 8, .max_rx = 16, .max_tx = 16, .can_rss = true}).front(),
              Plan(4, 8, true));
  EXPECT_THAT(queue_plans({.workers = 2, .rx = 500, .tx = 500, .max_rx = 16, .max_tx = 8}).front(), Plan(16, 8, false));
  const auto plans = queue_plans({.workers = UINT16_MAX, .max_rx = UINT16_MAX, .max_tx = UINT16_MAX});
  EXPECT_THAT(plans.front(), Plan(UINT16_MAX, UINT16_MAX, false));
}

// What a driver does: apply answers EBUSY while it runs.
struct Fake {
  bool running = true;
  int value = 1;
  int refuses = 0;         // apply's status when stopped
  int bad = -1;            // a value with which it does not start
  int failing_starts = 0;  // that many starts fail whatever the value
  int stop_status = 0;
  int stops = 0;
  ChangeSteps steps(int wanted) {
    return {.apply =
                [this, wanted] {
                  if (running) return -EBUSY;
                  if (refuses == 0) value = wanted;
                  return refuses;
                },
            .undo = [this] { return value = 1, 0; },
            .stop = [this] { return ++stops, stop_status == 0 ? (running = false, 0) : stop_status; },
            .start =
                [this] {
                  if (value == bad) return -EIO;
                  if (failing_starts-- > 0) return -EIO;
                  running = true;
                  return 0;
                }};
  }
};

TEST(Restart, StopsOnlyADeviceThatAsksForIt) {
  Fake fake;
  ChangeResult result = change_with_restart(fake.steps(2), true);
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.running && fake.running);
  EXPECT_EQ(fake.value, 2);
  EXPECT_EQ(fake.stops, 1);

  Fake idle{.running = false};
  result = change_with_restart(idle.steps(2), false);
  EXPECT_EQ(result.status, 0);
  EXPECT_FALSE(result.running || idle.running);
  EXPECT_EQ(idle.stops, 0);
}

TEST(Restart, ARefusedChangeLeavesItRunningAsItWas) {
  Fake fake{.refuses = -EINVAL};
  const ChangeResult result = change_with_restart(fake.steps(2), true);
  EXPECT_EQ(result.status, -EINVAL);
  EXPECT_TRUE(result.running && fake.running);
  EXPECT_EQ(fake.value, 1);
}

TEST(Restart, AChangeThatKeepsItFromStartingIsUndone) {
  Fake fake{.bad = 2};
  const ChangeResult result = change_with_restart(fake.steps(2), true);
  EXPECT_EQ(result.status, -EIO);
  EXPECT_TRUE(result.running && fake.running);
  EXPECT_EQ(fake.value, 1);
}

TEST(Restart, ADeadDeviceIsToldApart) {
  Fake fake{.failing_starts = 2};
  const ChangeResult result = change_with_restart(fake.steps(2), true);
  EXPECT_EQ(result.status, -EIO);
  EXPECT_FALSE(result.running || fake.running);

  Fake stuck{.stop_status = -EPERM};
  EXPECT_EQ(change_with_restart(stuck.steps(2), true).status, -EPERM);
  EXPECT_TRUE(stuck.running);
}

}  // namespace
}  // namespace xbond::port
