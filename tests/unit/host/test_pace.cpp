#include <gtest/gtest.h>

#include "lib/host/pace.hpp"

namespace xbond::host {
namespace {

using namespace std::chrono_literals;

TEST(Pace, SleepsLongBeforeAnyFrame) {
  const Pace pace;
  EXPECT_EQ(pace.sleep(0s), Pace::kLongest);
  EXPECT_EQ(pace.sleep(std::chrono::hours(24 * 365 * 10)), Pace::kLongest);
}

TEST(Pace, IsShortWhileFramesFlowAndBacksOff) {
  Pace pace;
  const Pace::Time start = 100s;
  pace.moved(start);
  EXPECT_EQ(pace.sleep(start), 50us);
  EXPECT_EQ(pace.sleep(start + 10ms), 50us);
  EXPECT_EQ(pace.sleep(start + 40ms), 200us);
  EXPECT_EQ(pace.sleep(start + 200ms), 1ms);
  EXPECT_EQ(pace.sleep(start + 300ms), Pace::kLongest);
  EXPECT_EQ(pace.sleep(start + 1h), Pace::kLongest);
  pace.moved(start + 1h);
  EXPECT_EQ(pace.sleep(start + 1h), 50us);
}

TEST(Pace, NeverSpins) {
  Pace pace;
  pace.moved(10s);
  // Also when the clock that it is told jumps back
  for (const Pace::Time now : {Pace::Time(0), Pace::Time(10s), Pace::Time(11s)}) EXPECT_GE(pace.sleep(now), 50us);
}

}  // namespace
}  // namespace xbond::host
