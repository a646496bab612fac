#include "lib/control/notices.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace xbond::control {
namespace {

bool readable(int fd) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(Notices, KeepOrderAndSayThatTheyAreThere) {
  const auto notices = std::move(*Notices::create());
  EXPECT_FALSE(readable(notices->fd()));
  notices->post("one");
  notices->post("two\nlines \033[2J");
  EXPECT_TRUE(readable(notices->fd()));
  EXPECT_EQ(notices->take(), (std::vector<std::string>{"one", "two?lines ?[2J"}));
  EXPECT_FALSE(readable(notices->fd()));
  EXPECT_TRUE(notices->take().empty());
}

TEST(Notices, AreBounded) {
  const auto notices = std::move(*Notices::create());
  for (size_t i = 0; i < Notices::kMaxHeld + 5; ++i) notices->post(std::string(5000, 'x'));
  const auto taken = notices->take();
  ASSERT_EQ(taken.size(), Notices::kMaxHeld + 1);
  EXPECT_EQ(taken.front().size(), Notices::kMaxLength);
  EXPECT_EQ(taken.back(), "5 more notices were dropped");
  notices->post("again");
  EXPECT_EQ(notices->take(), std::vector<std::string>{"again"});
}

TEST(Notices, FromManyThreads) {
  const auto notices = std::move(*Notices::create());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) notices->post("x");
    });
  }
  size_t taken = 0;
  while (taken < 800) {
    pollfd wait{.fd = notices->fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&wait, 1, 30000), 1) << "a post was not seen";
    taken += notices->take().size();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 800u);
}

}  // namespace
}  // namespace xbond::control
