// Groups against each other over simulated wires.
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/lacp/transmit.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

Options with(Rate rate, bool active = true, bool coupled = true) {
  Options options;
  options.lacp_rate = rate;
  options.lacp_active = active;
  options.coupled_control = coupled;
  return options;
}

// Two nodes, 0 and 1, with so many links; enslaved first, then opened, as `ip link` scripts do.
struct Pair : World {
  explicit Pair(const Options& a, const Options& b, uint16_t links = 2) : count(links) {
    add(a, false);
    add(b, false);
    for (uint16_t port = 0; port < links; ++port) join(0, port, 1, port);
  }
  void open() {
    group(0).set_up(true, now);
    group(1).set_up(true, now);
  }
  [[nodiscard]] bool both(std::size_t ports) const { return usable(0) == ports && usable(1) == ports; }
  std::optional<Time> converge(Time limit = 20 * kSecond) {
    open();
    return run_while_not([this] { return both(count); }, limit);
  }
  [[nodiscard]] std::pair<unsigned, unsigned> flaps() const { return {usable_changes(0), usable_changes(1)}; }

  uint16_t count;
};

struct Mix {
  const char* name;
  Options a;
  Options b;
};

class Pairs : public ::testing::TestWithParam<Mix> {};

TEST_P(Pairs, ConvergeWithinFourSecondsAndStay) {
  Pair pair(GetParam().a, GetParam().b);
  const auto took = pair.converge();
  ASSERT_TRUE(took.has_value());
  // Two seconds of aggregate wait; the rest is ticks, PDU spacing, and a passive side's first answer.
  EXPECT_LE(*took, 4 * kSecond);
  pair.run_for(2 * kSecond);
  const auto before = pair.flaps();
  pair.run_for(600 * kSecond);
  EXPECT_TRUE(pair.both(2));
  EXPECT_EQ(pair.flaps(), before);
  for (std::size_t node : {0, 1}) {
    for (uint16_t port : {0, 1}) {
      EXPECT_TRUE(at_most_three_a_second(pair.sent_by(node, port)));
      EXPECT_EQ(pair.port(node, port).actor_churn, ChurnState::none);
      EXPECT_EQ(pair.port(node, port).partner_churn, ChurnState::none);
      EXPECT_EQ(pair.port(node, port).aggregator_id, 1);
    }
  }
}

TEST_P(Pairs, NobodySendsBeforeTheOtherEndCollects) {
  Pair pair(GetParam().a, GetParam().b);
  bool was[2][2] = {};
  unsigned entered = 0;
  pair.after_step = [&] {
    for (std::size_t node : {0, 1}) {
      for (uint16_t port : {0, 1}) {
        const bool is = pair.port(node, port).distributing;
        if (is && !was[node][port]) {
          ++entered;
          EXPECT_TRUE(pair.group(1 - node).collecting(port)) << "node " << node << " port " << port;
        }
        was[node][port] = is;
      }
    }
  };
  // The fall-back before the partner is heard sends without asking; so let them meet first, on the real partner only.
  pair.open();
  pair.run_while_not([&] { return pair.port(0, 0).partner.system != Mac{} && pair.port(1, 0).partner.system != Mac{}; },
                     5 * kSecond);
  entered = 0;
  pair.run_for(20 * kSecond);
  EXPECT_TRUE(pair.both(2));
  EXPECT_GE(entered, 3U);
}

TEST_P(Pairs, PeriodsFollowTheOthersWish) {
  Pair pair(GetParam().a, GetParam().b, 1);
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(40 * kSecond + kTick / 2);  // off the grid, so that a PDU at either end counts once
  const Time from = pair.now;
  pair.run_for(300 * kSecond);
  for (std::size_t node : {0, 1}) {
    const Rate wish = node == 0 ? GetParam().b.lacp_rate : GetParam().a.lacp_rate;
    const Time period = wish == Rate::fast ? kFastPeriod : kSlowPeriod;
    const auto pdus = pair.sent_by(node, 0, from);
    ASSERT_EQ(pdus.size(), 300 * kSecond / period);
    for (std::size_t i = 1; i < pdus.size(); ++i) EXPECT_EQ(pdus[i].at - pdus[i - 1].at, period);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mixes, Pairs,
    ::testing::Values(Mix{"fast", with(Rate::fast), with(Rate::fast)}, Mix{"slow", with(Rate::slow), with(Rate::slow)},
                      Mix{"slow_fast", with(Rate::slow), with(Rate::fast)},
                      Mix{"fast_slow", with(Rate::fast), with(Rate::slow)},
                      Mix{"passive_first", with(Rate::fast, false), with(Rate::fast)},
                      Mix{"passive_second", with(Rate::fast), with(Rate::fast, false)},
                      Mix{"passive_slow", with(Rate::slow, false), with(Rate::slow)},
                      Mix{"independent", with(Rate::fast, true, false), with(Rate::fast, true, false)},
                      Mix{"coupled_independent", with(Rate::fast), with(Rate::fast, true, false)},
                      Mix{"independent_slow_passive", with(Rate::slow, true, false), with(Rate::fast, false, true)}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Pair, BothPassiveStaySilentOnOneLinkEach) {
  Pair pair(with(Rate::fast, false), with(Rate::fast, false));
  EXPECT_FALSE(pair.converge().has_value());
  pair.run_for(100 * kSecond);
  EXPECT_TRUE(pair.sent.empty());
  EXPECT_TRUE(pair.both(1));
}

TEST(Pair, ConvergesOverALongWire) {
  for (Time delay : {Time{0}, 50 * kMillisecond, 300 * kMillisecond, 900 * kMillisecond}) {
    Pair pair(with(Rate::fast), with(Rate::fast));
    for (std::size_t node : {0, 1}) {
      for (uint16_t port : {0, 1}) pair.pipe(node, port).delay = delay;
    }
    ASSERT_TRUE(pair.converge().has_value()) << delay;
    pair.run_for(10 * kSecond);
    const auto before = pair.flaps();
    pair.run_for(100 * kSecond);
    EXPECT_EQ(pair.flaps(), before);
  }
}

TEST(Pair, ConvergesThroughHeavyLoss) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    Pair pair(with(Rate::fast), with(Rate::fast));
    std::mt19937 random(seed);
    for (std::size_t node : {0, 1}) {
      for (uint16_t port : {0, 1}) pair.pipe(node, port).loses = [&random](Time) { return random() % 2 == 0; };
    }
    EXPECT_TRUE(pair.converge(300 * kSecond).has_value()) << seed;
    EXPECT_TRUE(at_most_three_a_second(pair.sent_by(0, 0)));
  }
}

TEST(Pair, TwoLostPdusInARowAreNoFlap) {
  Pair pair(with(Rate::fast), with(Rate::fast));
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(5 * kSecond);
  unsigned count = 0;
  // Every third one comes through.
  pair.pipe(0, 0).loses = [&count](Time) { return count++ % 3 != 2; };
  const auto before = pair.flaps();
  pair.run_for(300 * kSecond);
  EXPECT_GT(count, 290U);
  EXPECT_EQ(pair.flaps(), before);
}

TEST(Pair, OneDeafSideEndsTheLinkOnBothAndHealingBringsItBack) {
  for (Rate rate : {Rate::fast, Rate::slow}) {
    Pair pair(with(rate), with(rate));
    ASSERT_TRUE(pair.converge().has_value());
    pair.run_for(5 * kSecond);
    bool deaf = true;
    pair.pipe(1, 0).loses = [&deaf](Time) { return deaf; };  // node 0 does not hear node 1 on link 0
    const Time limit = rate == Rate::fast ? 5 * kSecond : 125 * kSecond;
    const auto first = pair.run_while_not([&] { return pair.both(1); }, limit);
    ASSERT_TRUE(first.has_value());
    pair.run_for(70 * kSecond);
    EXPECT_TRUE(pair.both(1));
    EXPECT_EQ(pair.group(0).usable()[0], 1);
    EXPECT_EQ(pair.group(1).usable()[0], 1);
    EXPECT_NE(pair.port(1, 0).mux, MuxState::collecting_distributing);
    // Node 1 hears that it is not known: its partner is in churn. (Fast, it forgets the partner between two PDUs: one
    // that knows nobody sends slowly.)
    EXPECT_EQ(pair.port(1, 0).partner_churned_count, rate == Rate::fast ? 0 : 1);
    deaf = false;
    EXPECT_TRUE(pair.run_while_not([&] { return pair.both(2); }, 40 * kSecond).has_value());
  }
}

TEST(Pair, ASilentCutIsSeenAfterTheTimeoutAndACarrierCutAtOnce) {
  Pair silent(with(Rate::fast), with(Rate::fast));
  ASSERT_TRUE(silent.converge().has_value());
  silent.run_for(5 * kSecond);
  silent.cut(0, 0);
  const auto took = silent.run_while_not([&] { return silent.both(1); }, 10 * kSecond);
  ASSERT_TRUE(took.has_value());
  EXPECT_GE(*took, 2 * kSecond);
  EXPECT_LE(*took, kShortTimeout + 2 * kTick);

  Pair carrier(with(Rate::slow), with(Rate::slow));
  ASSERT_TRUE(carrier.converge().has_value());
  carrier.link(0, 0, kDown);
  carrier.link(1, 0, kDown);
  EXPECT_TRUE(carrier.both(1));
  carrier.run_for(10 * kSecond);
  carrier.link(0, 0, k10G);
  carrier.link(1, 0, k10G);
  EXPECT_TRUE(carrier.run_while_not([&] { return carrier.both(2); }, 5 * kSecond).has_value());
}

TEST(Pair, ABouncingLinkComesBackIntoItsAggregator) {
  Pair pair(with(Rate::slow), with(Rate::slow), 3);
  ASSERT_TRUE(pair.converge().has_value());
  for (int i = 0; i < 5; ++i) {
    pair.link(0, 0, kDown);
    pair.link(0, 0, k10G);  // within a tick
    EXPECT_EQ(pair.usable(0), 2U);
    ASSERT_TRUE(pair.run_while_not([&] { return pair.both(3); }, 40 * kSecond).has_value()) << i;
    EXPECT_EQ(pair.port(0, 0).aggregator_id, pair.port(0, 1).aggregator_id);
  }
}

TEST(Pair, APortThatComesUpLateJoinsTheOthers) {
  Pair pair(with(Rate::slow), with(Rate::slow), 2);
  pair.enslave(0, 7, kDown);
  pair.enslave(1, 7, kDown);
  pair.wire(0, 7, 1, 7);
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(100 * kSecond);
  const auto before = pair.group(0).info().active->id;
  pair.link(0, 7, k10G);
  pair.link(1, 7, k10G);
  EXPECT_TRUE(pair.run_while_not([&] { return pair.both(3); }, 5 * kSecond).has_value());
  EXPECT_EQ(pair.port(0, 7).aggregator_id, before);
  // … and so does one that is enslaved late.
  pair.join(0, 8, 1, 8);
  EXPECT_TRUE(pair.run_while_not([&] { return pair.both(4); }, 5 * kSecond).has_value());
  EXPECT_EQ(pair.group(0).info().active->id, before);
}

TEST(Pair, LeavingIsFeltByThePartnerAtOnce) {
  Pair pair(with(Rate::slow), with(Rate::slow));
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(50 * kSecond);
  ASSERT_TRUE(pair.group(0).remove_port(0, pair.now).ok());
  pair.run_for(kMillisecond);  // the wire's delay and no more
  EXPECT_TRUE(pair.both(1));
  pair.run_for(100 * kSecond);
  EXPECT_TRUE(pair.both(1));

  pair.group(0).set_up(false, pair.now);
  pair.run_for(kMillisecond);
  EXPECT_EQ(pair.usable(1), 0U);
}

TEST(Pair, MembersMayComeAndGo) {
  Pair pair(with(Rate::fast), with(Rate::fast), 4);
  ASSERT_TRUE(pair.converge().has_value());
  for (uint16_t leaving : {0, 3, 1, 2, 0}) {
    ASSERT_TRUE(pair.group(0).remove_port(leaving, pair.now).ok());
    EXPECT_EQ(pair.usable(0), 3U);
    pair.run_for(3 * kSecond);
    EXPECT_EQ(pair.usable(0), 3U);
    EXPECT_EQ(pair.usable(1), 3U);
    pair.enslave(0, leaving);
    ASSERT_TRUE(pair.run_while_not([&] { return pair.both(4); }, 10 * kSecond).has_value()) << leaving;
    EXPECT_EQ(pair.port(0, leaving).aggregator_id, pair.group(0).info().active->id);
  }
  for (uint16_t port = 0; port < 4; ++port) EXPECT_TRUE(at_most_three_a_second(pair.sent_by(0, port)));
}

TEST(Pair, ARestartedPartnerIsTakenBack) {
  for (bool farewell : {false, true}) {
    Pair pair(with(Rate::fast), with(Rate::fast));
    ASSERT_TRUE(pair.converge().has_value());
    pair.run_for(5 * kSecond);
    if (farewell) {
      pair.group(1).set_up(false, pair.now);
    } else {
      for (uint16_t port : {0, 1}) pair.cut(1, port);  // the process died
    }
    pair.run_for(1 * kSecond);
    // Another process with the same system id.
    for (uint16_t port : {0, 1}) pair.cut(1, port);
    const auto again = pair.add(with(Rate::fast), false, uint8_t{2});
    for (uint16_t port : {0, 1}) {
      pair.enslave(again, port);
      pair.wire(0, port, again, port);
    }
    pair.group(again).set_up(true, pair.now);
    const auto took = pair.run_while_not([&] { return pair.usable(0) == 2 && pair.usable(again) == 2; }, 20 * kSecond);
    ASSERT_TRUE(took.has_value());
    EXPECT_LE(*took, 5 * kSecond);
    EXPECT_EQ(pair.port(0, 0).aggregator_id, pair.port(0, 1).aggregator_id);
  }
}

TEST(Pair, UnlikeSpeedsUseTheFasterAggregatorOnly) {
  World world;
  for (int node = 0; node < 2; ++node) world.add(with(Rate::fast));
  world.join(0, 0, 1, 0, {true, 10000, true});
  world.join(0, 1, 1, 1, {true, 100000, true});
  world.join(0, 2, 1, 2, {true, 25000, true});
  world.join(0, 3, 1, 3, {true, 100000, true});
  world.run_for(20 * kSecond);
  for (std::size_t node : {0, 1}) {
    const auto usable = world.group(node).usable();
    ASSERT_EQ(usable.size(), 1U + (usable.size() > 1 ? 1 : 0));
    const PortInfo first = world.port(node, usable[0]);
    for (uint16_t port : usable) EXPECT_EQ(world.port(node, port).link, first.link);
  }
  // bandwidth takes the two of 100G, on both sides
  for (std::size_t node : {0, 1}) world.set(node, [](Options& o) { o.ad_select = Select::bandwidth; });
  world.run_for(10 * kSecond);
  for (std::size_t node : {0, 1}) {
    const auto usable = world.group(node).usable();
    EXPECT_EQ(std::vector<uint16_t>(usable.begin(), usable.end()), (std::vector<uint16_t>{1, 3}));
  }
}

TEST(Pair, ALoopedCableIsNoPartner) {
  World world;
  const auto node = world.add(with(Rate::fast));
  world.enslave(node, 0);
  world.enslave(node, 1);
  world.enslave(node, 2);
  world.wire(node, 0, node, 1);  // one port into the other
  world.wire(node, 2, node, 2);  // and one into itself
  world.run_for(100 * kSecond);
  for (uint16_t port : {0, 1, 2}) {
    EXPECT_EQ(world.port(node, port).partner.system, Mac{});
    EXPECT_EQ(world.port(node, port).receive, ReceiveState::defaulted);
    EXPECT_GT(world.port(node, port).refused.loopback, 0U);
    EXPECT_TRUE(at_most_three_a_second(world.sent_by(node, port)));
  }
}

// Node 0 in the middle: two links to node 1, two to node 2.
struct Star : World {
  Star() {
    for (int node = 0; node < 3; ++node) add(with(Rate::fast));
    join(0, 0, 1, 0);
    join(0, 1, 2, 1);
    join(0, 2, 1, 2);
    join(0, 3, 2, 3);
    run_for(20 * kSecond);
  }
};

TEST(Pair, OfSeveralPartnersOneCarries) {
  Star star;
  ASSERT_EQ(star.usable(0), 2U);
  EXPECT_EQ(star.group(0).usable()[0], 0);
  EXPECT_EQ(star.group(0).usable()[1], 2);
  EXPECT_EQ(star.usable(1), 2U);
  EXPECT_EQ(star.usable(2), 0U);  // told that its links are not in sync
  star.run_for(60 * kSecond);
  EXPECT_EQ(star.port(0, 1).actor_churned_count, 1);    // we are not in sync with node 2 …
  EXPECT_EQ(star.port(2, 1).partner_churned_count, 1);  // … and it knows
  EXPECT_EQ(star.port(2, 1).actor_churned_count, 0);
  EXPECT_EQ(star.port(0, 0).actor_churned_count, 0);

  // The carrying partner fails: the other one takes over. It is already attached, so no aggregate wait.
  for (uint16_t port : {0, 2}) star.link(0, port, kDown);
  const auto took = star.run_while_not([&] { return star.usable(0) == 2 && star.usable(2) == 2; }, 10 * kSecond);
  ASSERT_TRUE(took.has_value());
  EXPECT_LE(*took, 2 * kSecond);
  // stable: it stays when the first comes back
  for (uint16_t port : {0, 2}) star.link(0, port, k10G);
  star.run_for(10 * kSecond);
  EXPECT_EQ(star.group(0).usable()[0], 1);
  EXPECT_EQ(star.usable(1), 0U);
}

TEST(Pair, ASilentPartnerLosesTheTrafficToTheOther) {
  Star star;
  for (uint16_t port : {0, 2}) star.cut(0, port);
  const auto took = star.run_while_not([&] { return star.usable(0) == 2 && star.usable(2) == 2; }, 20 * kSecond);
  ASSERT_TRUE(took.has_value());
  EXPECT_LE(*took, 2 * kShortTimeout + 2 * kSecond);
}

TEST(Pair, APortMovedToAnotherPartnerLeavesTheAggregator) {
  Pair pair(with(Rate::fast), with(Rate::fast));
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(5 * kSecond);
  const auto third = pair.add(with(Rate::fast));
  pair.enslave(third, 0);
  pair.cut(0, 0);
  pair.wire(0, 0, third, 0);
  const auto took = pair.run_while_not([&] { return pair.usable(0) == 1 && pair.usable(1) == 1; }, 10 * kSecond);
  ASSERT_TRUE(took.has_value());
  pair.run_for(5 * kSecond);
  EXPECT_EQ(pair.group(0).usable()[0], 1);
  EXPECT_NE(pair.port(0, 0).aggregator_id, pair.port(0, 1).aggregator_id);
  EXPECT_EQ(pair.port(0, 0).partner.system, system_mac(3));
  EXPECT_EQ(pair.usable(third), 0U);
  // The whole bond moves: node 0's second link too.
  pair.enslave(third, 1);
  pair.cut(0, 1);
  pair.wire(0, 1, third, 1);
  EXPECT_TRUE(
      pair.run_while_not([&] { return pair.usable(0) == 2 && pair.usable(third) == 2; }, 20 * kSecond).has_value());
}

TEST(Pair, RatesMayChangeAtRunTimeWithoutAFlap) {
  Pair pair(with(Rate::slow), with(Rate::slow));
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(70 * kSecond);
  const auto before = pair.flaps();
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const Rate rate = random() % 2 == 0 ? Rate::fast : Rate::slow;
    pair.set(random() % 2, [rate](Options& o) { o.lacp_rate = rate; });
    pair.run_for(random() % 40'000 * kMillisecond);
    ASSERT_EQ(pair.flaps(), before) << i;
  }
}

TEST(Pair, RatesMayChangeThoughTheNewsIsLost) {
  for (Rate from : {Rate::slow, Rate::fast}) {
    Pair pair(with(from), with(from));
    ASSERT_TRUE(pair.converge().has_value());
    pair.run_for(70 * kSecond);
    const auto before = pair.flaps();
    // The next PDU of each link, the news, is lost.
    unsigned lost = 0;
    for (uint16_t port : {0, 1}) {
      pair.pipe(0, port).loses = [&lost, first = true](Time) mutable {
        lost += first ? 1 : 0;
        return std::exchange(first, false);
      };
    }
    pair.set(0, [from](Options& o) { o.lacp_rate = from == Rate::slow ? Rate::fast : Rate::slow; });
    pair.run_for(200 * kSecond);
    EXPECT_EQ(lost, 2U);
    EXPECT_EQ(pair.flaps(), before);
    EXPECT_EQ(pair.port(1, 0).periodic, from == Rate::slow ? PeriodicState::fast : PeriodicState::slow);
  }
}

TEST(Pair, ActivityMinLinksAndPolicyMayChangeWithoutAFlap) {
  Pair pair(with(Rate::fast), with(Rate::fast));
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(5 * kSecond);
  const auto before = pair.flaps();
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    pair.set(1, [&random](Options& o) {
      o.lacp_active = random() % 2 == 0;
      o.min_links = static_cast<uint32_t>(random() % 4);
      o.ad_select = static_cast<Select>(random() % 4);
      o.coupled_control = random() % 2 == 0;
    });
    pair.run_for(random() % 3'000 * kMillisecond);
    ASSERT_EQ(pair.flaps(), before) << i;
  }
}

TEST(Pair, ANewSystemIdIsAgreedOnWithinSeconds) {
  Pair pair(with(Rate::slow), with(Rate::slow));
  ASSERT_TRUE(pair.converge().has_value());
  pair.run_for(50 * kSecond);
  pair.group(0).set_bond_mac(system_mac(0x99), pair.now);
  pair.run_for(kMillisecond);
  EXPECT_EQ(pair.port(1, 0).partner.system, system_mac(0x99));
  pair.run_for(5 * kSecond);
  EXPECT_TRUE(pair.both(2));
  EXPECT_EQ(pair.port(1, 0).aggregator_id, pair.port(1, 1).aggregator_id);
}

TEST(Pair, ChurnIsCountedWhileThePartnerNeverGetsInSync) {
  // Node 1 is a group whose aggregator of this link is never the active one.
  World world;
  world.add(with(Rate::fast));
  world.add(with(Rate::fast));
  world.add(with(Rate::fast));
  world.join(1, 0, 2, 0);
  world.join(1, 1, 2, 1);
  world.run_for(15 * kSecond);
  world.join(0, 0, 1, 2);
  world.run_for(70 * kSecond);
  EXPECT_EQ(world.usable(0), 0U);
  EXPECT_EQ(name(world.port(0, 0).partner_churn), "churned");
  EXPECT_EQ(name(world.port(0, 0).actor_churn), "none");
  EXPECT_EQ(name(world.port(1, 2).actor_churn), "churned");
  EXPECT_TRUE(world.group(0).carrier());  // as in Linux: the active aggregator has a link
  // It becomes the active one: churn ends.
  world.link(1, 0, kDown);
  world.link(1, 1, kDown);
  world.run_for(10 * kSecond);
  EXPECT_EQ(world.usable(0), 1U);
  EXPECT_EQ(name(world.port(0, 0).partner_churn), "none");
  EXPECT_EQ(world.port(0, 0).partner_churned_count, 1);
}

}  // namespace
}  // namespace xbond::lacp
