// A group by itself: options, membership, hostile frames, markers, deadlines.
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/lacp/transmit.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

Options fast() {
  Options options;
  options.lacp_rate = Rate::fast;
  return options;
}

// A frame from a partner that agrees with the port's present state.
Frame partner_frame(const World& world, std::size_t node, uint16_t port, uint8_t partner_state, uint8_t system = 0xbb) {
  Pdu pdu;
  pdu.actor = {65535, system_mac(system), 15, 255, port, partner_state};
  pdu.partner = world.port(node, port).actor;
  return encode(pdu, port_mac(system, static_cast<uint8_t>(port)));
}

constexpr uint8_t kPartnerAtWork = kActivity | kAggregation | kSynchronization | kCollecting | kDistributing;

// A hand-driven partner on each port, each second.
void keep_partner(World& world, std::size_t node, std::vector<uint16_t> ports, Time span,
                  uint8_t partner_state = kPartnerAtWork) {
  for (const Time end = world.now + span; world.now < end; world.run_for(kSecond)) {
    for (uint16_t port : ports) {
      world.group(node).receive(port, partner_frame(world, node, port, partner_state), world.now);
    }
  }
}

TEST(GroupOptions, AreCheckedInLinuxsWords) {
  const auto refused = [](auto change) {
    Options options;
    change(options);
    const auto made = Group::create(system_mac(1), options, [](uint16_t, std::span<const uint8_t>) {});
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : made.error().text;
  };
  EXPECT_EQ(refused([](Options& o) { o.ad_user_port_key = 1024; }),
            "option ad_user_port_key: invalid value (1024): 0 to 1023");
  EXPECT_EQ(refused([](Options& o) { o.ad_actor_sys_prio = 0; }),
            "option ad_actor_sys_prio: invalid value (0): 1 to 65535");
  EXPECT_NE(refused([](Options& o) { o.ad_actor_system = {1, 0, 0, 0, 0, 1}; }), "");

  World world;
  const auto node = world.add({});
  Options wrong;
  wrong.ad_user_port_key = 2000;
  EXPECT_FALSE(world.group(node).set_options(wrong, world.now).ok());
  EXPECT_EQ(world.group(node).options(), Options{});
}

TEST(GroupMembers, AreUniqueBoundedAndKnown) {
  World world;
  const auto node = world.add({});
  Group& group = world.group(node);
  for (uint16_t port = 0; port < kMaxPorts; ++port) world.enslave(node, port);
  EXPECT_EQ(group.add_port({3, port_mac(1, 3), k10G}, world.now).error().code, EEXIST);
  EXPECT_EQ(group.add_port({99, port_mac(1, 99), k10G}, world.now).error().code, ENOSPC);
  EXPECT_EQ(group.remove_port(99, world.now).error().code, ENOENT);
  EXPECT_EQ(group.set_port_priority(99, 1, world.now).error().code, ENOENT);
  EXPECT_FALSE(group.port(99).has_value());
  EXPECT_EQ(group.receive(99, {}, world.now), Outcome::not_a_member);
  group.link(99, k10G, world.now);  // of no effect
  EXPECT_EQ(group.ports().size(), kMaxPorts);
  EXPECT_FALSE(group.collecting(99));
}

TEST(GroupMembers, NumbersCountFromOneAndAggregatorsToo) {
  World world;
  const auto node = world.add({});
  for (uint16_t port : {7, 5, 9}) world.enslave(node, port);
  EXPECT_EQ(world.port(node, 7).actor.port, 1);
  EXPECT_EQ(world.port(node, 5).actor.port, 2);
  EXPECT_EQ(world.port(node, 9).actor.port, 3);
  ASSERT_TRUE(world.group(node).remove_port(5, world.now).ok());
  world.enslave(node, 4);
  EXPECT_EQ(world.port(node, 4).actor.port, 4);  // the last one's and one, as Linux
  ASSERT_TRUE(world.group(node).remove_port(4, world.now).ok());
  world.enslave(node, 5);
  EXPECT_EQ(world.port(node, 5).actor.port, 4);
}

TEST(GroupMembers, NumbersDoNotRunOut) {
  World world;
  const auto node = world.add({}, false);
  world.enslave(node, 0);
  uint16_t last = 0;
  for (unsigned i = 1; i <= 70'000; ++i) {
    const uint16_t next = last ^ 1U;
    ASSERT_TRUE(world.group(node).add_port({next, port_mac(1, 1), k10G}, world.now).ok());
    ASSERT_TRUE(world.group(node).remove_port(last, world.now).ok());
    ASSERT_NE(world.port(node, next).actor.port, 0);
    last = next;
  }
}

TEST(GroupMembers, ALeavingOneHandsTheTrafficOnAtOnce) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.enslave(node, 1);
  world.run_for(10 * kSecond);  // nobody answers: one link carries
  ASSERT_EQ(world.usable(node), 1U);
  ASSERT_TRUE(world.group(node).remove_port(0, world.now).ok());
  ASSERT_EQ(world.usable(node), 1U);
  EXPECT_EQ(world.group(node).usable()[0], 1);
  EXPECT_EQ(world.group(node).info().active->id, 2);
  EXPECT_EQ(world.group(node).info().history.back().reason, Reason::member_left);
}

TEST(GroupMembers, ManyPastOnesDoNotSilenceAPresentOne) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  for (uint16_t port = 1; port < 200; ++port) {
    world.enslave(node, port);
    ASSERT_TRUE(world.group(node).remove_port(port, world.now).ok());
  }
  world.run_for(kSecond);
  EXPECT_FALSE(world.sent_by(node, 0).empty());
}

TEST(GroupStart, FirstPduComesAfterTwoTicksAndTellsASettledState) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  const Time start = world.now;
  world.run_for(5 * kSecond);
  const auto pdus = world.sent_by(node, 0);
  ASSERT_FALSE(pdus.empty());
  EXPECT_EQ(pdus[0].at - start, kQuietStart);
  EXPECT_EQ(pdus[0].pdu.actor.state, kActivity | kTimeout | kAggregation | kDefaulted | kExpired);
  EXPECT_EQ(pdus[0].pdu.partner.state, kTimeout);
  EXPECT_EQ(pdus[0].pdu.actor.port, 1);
  EXPECT_EQ(pdus[0].pdu.actor.system, system_mac(1));
}

TEST(GroupStart, PdusComeFromThePermanentMacOfTheMember) {
  std::vector<std::vector<uint8_t>> frames;
  auto group = Group::create(system_mac(1), {}, [&frames](uint16_t, std::span<const uint8_t> frame) {
    frames.emplace_back(frame.begin(), frame.end());
  });
  ASSERT_TRUE(group.ok());
  ASSERT_TRUE(group->add_port({0, port_mac(9, 7), k10G}, 0).ok());
  group->set_up(true, 0);
  for (Time now = 0; now <= kSecond; now += kTick) group->tick(now);
  ASSERT_FALSE(frames.empty());
  EXPECT_TRUE(std::equal(frames[0].begin(), frames[0].begin() + 6, kSlowProtocols.begin()));
  const Mac source = port_mac(9, 7);
  EXPECT_TRUE(std::equal(source.begin(), source.end(), frames[0].begin() + 6));
  EXPECT_EQ(frames[0].size(), 124U);
}

TEST(GroupStart, SelectTimerIsOneTickFromOpeningAndEightSecondsFromEnslaving) {
  World world;
  const auto enslaved_first = world.add({}, false);
  world.enslave(enslaved_first, 0);
  EXPECT_EQ(world.group(enslaved_first).info().select_timer, kNever);
  world.group(enslaved_first).set_up(true, world.now);
  EXPECT_EQ(world.group(enslaved_first).info().select_timer, world.now + kTick);

  const auto opened_first = world.add({});
  world.enslave(opened_first, 0);
  EXPECT_EQ(world.group(opened_first).info().select_timer, world.now + kSelectDelay);
  world.enslave(opened_first, 1);
  const Time start = world.now;
  keep_partner(world, opened_first, {0, 1}, 7 * kSecond);
  EXPECT_EQ(world.port(opened_first, 0).mux, MuxState::attached);
  EXPECT_TRUE(world.port(opened_first, 0).actor.has(kSynchronization));
  keep_partner(world, opened_first, {0, 1}, 2 * kSecond);
  EXPECT_EQ(world.port(opened_first, 0).mux, MuxState::collecting_distributing);
  EXPECT_EQ(world.group(opened_first).info().select_timer, kNever);
  const auto history = world.port(opened_first, 0).history;
  EXPECT_GE(history.back().at - start, kSelectDelay);
}

TEST(GroupLink, UnknownSpeedIsNoLink) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0, {true, 0, true});
  const Changes changes = world.group(node).take_changes();
  ASSERT_EQ(changes.notices, 1U);
  EXPECT_EQ(changes.notice[0], (Notice{Notice::Kind::speed_unknown, 0}));
  world.run_for(10 * kSecond);
  EXPECT_TRUE(world.sent.empty());
  EXPECT_EQ(world.usable(node), 0U);
  EXPECT_FALSE(world.group(node).carrier());
  world.link(node, 0, {true, UINT32_MAX, true});
  world.run_for(10 * kSecond);
  EXPECT_TRUE(world.sent.empty());
  world.link(node, 0, k10G);
  world.run_for(kSecond);
  EXPECT_FALSE(world.sent.empty());
}

TEST(GroupLink, HalfDuplexSpeaksNoLacpButCarries) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0, {true, 100, false});
  world.enslave(node, 1, {true, 100, false});
  world.run_for(40 * kSecond);
  EXPECT_TRUE(world.sent.empty());
  EXPECT_EQ(world.port(node, 0).receive, ReceiveState::lacp_disabled);
  EXPECT_FALSE(world.port(node, 0).lacp_enabled);
  // An individual link each; one of them carries.
  ASSERT_EQ(world.usable(node), 1U);
  EXPECT_EQ(world.group(node).usable()[0], 0);
  EXPECT_TRUE(world.group(node).carrier());
  EXPECT_EQ(world.group(node).receive(0, partner_frame(world, node, 0, kPartnerAtWork), world.now), Outcome::refused);
  EXPECT_EQ(world.port(node, 0).refused.not_listening, 1U);
  // Full duplex brings LACP up.
  world.link(node, 0, {true, 100, true});
  world.run_for(kSecond);
  EXPECT_FALSE(world.sent.empty());
  EXPECT_EQ(world.port(node, 0).receive, ReceiveState::expired);
}

TEST(GroupLink, SilentPartnerLeavesOneLinkAtWork) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.enslave(node, 1);
  world.run_for(10 * kSecond);
  ASSERT_EQ(world.usable(node), 1U);
  EXPECT_EQ(world.group(node).usable()[0], 0);
  EXPECT_TRUE(world.group(node).collecting(0));
  EXPECT_FALSE(world.group(node).collecting(1));
  world.link(node, 0, kDown);
  ASSERT_EQ(world.usable(node), 1U);  // at once
  EXPECT_EQ(world.group(node).usable()[0], 1);
}

TEST(GroupLink, ASpeedChangeStartsThePortOver) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.enslave(node, 1);
  keep_partner(world, node, {0, 1}, 12 * kSecond);
  ASSERT_EQ(world.usable(node), 2U);
  world.link(node, 0, {true, 25000, true});
  EXPECT_EQ(world.usable(node), 1U);  // at once, before the machines see it
  keep_partner(world, node, {0, 1}, 5 * kSecond);
  EXPECT_NE(world.port(node, 0).aggregator_id, world.port(node, 1).aggregator_id);
  EXPECT_EQ(world.usable(node), 1U);
  EXPECT_EQ(world.port(node, 0).actor.key, speed_code(25000) << 1U | 1U);
}

TEST(GroupLink, LinkDownEndsItsTrafficAtOnceAndMinLinksTheCarrier) {
  Options options;
  options.min_links = 2;
  World world;
  const auto node = world.add(options);
  world.enslave(node, 0);
  world.enslave(node, 1);
  keep_partner(world, node, {0, 1}, 12 * kSecond);
  EXPECT_TRUE(world.group(node).carrier());
  (void)world.group(node).take_changes();
  world.link(node, 0, kDown);
  const Changes changes = world.group(node).take_changes();
  EXPECT_TRUE(changes.usable);
  EXPECT_TRUE(changes.carrier);
  EXPECT_FALSE(world.group(node).carrier());
  ASSERT_EQ(world.usable(node), 1U);
  EXPECT_EQ(world.group(node).usable()[0], 1);
  world.set(node, [](Options& o) { o.min_links = 1; });
  EXPECT_TRUE(world.group(node).carrier());
  world.link(node, 1, kDown);
  EXPECT_FALSE(world.group(node).carrier());
  EXPECT_EQ(world.usable(node), 0U);
  EXPECT_EQ(world.group(node).info().active, std::nullopt);
}

TEST(GroupLink, LinkDownIsSeenByTheReceiveMachineAtOnce) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  keep_partner(world, node, {0}, 12 * kSecond);
  world.link(node, 0, kDown);
  EXPECT_EQ(world.port(node, 0).receive, ReceiveState::port_disabled);
  EXPECT_FALSE(world.port(node, 0).partner.has(kSynchronization));
  EXPECT_EQ(world.port(node, 0).history.back().reason, Reason::link_down);
}

TEST(GroupUsable, KeepsTheOrderOfEnslaving) {
  World world;
  const auto node = world.add({});
  for (uint16_t port : {5, 3, 9}) world.enslave(node, port);
  keep_partner(world, node, {9, 3, 5}, 12 * kSecond);
  const auto usable = world.group(node).usable();
  EXPECT_EQ(std::vector<uint16_t>(usable.begin(), usable.end()), (std::vector<uint16_t>{5, 3, 9}));
  world.link(node, 3, kDown);
  world.link(node, 3, k10G);
  keep_partner(world, node, {9, 3, 5}, 12 * kSecond);
  const auto again = world.group(node).usable();
  EXPECT_EQ(std::vector<uint16_t>(again.begin(), again.end()), (std::vector<uint16_t>{5, 3, 9}));
}

TEST(GroupUsable, NothingIsSentBeforeThePartnerCollects) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  keep_partner(world, node, {0}, 12 * kSecond, kActivity | kAggregation | kSynchronization);
  EXPECT_EQ(world.port(node, 0).mux, MuxState::collecting_distributing);
  EXPECT_TRUE(world.group(node).collecting(0));
  EXPECT_EQ(world.usable(node), 0U);
  keep_partner(world, node, {0}, kSecond);
  EXPECT_EQ(world.usable(node), 1U);
  // … and stops with the very PDU that says so, not a tick later.
  world.group(node).receive(0, partner_frame(world, node, 0, kActivity | kAggregation), world.now);
  EXPECT_EQ(world.usable(node), 0U);
}

TEST(GroupUsable, IndependentControlCollectsFirst) {
  Options options;
  options.coupled_control = false;
  World world;
  const auto node = world.add(options);
  world.enslave(node, 0);
  keep_partner(world, node, {0}, 12 * kSecond, kActivity | kAggregation | kSynchronization);
  EXPECT_EQ(world.port(node, 0).mux, MuxState::collecting);
  EXPECT_EQ(world.port(node, 0).actor.state & (kCollecting | kDistributing), kCollecting);
  EXPECT_TRUE(world.group(node).collecting(0));
  EXPECT_EQ(world.usable(node), 0U);
  keep_partner(world, node, {0}, 2 * kSecond);
  EXPECT_EQ(world.port(node, 0).mux, MuxState::distributing);
  EXPECT_EQ(world.usable(node), 1U);
  world.set(node, [](Options& o) { o.coupled_control = true; });
  keep_partner(world, node, {0}, kSecond);
  EXPECT_EQ(world.port(node, 0).mux, MuxState::collecting_distributing);
  EXPECT_EQ(world.usable(node), 1U);
}

TEST(GroupSystem, StaysWhenTheFirstMemberLeaves) {
  World world;
  const auto node = world.add({});
  for (uint16_t port : {0, 1, 2}) world.enslave(node, port);
  keep_partner(world, node, {0, 1, 2}, 12 * kSecond);
  const Info before = world.port(node, 1).actor;
  const unsigned changes = world.usable_changes(node);
  ASSERT_TRUE(world.group(node).remove_port(0, world.now).ok());
  EXPECT_EQ(world.port(node, 1).actor, before);
  EXPECT_EQ(world.group(node).info().system, system_mac(1));
  EXPECT_EQ(world.usable(node), 2U);
  EXPECT_EQ(world.port(node, 1).mux, MuxState::collecting_distributing);
  EXPECT_EQ(world.group(node).info().active->ports, 2U);
  keep_partner(world, node, {1, 2}, 5 * kSecond);
  EXPECT_EQ(world.usable(node), 2U);
  EXPECT_EQ(world.usable_changes(node), changes + 1);
}

TEST(GroupSystem, AMacChangeIsToldAtOnce) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.run_for(20 * kSecond);
  const std::size_t before = world.sent_by(node, 0).size();
  world.group(node).set_bond_mac(system_mac(0x77), world.now);
  const auto after_change = world.sent_by(node, 0);
  ASSERT_EQ(after_change.size(), before + 1);
  EXPECT_EQ(after_change.back().at, world.now);
  EXPECT_EQ(after_change.back().pdu.actor.system, system_mac(0x77));
  world.group(node).set_bond_mac(system_mac(0x77), world.now);  // no change
  world.run_for(kSecond);
  EXPECT_EQ(world.sent_by(node, 0).size(), before + 1);
}

TEST(GroupSystem, AMacChangeWithinTheLimitComesAsSoonAsItMay) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  world.run_for(kQuietStart);
  ASSERT_EQ(world.sent_by(node, 0).size(), 1U);
  world.group(node).set_bond_mac(system_mac(0x77), world.now);
  EXPECT_EQ(world.sent_by(node, 0).size(), 1U);
  world.run_for(kPduSpacing);
  ASSERT_EQ(world.sent_by(node, 0).size(), 2U);
  EXPECT_EQ(world.sent_by(node, 0)[1].pdu.actor.system, system_mac(0x77));
}

TEST(GroupSystem, AdActorSystemHidesTheBondsMac) {
  World world;
  Options options;
  options.ad_actor_system = system_mac(0x55);
  options.ad_actor_sys_prio = 7;
  const auto node = world.add(options);
  world.enslave(node, 0);
  world.run_for(20 * kSecond);
  EXPECT_EQ(world.sent_by(node, 0).back().pdu.actor.system, system_mac(0x55));
  EXPECT_EQ(world.sent_by(node, 0).back().pdu.actor.system_priority, 7);
  const std::size_t before = world.sent.size();
  world.group(node).set_bond_mac(system_mac(0x66), world.now);
  EXPECT_EQ(world.sent.size(), before);
  world.set(node, [](Options& o) { o.ad_actor_system = {}; });
  EXPECT_EQ(world.sent.size(), before + 1);
  EXPECT_EQ(world.sent.back().pdu.actor.system, system_mac(0x66));
}

TEST(GroupOptions, PriorityKeyAndActivityAreToldAtOnce) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.run_for(20 * kSecond);
  world.set(node, [](Options& o) { o.ad_actor_sys_prio = 99; });
  EXPECT_EQ(world.sent.back().pdu.actor.system_priority, 99);
  world.run_for(kSecond);
  ASSERT_TRUE(world.group(node).set_port_priority(0, 33, world.now).ok());
  EXPECT_EQ(world.sent.back().pdu.actor.port_priority, 33);
  const std::size_t before = world.sent.size();
  ASSERT_TRUE(world.group(node).set_port_priority(0, 33, world.now).ok());
  EXPECT_EQ(world.sent.size(), before);
  world.run_for(kSecond);
  world.set(node, [](Options& o) { o.ad_user_port_key = 5; });
  world.run_for(kSecond);
  EXPECT_EQ(world.sent.back().pdu.actor.key, 335);
}

TEST(GroupOptions, LacpActiveMayChangeAtRunTime) {
  World world;
  Options options = fast();
  options.lacp_active = false;
  const auto node = world.add(options);
  world.enslave(node, 0);
  world.run_for(30 * kSecond);
  EXPECT_TRUE(world.sent.empty());  // silent until the partner speaks
  EXPECT_EQ(world.port(node, 0).periodic, PeriodicState::no_periodic);

  world.set(node, [](Options& o) { o.lacp_active = true; });
  EXPECT_EQ(world.sent.size(), 1U);
  world.run_for(31 * kSecond);
  EXPECT_GE(world.sent.size(), 2U);

  world.set(node, [](Options& o) { o.lacp_active = false; });
  const std::size_t before = world.sent.size();
  world.run_for(100 * kSecond);
  EXPECT_EQ(world.sent.size(), before);
}

TEST(GroupOptions, PassiveFallsSilentWhenThePartnerIsLost) {
  World world;
  Options options = fast();
  options.lacp_active = false;
  const auto node = world.add(options);
  world.enslave(node, 0);
  keep_partner(world, node, {0}, 10 * kSecond, kPartnerAtWork | kTimeout);
  EXPECT_GE(world.sent.size(), 8U);
  // Three seconds to EXPIRED, three more to DEFAULTED.
  world.run_for(6 * kSecond);
  EXPECT_EQ(world.port(node, 0).receive, ReceiveState::defaulted);
  const std::size_t before = world.sent.size();
  world.run_for(100 * kSecond);
  EXPECT_EQ(world.sent.size(), before);
}

TEST(GroupOptions, SelectPolicyTakesEffectAtOnce) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0, {true, 25000, true});
  world.enslave(node, 1, {true, 10000, true});
  world.enslave(node, 2, {true, 10000, true});
  keep_partner(world, node, {0, 1, 2}, 12 * kSecond);
  ASSERT_EQ(world.usable(node), 1U);
  const uint16_t first = world.group(node).info().active->id;
  (void)world.group(node).take_changes();
  world.set(node, [](Options& o) { o.ad_select = Select::count; });
  EXPECT_TRUE(world.group(node).take_changes().aggregator);
  EXPECT_NE(world.group(node).info().active->id, first);
  EXPECT_EQ(world.usable(node), 0U);  // the new one's ports must get in sync first
  keep_partner(world, node, {0, 1, 2}, 5 * kSecond);
  EXPECT_EQ(world.usable(node), 2U);
  // The old one's port is no longer in sync: its partner must not send into the void.
  EXPECT_EQ(world.port(node, 0).mux, MuxState::attached);
  EXPECT_FALSE(world.port(node, 0).actor.has(kSynchronization));
  EXPECT_FALSE(world.sent_by(node, 0).back().pdu.actor.has(kSynchronization));
}

TEST(GroupDown, TellsEveryPartnerAndIsSilentDeafAndUnusable) {
  World world;
  const auto node = world.add(fast());
  for (uint16_t port : {0, 1}) world.enslave(node, port);
  keep_partner(world, node, {0, 1}, 12 * kSecond);
  ASSERT_EQ(world.usable(node), 2U);
  world.run_for(kSecond / 2);
  const std::size_t before = world.sent.size();
  world.group(node).set_up(false, world.now);
  ASSERT_EQ(world.sent.size(), before + 2);
  for (std::size_t i = before; i < world.sent.size(); ++i) {
    EXPECT_EQ(world.sent[i].pdu.actor.state, kActivity | kTimeout);
    EXPECT_EQ(world.sent[i].at, world.now);
  }
  EXPECT_FALSE(world.group(node).farewells_pending());
  EXPECT_EQ(world.group(node).next_deadline(), std::nullopt);
  EXPECT_EQ(world.usable(node), 0U);
  EXPECT_FALSE(world.group(node).carrier());
  EXPECT_EQ(world.port(node, 0).mux, MuxState::detached);
  EXPECT_EQ(world.group(node).receive(0, partner_frame(world, node, 0, kPartnerAtWork), world.now), Outcome::refused);
  EXPECT_EQ(world.port(node, 0).refused.bond_down, 1U);
  EXPECT_EQ(world.port(node, 0).receive, ReceiveState::port_disabled);
  world.run_for(100 * kSecond);
  EXPECT_EQ(world.sent.size(), before + 2);
  EXPECT_EQ(world.group(node).info().history.back().reason, Reason::administrative);
}

TEST(GroupDown, OpeningAgainStartsOver) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  keep_partner(world, node, {0}, 12 * kSecond);
  world.group(node).set_up(false, world.now);
  world.run_for(10 * kSecond);
  world.group(node).set_up(true, world.now);
  const Time start = world.now;
  keep_partner(world, node, {0}, 5 * kSecond);
  EXPECT_EQ(world.usable(node), 1U);
  const auto pdus = world.sent_by(node, 0, start);
  EXPECT_EQ(pdus.front().at, start + kQuietStart);
  EXPECT_TRUE(at_most_three_a_second(world.sent_by(node, 0)));
}

TEST(GroupDown, PortsWithoutAPartnerOrALinkSayNoFarewell) {
  World world;
  Options passive;
  passive.lacp_active = false;
  const auto silent = world.add(passive);
  world.enslave(silent, 0);
  world.run_for(5 * kSecond);
  world.group(silent).set_up(false, world.now);
  const auto down = world.add({});
  world.enslave(down, 0, kDown);
  world.run_for(5 * kSecond);
  ASSERT_TRUE(world.group(down).remove_port(0, world.now).ok());
  EXPECT_TRUE(world.sent.empty());
}

TEST(GroupFarewell, WaitsForTheLimitOfThreeASecond) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  world.run_for(kQuietStart);
  // Two more in quick succession: the partner knows nothing of us.
  for (int i = 0; i < 2; ++i) {
    world.group(node).set_bond_mac(system_mac(static_cast<uint8_t>(0x70 + i)), world.now);
    world.run_for(kPduSpacing);
  }
  ASSERT_EQ(world.sent_by(node, 0).size(), 3U);
  const Time first = world.sent_by(node, 0).front().at;
  ASSERT_LT(world.now, first + kSecond);
  ASSERT_TRUE(world.group(node).remove_port(0, world.now).ok());
  EXPECT_TRUE(world.group(node).farewells_pending());
  EXPECT_EQ(world.group(node).next_deadline(), first + kSecond);
  world.run_for(kSecond);
  EXPECT_FALSE(world.group(node).farewells_pending());
  const auto pdus = world.sent_by(node, 0);
  ASSERT_EQ(pdus.size(), 4U);
  EXPECT_EQ(pdus[3].at, first + kSecond);
  EXPECT_FALSE(pdus[3].pdu.actor.has(kAggregation));
}

TEST(GroupFarewell, IsDroppedWhenThePortComesBack) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  world.run_for(kQuietStart);
  for (int i = 0; i < 2; ++i) {
    world.group(node).set_bond_mac(system_mac(static_cast<uint8_t>(0x70 + i)), world.now);
    world.run_for(kPduSpacing);
  }
  ASSERT_TRUE(world.group(node).remove_port(0, world.now).ok());
  ASSERT_TRUE(world.group(node).farewells_pending());
  world.enslave(node, 0);
  EXPECT_FALSE(world.group(node).farewells_pending());
  world.run_for(5 * kSecond);
  for (const Sent& pdu : world.sent_by(node, 0)) EXPECT_TRUE(pdu.pdu.actor.has(kAggregation));
  EXPECT_TRUE(at_most_three_a_second(world.sent_by(node, 0)));
}

TEST(GroupFrames, HostileOnesAreCountedAndHarmless) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  keep_partner(world, node, {0}, 12 * kSecond);
  Group& group = world.group(node);
  const PortInfo before = world.port(node, 0);
  Frame frame = partner_frame(world, node, 0, kPartnerAtWork);

  EXPECT_EQ(group.receive(0, {}, world.now), Outcome::refused);
  EXPECT_EQ(group.receive(0, std::span(frame).first(60), world.now), Outcome::refused);
  Frame length = frame;
  length[14 + 3] = 0;
  EXPECT_EQ(group.receive(0, length, world.now), Outcome::refused);
  Frame subtype = frame;
  subtype[14] = 10;  // OSSP
  EXPECT_EQ(group.receive(0, subtype, world.now), Outcome::refused);
  Frame type = frame;
  type[12] = 0x08;
  EXPECT_EQ(group.receive(0, type, world.now), Outcome::refused);
  const Frame looped = partner_frame(world, node, 0, kPartnerAtWork, 1);
  EXPECT_EQ(group.receive(0, looped, world.now), Outcome::refused);

  const PortInfo port = world.port(node, 0);
  EXPECT_EQ(port.counters.lacpdu_illegal_rx, before.counters.lacpdu_illegal_rx + 3);
  EXPECT_EQ(port.counters.lacpdu_unknown_rx, before.counters.lacpdu_unknown_rx + 1);
  EXPECT_EQ(port.counters.lacpdu_rx, before.counters.lacpdu_rx + 1);  // the looped one, as Linux counts
  EXPECT_EQ(port.refused.too_short, 2U);
  EXPECT_EQ(port.refused.bad_tlv_length, 1U);
  EXPECT_EQ(port.refused.not_slow_protocol, 1U);
  EXPECT_EQ(port.refused.loopback, 1U);
  EXPECT_EQ(port.partner, before.partner);
  EXPECT_EQ(port.actor, before.actor);
  EXPECT_EQ(port.current_while, before.current_while);
  EXPECT_EQ(world.usable(node), 1U);
}

TEST(GroupFrames, Version2AndUnknownTlvsAreTaken) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.run_for(kSecond);
  Frame frame = partner_frame(world, node, 0, kPartnerAtWork);
  frame[14 + 1] = 2;
  frame[14 + 58] = 4;
  frame[14 + 59] = 6;
  EXPECT_EQ(world.group(node).receive(0, frame, world.now), Outcome::taken);
  frame[14 + 59] = 200;
  EXPECT_EQ(world.group(node).receive(0, frame, world.now), Outcome::taken);
  EXPECT_EQ(world.port(node, 0).refused.unknown_tlvs, 1U);
  EXPECT_EQ(world.port(node, 0).refused.malformed_tail, 1U);
  EXPECT_EQ(world.port(node, 0).receive, ReceiveState::current);
}

TEST(GroupFrames, LoopbackIsNoticedOnceInTenSeconds) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.run_for(kSecond);
  Group& group = world.group(node);
  unsigned notices = 0;
  for (int i = 0; i < 300; ++i) {
    group.receive(0, partner_frame(world, node, 0, kPartnerAtWork, 1), world.now);
    const Changes changes = group.take_changes();
    for (std::size_t n = 0; n < changes.notices; ++n) {
      EXPECT_EQ(changes.notice[n], (Notice{Notice::Kind::loopback, 0}));
      ++notices;
    }
    world.run_for(kTick);
  }
  EXPECT_EQ(notices, 3U);
  EXPECT_EQ(world.port(node, 0).refused.loopback, 300U);
}

TEST(GroupFrames, MarkersAreAnsweredAtOnceFromTheSamePort) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.enslave(node, 1);
  world.run_for(kSecond);
  Frame marker = partner_frame(world, node, 1, 0);
  std::fill(marker.begin() + 14, marker.end(), uint8_t{0});
  const std::vector<uint8_t> body{2, 1, 1, 16, 0, 7};
  std::copy(body.begin(), body.end(), marker.begin() + 14);
  EXPECT_EQ(world.group(node).receive(1, marker, world.now), Outcome::answered);
  EXPECT_EQ(world.sent.back().port, 1);
  EXPECT_EQ(world.sent.back().kind, FrameKind::marker_response);
  EXPECT_EQ(world.sent.back().at, world.now);

  marker[16] = 2;
  EXPECT_EQ(world.group(node).receive(1, marker, world.now), Outcome::taken);
  marker[16] = 9;
  EXPECT_EQ(world.group(node).receive(1, marker, world.now), Outcome::refused);
  const Counters counters = world.port(node, 1).counters;
  EXPECT_EQ(counters.marker_rx, 1U);
  EXPECT_EQ(counters.marker_resp_tx, 1U);
  EXPECT_EQ(counters.marker_resp_rx, 1U);
  EXPECT_EQ(counters.marker_unknown_rx, 1U);
  EXPECT_EQ(counters.marker_tx, 0U);

  world.link(node, 1, kDown);
  marker[16] = 1;
  EXPECT_EQ(world.group(node).receive(1, marker, world.now), Outcome::refused);
}

TEST(GroupFrames, AFloodOfMarkersGetsTenAnswersASecond) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0);
  world.run_for(kSecond);
  Frame marker = partner_frame(world, node, 0, 0);
  marker[14] = 2;
  const std::size_t before = world.sent.size();
  for (int i = 0; i < 10'000; ++i) world.group(node).receive(0, marker, world.now + static_cast<Time>(i));
  EXPECT_EQ(world.sent.size(), before + 10);
  EXPECT_EQ(world.port(node, 0).refused.marker_limited, 9'990U);
}

TEST(GroupFrames, AFloodOfPdusGetsThreeAnswersASecond) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  world.run_for(kSecond);
  Frame frame = partner_frame(world, node, 0, kPartnerAtWork);
  for (int i = 0; i < 20'000; ++i) {
    frame[14 + 18] ^= 0x3f;                        // in sync, out of sync, …
    frame[14 + 9] = static_cast<uint8_t>(i);       // of many systems
    frame[14 + 22 + 5] = static_cast<uint8_t>(i);  // that take us for others
    world.group(node).receive(0, frame, world.now);
    world.run_for(kMillisecond / 2);
  }
  EXPECT_TRUE(at_most_three_a_second(world.sent_by(node, 0)));
  EXPECT_EQ(world.port(node, 0).history.size(), History::kKept);
}

TEST(GroupTime, NothingIsDueWithoutPortsOrWhenDown) {
  World world;
  const auto node = world.add({});
  EXPECT_EQ(world.group(node).next_deadline(), std::nullopt);
  world.enslave(node, 0);
  EXPECT_EQ(world.group(node).next_deadline(), world.now);
  world.run_for(kSecond);
  ASSERT_TRUE(world.group(node).remove_port(0, world.now).ok());
  EXPECT_EQ(world.group(node).next_deadline(), std::nullopt);
}

TEST(GroupTime, EarlyAndRepeatedTicksChangeNothing) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  std::vector<Transition> history;
  for (const Time end = world.now + 5 * kSecond; world.now <= end; world.now += 7 * kMillisecond) {
    world.group(node).tick(world.now);
    const std::size_t sent = world.sent.size();
    history = world.port(node, 0).history;
    for (int again = 0; again < 3; ++again) world.group(node).tick(world.now);
    ASSERT_EQ(world.sent.size(), sent);
    ASSERT_EQ(world.port(node, 0).history.size(), history.size());
  }
  // The machines' times are kept within a tick, whatever the calls' times were.
  const auto defaulted = std::find_if(history.begin(), history.end(), [](const Transition& step) {
    return step.machine == Machine::receive && step.to == static_cast<uint16_t>(ReceiveState::defaulted);
  });
  ASSERT_NE(defaulted, history.end());
  EXPECT_GE(defaulted->at, kSecond + kTick + kShortTimeout);
  EXPECT_LE(defaulted->at, kSecond + kTick + kShortTimeout + kTick + 14 * kMillisecond);
}

TEST(GroupTime, RunningBackwardsOrToTheEndIsHarmless) {
  World world;
  const auto node = world.add(fast());
  world.enslave(node, 0);
  Group& group = world.group(node);
  for (Time now : {5 * kSecond, Time{0}, 4 * kSecond, kNever, Time{1}, kNever, kNever - 1}) {
    group.tick(now);
    group.receive(0, partner_frame(world, node, 0, kPartnerAtWork), now);
    group.link(0, now % 2 == 0 ? kDown : k10G, now);
    group.tick(now);
  }
  EXPECT_GE(world.sent.size(), 1U);
  EXPECT_TRUE(group.next_deadline().has_value());
}

TEST(GroupInfoTest, ShowsWhatProcNetBondingNeeds) {
  World world;
  Options options = fast();
  options.ad_actor_sys_prio = 1000;
  options.ad_user_port_key = 5;
  const auto node = world.add(options);
  world.enslave(node, 0);
  world.enslave(node, 1);
  keep_partner(world, node, {0, 1}, 70 * kSecond);
  const GroupInfo info = world.group(node).info();
  EXPECT_TRUE(info.up);
  EXPECT_TRUE(info.carrier);
  EXPECT_EQ(info.system_priority, 1000);
  EXPECT_EQ(info.system, system_mac(1));
  ASSERT_TRUE(info.active.has_value());
  EXPECT_EQ(info.active->id, 1);
  EXPECT_EQ(info.active->ports, 2U);
  EXPECT_EQ(info.active->actor_key, 335);
  EXPECT_EQ(info.active->partner_key, 15);
  EXPECT_EQ(info.active->partner_system, system_mac(0xbb));
  EXPECT_EQ(info.aggregators.size(), 1U);
  EXPECT_EQ(info.counters.lacpdu_tx, world.sent.size());
  EXPECT_EQ(info.counters.lacpdu_rx, 140U);

  const PortInfo port = world.port(node, 1);
  EXPECT_EQ(port.mac, port_mac(1, 1));
  EXPECT_EQ(port.link, k10G);
  EXPECT_EQ(port.aggregator_id, 1);
  EXPECT_EQ(port.actor.state, 63);
  EXPECT_EQ(port.partner.state, kPartnerAtWork);
  EXPECT_EQ(port.receive, ReceiveState::current);
  EXPECT_EQ(port.periodic, PeriodicState::slow);
  EXPECT_EQ(port.mux, MuxState::collecting_distributing);
  EXPECT_EQ(port.actor_churn, ChurnState::none);
  EXPECT_TRUE(port.collecting);
  EXPECT_TRUE(port.distributing);
  EXPECT_TRUE(port.selected);
  EXPECT_GT(port.current_while, world.now - kSecond);
  EXPECT_EQ(port.wait_while, kNever);
  EXPECT_FALSE(port.history.empty());
  EXPECT_TRUE(std::is_sorted(port.history.begin(), port.history.end(),
                             [](const Transition& a, const Transition& b) { return a.at < b.at; }));
  // The counters of a port that left stay in the bond's.
  const uint64_t sent_before = info.counters.lacpdu_tx;
  ASSERT_TRUE(world.group(node).remove_port(1, world.now).ok());
  EXPECT_EQ(world.group(node).info().counters.lacpdu_tx, sent_before + 1);
}

TEST(GroupChanges, ComeOnceAndAreBounded) {
  World world;
  const auto node = world.add({});
  for (uint16_t port = 0; port < kMaxPorts; ++port) world.enslave(node, port, {true, 0, true});
  for (int round = 0; round < 5; ++round) {
    for (uint16_t port = 0; port < kMaxPorts; ++port) {
      world.link(node, port, kDown);
      world.link(node, port, {true, 0, true});
    }
  }
  const Changes changes = world.group(node).take_changes();
  EXPECT_EQ(changes.notices, Changes::kMaxNotices);
  EXPECT_TRUE(changes.any());
  EXPECT_FALSE(world.group(node).take_changes().any());
}

TEST(GroupChanges, TheSameNoticeComesOnce) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0, kDown);
  for (int i = 0; i < 3; ++i) {
    world.link(node, 0, {true, 0, true});
    world.link(node, 0, kDown);
  }
  EXPECT_EQ(world.group(node).take_changes().notices, 1U);
}

TEST(GroupChanges, AnIndividualLinkIsNoticed) {
  World world;
  const auto node = world.add({});
  world.enslave(node, 0, {true, 100, false});
  world.group(node).tick(world.now);
  world.group(node).tick(world.now + kTick);
  const Changes changes = world.group(node).take_changes();
  ASSERT_EQ(changes.notices, 1U);
  EXPECT_EQ(changes.notice[0].kind, Notice::Kind::no_response);
  EXPECT_TRUE(changes.aggregator);
  EXPECT_TRUE(changes.carrier);
  EXPECT_TRUE(changes.usable);
}

TEST(GroupObject, MayMove) {
  auto made = Group::create(system_mac(1), {}, [](uint16_t, std::span<const uint8_t>) {});
  Group group = std::move(made.value());
  Group other = std::move(group);
  ASSERT_TRUE(other.add_port({0, port_mac(1, 0), k10G}, 0).ok());
  EXPECT_EQ(other.ports(), std::vector<uint16_t>{0});
}

}  // namespace
}  // namespace xbond::lacp
