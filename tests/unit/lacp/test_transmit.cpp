// The transmit machine's window, its memory, and what is held back.
#include <gtest/gtest.h>

#include "lib/lacp/port.hpp"
#include "lib/lacp/transmit.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

constexpr Time kNow = 1000 * kSecond;

TEST(TxWindow, SpreadsThreePdusOverASecond) {
  TxWindow window;
  EXPECT_EQ(window.next(), 0U);
  std::vector<Time> times;
  Time now = kNow;
  for (int i = 0; i < 100; ++i) {
    times.push_back(now);
    window.sent(now);
    EXPECT_GT(window.next(), now);
    now = window.next();
  }
  for (std::size_t i = 0; i + 3 < times.size(); ++i) {
    EXPECT_GE(times[i + 3] - times[i], kSecond);
    EXPECT_LE(times[i + 3] - times[i], kSecond + 3);
  }
}

TEST(TxWindow, FarewellWaitsOnlyForTheLimit) {
  TxWindow window;
  EXPECT_EQ(window.next_farewell(), 0U);
  window.sent(kNow);
  window.sent(kNow + 400 * kMillisecond);
  EXPECT_EQ(window.next_farewell(), 0U);
  EXPECT_GT(window.next(), kNow + 400 * kMillisecond);
  window.sent(kNow + 410 * kMillisecond);  // a farewell
  EXPECT_EQ(window.next_farewell(), kNow + kSecond);
  EXPECT_EQ(window.next(), kNow + kSecond);
  EXPECT_EQ(window.idle_from(), kNow + 1410 * kMillisecond);
}

TEST(TxWindow, HoldsTheFirstPduOfAStart) {
  TxWindow window;
  window.hold_until(kNow + kQuietStart);
  EXPECT_EQ(window.next(), kNow + kQuietStart);
  EXPECT_EQ(window.next_farewell(), 0U);
}

TEST(Wires, RememberAWindowAcrossMembership) {
  Wires wires;
  Wire& first = wires.enter(3);
  EXPECT_TRUE(first.member);
  for (Time i = 0; i < 3; ++i) first.window.sent(kNow + i);
  first.member = false;
  wires.expire(kNow + 2);
  Wire& again = wires.enter(3);
  EXPECT_EQ(again.window.next_farewell(), kNow + kSecond);
  EXPECT_EQ(wires.all().size(), 1U);
}

TEST(Wires, ForgetWhatIsOverAndNothingElse) {
  Wires wires;
  wires.enter(1).window.sent(kNow);
  wires.enter(2).window.sent(kNow);
  wires.enter(3).window.sent(kNow);
  wires.find(2)->member = false;
  wires.find(3)->member = false;
  wires.find(3)->farewell = Frame{};
  wires.expire(kNow + kSecond - 1);
  EXPECT_EQ(wires.all().size(), 3U);
  wires.expire(kNow + kSecond);
  EXPECT_NE(wires.find(1), nullptr);
  EXPECT_EQ(wires.find(2), nullptr);
  EXPECT_NE(wires.find(3), nullptr);
}

TEST(Wires, AreBounded) {
  Wires wires;
  wires.enter(0);  // stays a member
  for (uint16_t port = 1; port < 1000; ++port) {
    Wire& wire = wires.enter(port);
    wire.window.sent(kNow + port);
    wire.member = false;
  }
  EXPECT_EQ(wires.all().size(), Wires::kMax);
  EXPECT_NE(wires.find(0), nullptr);
  EXPECT_NE(wires.find(999), nullptr);
  EXPECT_EQ(wires.find(1), nullptr);
}

TEST(Transmit, NothingLeavesAPortThatMayNotSpeak) {
  Port port = fresh_port();
  EXPECT_FALSE(wants_to_send(port));
  port.ntt = true;
  EXPECT_TRUE(wants_to_send(port));
  for (int why = 0; why < 3; ++why) {
    Port mute = fresh_port();
    mute.ntt = true;
    if (why == 0) mute.enabled = false;
    if (why == 1) mute.lacp_enabled = false;
    if (why == 2) mute.begin = true;
    EXPECT_FALSE(wants_to_send(mute)) << why;
  }
}

TEST(Transmit, APassivePortIsSilentUntilThePartnerSpoke) {
  Port port = fresh_port();
  port.ntt = true;
  port.actor.set(kActivity, false);
  EXPECT_FALSE(wants_to_send(port));
  port.actor.set(kDefaulted, false);
  EXPECT_TRUE(wants_to_send(port));
}

TEST(Transmit, TheLastPduTellsThatThePortLeaves) {
  Port port = fresh_port();
  port.actor.state = 0x3f;
  port.partner.state = 0x3f;
  EXPECT_EQ(pdu_of(port, false).actor, port.actor);
  const Pdu last = pdu_of(port, true);
  EXPECT_EQ(last.actor.state, kActivity | kTimeout);
  EXPECT_EQ(last.partner, port.partner);
  EXPECT_EQ(last.actor.key, port.actor.key);
}

TEST(History, KeepsTheLastOnesInOrder) {
  History history;
  EXPECT_EQ(history.size(), 0U);
  for (Time at = 0; at < 100; ++at) {
    history.add({at, Machine::mux, Reason::begin, 0, 1});
    ASSERT_EQ(history.size(), std::min<std::size_t>(at + 1, History::kKept));
    for (std::size_t i = 0; i < history.size(); ++i) ASSERT_EQ(history[i].at, at + 1 - history.size() + i);
  }
}

TEST(MarkerResponder, AnswersTenASecond) {
  MarkerResponder responder;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(responder.allow(kNow));
  EXPECT_FALSE(responder.allow(kNow));
  EXPECT_FALSE(responder.allow(kNow + kSecond - 1));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(responder.allow(kNow + kSecond));
  EXPECT_FALSE(responder.allow(kNow + kSecond));
}

}  // namespace
}  // namespace xbond::lacp
