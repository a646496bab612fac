#include "lib/control/mailbox.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

namespace xbond::control {
namespace {

bool readable(const Mailbox& box) {
  pollfd waiting{.fd = box.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) == 1;
}

TEST(Mailbox, RunsWhatWaitsInOrderAndIsReadableMeanwhile) {
  auto box = Mailbox::create();
  ASSERT_TRUE(box.ok());
  EXPECT_FALSE(readable(**box));
  std::vector<int> ran;
  for (const int i : {1, 2, 3}) EXPECT_TRUE((*box)->post([&ran, i] { ran.push_back(i); }));
  EXPECT_TRUE(readable(**box));
  EXPECT_TRUE(ran.empty());
  (*box)->run();
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(readable(**box));
}

TEST(Mailbox, ATaskThatPostsDoesNotRunItsOwnInTheSameTurn) {
  auto box = Mailbox::create();
  ASSERT_TRUE(box.ok());
  int ran = 0;
  EXPECT_TRUE((*box)->post([&] {
    ++ran;
    EXPECT_TRUE((*box)->post([&] { ++ran; }));
  }));
  (*box)->run();
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(readable(**box));
  (*box)->run();
  EXPECT_EQ(ran, 2);
}

TEST(Mailbox, HoldsAThousandAndTakesNoMoreButFromThoseWhoWait) {
  auto box = Mailbox::create();
  ASSERT_TRUE(box.ok());
  size_t ran = 0;
  for (size_t i = 0; i < Mailbox::kMaxHeld; ++i) ASSERT_TRUE((*box)->post([&] { ++ran; }));
  EXPECT_FALSE((*box)->post([&] { ran += 1000000; }));
  (*box)->push([&] { ++ran; });
  (*box)->run();
  EXPECT_EQ(ran, Mailbox::kMaxHeld + 1);
  EXPECT_TRUE((*box)->post([] {}));
}

TEST(Mailbox, LosesNothingOfSeveralThreads) {
  auto box = Mailbox::create();
  ASSERT_TRUE(box.ok());
  constexpr int kEach = 2000;
  int ran = 0;
  {
    std::vector<std::jthread> posters;
    for (int t = 0; t < 3; ++t) {
      posters.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) (*box)->push([&] { ++ran; });
      });
    }
    while (ran < 3 * kEach) (*box)->run();
  }
  EXPECT_EQ(ran, 3 * kEach);
}

}  // namespace
}  // namespace xbond::control
