// Every transition of the receive machine, and what it records.
#include <gtest/gtest.h>

#include <functional>

#include "lib/lacp/receive_machine.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

constexpr Time kNow = 1000 * kSecond;
constexpr uint8_t kPartnerState = kActivity | kAggregation | kSynchronization;

// A port in the given state, reached as in life.
Port port_in(ReceiveState wanted) {
  Port port = fresh_port();
  if (wanted == ReceiveState::port_disabled) return port;
  if (wanted == ReceiveState::lacp_disabled) {
    port.lacp_enabled = false;
    receive_step(port, kNow);
    return port;
  }
  receive_step(port, kNow);
  if (wanted == ReceiveState::current) {
    EXPECT_EQ(receive_pdu(port, pdu_from_partner(port, kPartnerState), kNow), Received::recorded);
  } else if (wanted == ReceiveState::defaulted) {
    receive_step(port, kNow + kShortTimeout);
  }
  EXPECT_EQ(port.receive, wanted);
  return port;
}

const std::vector<ReceiveState> kAll{ReceiveState::port_disabled, ReceiveState::lacp_disabled, ReceiveState::expired,
                                     ReceiveState::defaulted, ReceiveState::current};

TEST(ReceiveMachine, BeginLeadsFromEveryStateToPortDisabled) {
  for (ReceiveState from : kAll) {
    Port port = port_in(from);
    port.begin = true;
    port.selected = true;
    port.actor.set(kExpired, true);
    port.matched = true;
    receive_step(port, kNow);
    EXPECT_EQ(port.receive, ReceiveState::port_disabled);
    EXPECT_FALSE(port.selected);
    EXPECT_FALSE(port.matched);
    EXPECT_TRUE(port.churn_restart);
    EXPECT_EQ(port.partner, kDefaultPartner);
    EXPECT_TRUE(port.actor.has(kDefaulted));
    EXPECT_FALSE(port.actor.has(kExpired));
    EXPECT_EQ(port.current_while, kNever);
    // Through INITIALIZE, as the history shows.
    ASSERT_GE(port.history.size(), 2U);
    EXPECT_EQ(port.history[port.history.size() - 1].from, static_cast<uint16_t>(ReceiveState::initialize));
  }
}

TEST(ReceiveMachine, LinkDownLeadsFromEveryStateToPortDisabledAndKeepsThePartner) {
  for (ReceiveState from : kAll) {
    Port port = port_in(from);
    const Info partner = port.partner;
    port.enabled = false;
    receive_step(port, kNow);
    EXPECT_EQ(port.receive, ReceiveState::port_disabled);
    EXPECT_EQ(port.partner.system, partner.system);
    EXPECT_FALSE(port.partner.has(kSynchronization));
    EXPECT_FALSE(port.matched);
    receive_step(port, kNow + 1000 * kSecond);
    EXPECT_EQ(port.receive, ReceiveState::port_disabled);
  }
}

TEST(ReceiveMachine, PortDisabledToExpired) {
  Port port = port_in(ReceiveState::port_disabled);
  receive_step(port, kNow);
  EXPECT_EQ(port.receive, ReceiveState::expired);
  EXPECT_TRUE(port.actor.has(kExpired));
  EXPECT_TRUE(port.partner.has(kTimeout));
  EXPECT_FALSE(port.partner.has(kSynchronization));
  EXPECT_EQ(port.current_while, kNow + kShortTimeout);
  EXPECT_TRUE(port.churn_restart);
}

TEST(ReceiveMachine, PortDisabledToLacpDisabledWithHalfDuplex) {
  Port port = port_in(ReceiveState::port_disabled);
  port.lacp_enabled = false;
  port.selected = true;
  receive_step(port, kNow);
  EXPECT_EQ(port.receive, ReceiveState::lacp_disabled);
  EXPECT_FALSE(port.selected);
  EXPECT_TRUE(port.matched);
  EXPECT_FALSE(port.partner.has(kAggregation));
  receive_step(port, kNow + 1000 * kSecond);
  EXPECT_EQ(port.receive, ReceiveState::lacp_disabled);
}

TEST(ReceiveMachine, ExpiredToDefaultedAfterTheShortTimeout) {
  Port port = port_in(ReceiveState::expired);
  receive_step(port, kNow + kShortTimeout - 1);
  EXPECT_EQ(port.receive, ReceiveState::expired);
  receive_step(port, kNow + kShortTimeout);
  EXPECT_EQ(port.receive, ReceiveState::defaulted);
  EXPECT_FALSE(port.actor.has(kExpired));
  EXPECT_TRUE(port.actor.has(kDefaulted));
  EXPECT_TRUE(port.matched);
  EXPECT_EQ(port.partner, kDefaultPartner);
  receive_step(port, kNow + 1000 * kSecond);
  EXPECT_EQ(port.receive, ReceiveState::defaulted);
}

TEST(ReceiveMachine, DefaultedUnselectsOnlyAPortThatHadAPartner) {
  Port without = port_in(ReceiveState::expired);
  without.selected = true;
  // The default partner does not claim to aggregate, nor did this one: nothing changed.
  receive_step(without, kNow + kShortTimeout);
  EXPECT_TRUE(without.selected);

  Port with = port_in(ReceiveState::current);
  with.selected = true;
  receive_step(with, kNow + kLongTimeout);
  ASSERT_EQ(with.receive, ReceiveState::expired);
  EXPECT_TRUE(with.selected);
  receive_step(with, kNow + kLongTimeout + kShortTimeout);
  ASSERT_EQ(with.receive, ReceiveState::defaulted);
  EXPECT_FALSE(with.selected);
}

TEST(ReceiveMachine, APduLeadsToCurrent) {
  for (ReceiveState from : {ReceiveState::expired, ReceiveState::defaulted, ReceiveState::current}) {
    Port port = port_in(from);
    port.churn_restart = false;
    const Pdu pdu = pdu_from_partner(port, kPartnerState);
    EXPECT_EQ(receive_pdu(port, pdu, kNow), Received::recorded);
    EXPECT_EQ(port.receive, ReceiveState::current);
    EXPECT_EQ(port.partner, pdu.actor);
    EXPECT_TRUE(port.matched);
    EXPECT_FALSE(port.actor.has(kDefaulted));
    EXPECT_FALSE(port.actor.has(kExpired));
    EXPECT_EQ(port.churn_restart, from != ReceiveState::current);
  }
}

TEST(ReceiveMachine, APduIsIgnoredWhereNobodyListens) {
  for (ReceiveState in : {ReceiveState::port_disabled, ReceiveState::lacp_disabled}) {
    Port port = port_in(in);
    const Info partner = port.partner;
    EXPECT_EQ(receive_pdu(port, pdu_from_partner(port, kPartnerState), kNow), Received::not_listening);
    EXPECT_EQ(port.receive, in);
    EXPECT_EQ(port.partner, partner);
  }
  Port starting = port_in(ReceiveState::current);
  starting.begin = true;
  EXPECT_EQ(receive_pdu(starting, pdu_from_partner(starting, 0), kNow), Received::not_listening);
  EXPECT_TRUE(starting.partner.has(kSynchronization));
  Port down = port_in(ReceiveState::current);
  down.enabled = false;
  EXPECT_EQ(receive_pdu(down, pdu_from_partner(down, 0), kNow), Received::not_listening);
}

TEST(ReceiveMachine, CurrentToExpiredByTheActorsOwnTimeout) {
  for (bool fast : {false, true}) {
    Port port = port_in(ReceiveState::expired);
    port.actor.set(kTimeout, fast);
    receive_pdu(port, pdu_from_partner(port, kPartnerState), kNow);
    const Time timeout = fast ? kShortTimeout : kLongTimeout;
    receive_step(port, kNow + timeout - 1);
    EXPECT_EQ(port.receive, ReceiveState::current);
    port.churn_restart = false;
    receive_step(port, kNow + timeout);
    EXPECT_EQ(port.receive, ReceiveState::expired);
    EXPECT_TRUE(port.churn_restart);
    EXPECT_FALSE(port.partner.has(kSynchronization));
    EXPECT_TRUE(port.partner.has(kTimeout));
    EXPECT_EQ(port.partner.system, system_mac(0xbb));  // remembered for three more seconds
    EXPECT_EQ(port.current_while, kNow + timeout + kShortTimeout);
  }
}

TEST(ReceiveMachine, EachPduRestartsTheTimer) {
  Port port = port_in(ReceiveState::expired);
  port.actor.set(kTimeout, true);
  Time now = kNow;
  for (int i = 0; i < 100; ++i) {
    receive_pdu(port, pdu_from_partner(port, kPartnerState), now);
    now += kShortTimeout - 1;
    receive_step(port, now);
    ASSERT_EQ(port.receive, ReceiveState::current);
  }
}

TEST(ReceiveMachine, OurOwnSystemIsIgnoredWithoutTouchingThePartner) {
  for (ReceiveState in : {ReceiveState::expired, ReceiveState::defaulted, ReceiveState::current}) {
    Port port = port_in(in);
    const Info partner = port.partner;
    const Time timer = port.current_while;
    Pdu looped = pdu_from_partner(port, kPartnerState);
    looped.actor.system = port.actor.system;
    EXPECT_EQ(receive_pdu(port, looped, kNow + kSecond), Received::loopback);
    EXPECT_EQ(port.receive, in);
    EXPECT_EQ(port.partner, partner);
    EXPECT_EQ(port.current_while, timer);
  }
}

using Change = std::function<void(Info&)>;
const std::vector<Change> kIdentity{
    [](Info& info) { info.port ^= 1U; },      [](Info& info) { info.port_priority ^= 1U; },
    [](Info& info) { info.system[3] ^= 1U; }, [](Info& info) { info.system_priority ^= 1U; },
    [](Info& info) { info.key ^= 1U; },       [](Info& info) { info.state ^= kAggregation; }};

TEST(ReceiveMachine, AnotherPartnerUnselectsThePort) {
  for (const Change& change : kIdentity) {
    Port port = port_in(ReceiveState::current);
    port.selected = true;
    Pdu pdu = pdu_from_partner(port, kPartnerState);
    receive_pdu(port, pdu, kNow);
    EXPECT_TRUE(port.selected);
    change(pdu.actor);
    receive_pdu(port, pdu, kNow);
    EXPECT_FALSE(port.selected);
  }
  // The other bits of the state are no identity.
  for (uint8_t bit : {kActivity, kTimeout, kSynchronization, kCollecting, kDistributing, kDefaulted, kExpired}) {
    Port port = port_in(ReceiveState::current);
    port.selected = true;
    Pdu pdu = pdu_from_partner(port, kPartnerState);
    pdu.actor.state ^= bit;
    receive_pdu(port, pdu, kNow);
    EXPECT_TRUE(port.selected) << unsigned{bit};
  }
}

TEST(ReceiveMachine, APartnerThatKnowsUsWronglyIsOutOfSyncAndToldAgain) {
  for (const Change& change : kIdentity) {
    Port port = port_in(ReceiveState::current);
    port.ntt = false;
    Pdu pdu = pdu_from_partner(port, kPartnerState);
    change(pdu.partner);
    receive_pdu(port, pdu, kNow);
    EXPECT_FALSE(port.matched);
    EXPECT_FALSE(port.partner.has(kSynchronization));
    EXPECT_TRUE(port.ntt);
  }
}

TEST(ReceiveMachine, NeedToTransmitFollowsTheStateBitsThatThePartnerMustKnow) {
  for (unsigned bit = 0; bit < 8; ++bit) {
    Port port = port_in(ReceiveState::current);
    port.ntt = false;
    Pdu pdu = pdu_from_partner(port, kPartnerState);
    pdu.partner.state = static_cast<uint8_t>(pdu.partner.state ^ 1U << bit);
    receive_pdu(port, pdu, kNow);
    EXPECT_EQ(port.ntt, bit < 4) << bit;  // activity, timeout, aggregation, synchronization
  }
  Port port = port_in(ReceiveState::current);
  port.ntt = false;
  receive_pdu(port, pdu_from_partner(port, kPartnerState), kNow);
  EXPECT_FALSE(port.ntt);
}

TEST(ReceiveMachine, AnIndividualPartnerMatchesWhateverItKnows) {
  Port port = port_in(ReceiveState::current);
  Pdu pdu = pdu_from_partner(port, kActivity | kSynchronization);
  pdu.partner = {};
  receive_pdu(port, pdu, kNow);
  EXPECT_TRUE(port.matched);
  EXPECT_TRUE(port.partner.has(kSynchronization));
}

TEST(ReceiveMachine, SyncOfThePartnerIsTakenFromItsPdu) {
  Port port = port_in(ReceiveState::current);
  receive_pdu(port, pdu_from_partner(port, kActivity | kAggregation), kNow);
  EXPECT_TRUE(port.matched);
  EXPECT_FALSE(port.partner.has(kSynchronization));
}

// lacp_rate slow → fast: a partner that has not heard of it sends each 30 s; 3 s would be a flap.
TEST(ReceiveMachine, FasterRateWaitsForThePartnersAcknowledgement) {
  Port port = port_in(ReceiveState::current);
  const Pdu old_view = pdu_from_partner(port, kPartnerState);
  port.ntt = false;
  set_rate(port, true);
  EXPECT_TRUE(port.ntt);
  EXPECT_TRUE(port.actor.has(kTimeout));
  port.ntt = false;
  receive_pdu(port, old_view, kNow);
  EXPECT_TRUE(port.ntt);  // told again
  EXPECT_EQ(port.current_while, kNow + kLongTimeout);
  receive_pdu(port, pdu_from_partner(port, kPartnerState), kNow);
  EXPECT_EQ(port.current_while, kNow + kShortTimeout);
}

// fast → slow: the partner may be silent for 30 s from the moment it hears of it.
TEST(ReceiveMachine, SlowerRateStretchesTheRunningTimer) {
  Port port = port_in(ReceiveState::expired);
  set_rate(port, true);
  receive_pdu(port, pdu_from_partner(port, kPartnerState), kNow);
  ASSERT_EQ(port.current_while, kNow + kShortTimeout);
  port.ntt = false;
  set_rate(port, true);  // no change
  EXPECT_FALSE(port.ntt);
  set_rate(port, false);
  EXPECT_TRUE(port.ntt);
  EXPECT_EQ(port.current_while, kNow + kLongTimeout);
}

TEST(ReceiveMachine, RateOfAPortWithoutAPartnerIsJustSet) {
  Port port = port_in(ReceiveState::expired);
  const Time timer = port.current_while;
  set_rate(port, true);
  EXPECT_FALSE(port.rate_unacknowledged);
  set_rate(port, false);
  EXPECT_EQ(port.current_while, timer);
}

}  // namespace
}  // namespace xbond::lacp
