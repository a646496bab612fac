// What must hold under any input: random worlds, with fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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

Options random_options(std::mt19937& random) {
  Options options;
  options.lacp_active = random() % 4 != 0;
  options.lacp_rate = random() % 2 == 0 ? Rate::fast : Rate::slow;
  options.ad_select = static_cast<Select>(random() % 4);
  options.ad_actor_sys_prio = static_cast<uint16_t>(1 + random() % 3);
  if (random() % 4 == 0) options.ad_actor_system = system_mac(static_cast<uint8_t>(random() % 4));
  options.ad_user_port_key = static_cast<uint16_t>(random() % 3);
  options.coupled_control = random() % 2 == 0;
  options.min_links = static_cast<uint32_t>(random() % 3);
  return options;
}

Link random_link(std::mt19937& random) {
  constexpr std::array<uint32_t, 6> kSpeeds{0, 1000, 10000, 25000, 12345, 100000};
  return {random() % 3 != 0, kSpeeds[random() % kSpeeds.size()], random() % 5 != 0};
}

// Everything that a group shows, checked against itself.
void check_group(const World& world, Group& group, std::size_t node) {
  const GroupInfo info = group.info();
  const auto usable = group.usable();
  unsigned active = 0;
  for (const AggregatorInfo& aggregator : info.aggregators) active += aggregator.active ? 1 : 0;
  ASSERT_LE(active, 1U);
  ASSERT_EQ(info.active.has_value(), active == 1);
  ASSERT_EQ(group.carrier(), group.up() && info.active.has_value() && info.active->ports >= info.options.min_links);
  std::set<std::pair<uint32_t, bool>> kinds;
  std::set<uint16_t> numbers;
  std::size_t distributing = 0;
  for (uint16_t id : group.ports()) {
    const PortInfo port = world.port(node, id);
    ASSERT_TRUE(numbers.insert(port.actor.port).second);
    ASSERT_NE(port.actor.port, 0);
    distributing += port.distributing ? 1 : 0;
    ASSERT_EQ(port.collecting, group.collecting(id));
    if (!port.distributing && !port.collecting) continue;
    ASSERT_TRUE(group.up());
    ASSERT_TRUE(port.link.usable());
    ASSERT_TRUE(info.active.has_value());
    ASSERT_EQ(port.aggregator_id, info.active->id);
    kinds.insert({port.link.speed_mbps, port.link.full_duplex});
    ASSERT_TRUE(std::find(usable.begin(), usable.end(), id) != usable.end() || !port.distributing);
  }
  ASSERT_EQ(distributing, usable.size());
  ASSERT_LE(kinds.size(), 1U);  // unlike speed or duplex never together
  if (info.active && info.active->individual) {
    ASSERT_LE(usable.size(), 1U);
  }
}

// Three nodes with four ports each, wired at random; every kind of event at random times.
struct Chaos : World {
  static constexpr uint16_t kPorts = 4;
  std::mt19937 random;

  explicit Chaos(unsigned seed) : random(seed) {
    for (std::size_t node = 0; node < 3; ++node) {
      add(random_options(random), random() % 2 == 0);
      for (uint16_t port = 0; port < kPorts; ++port) enslave(node, port, random_link(random));
    }
    rewire();
  }

  void rewire() {
    std::vector<std::pair<std::size_t, uint16_t>> ends;
    for (std::size_t node = 0; node < 3; ++node) {
      for (uint16_t port = 0; port < kPorts; ++port) {
        cut(node, port);
        ends.emplace_back(node, port);
      }
    }
    std::shuffle(ends.begin(), ends.end(), random);
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
      wire(ends[i].first, ends[i].second, ends[i + 1].first, ends[i + 1].second, random() % (200 * kMillisecond));
      pipe(ends[i].first, ends[i].second).loses = [this](Time) { return random() % 5 == 0; };
    }
  }

  void send_garbage(std::size_t node, uint16_t port) {
    Pdu pdu;
    pdu.actor = {static_cast<uint16_t>(random() % 3), system_mac(static_cast<uint8_t>(random() % 4)), 15, 255, port,
                 static_cast<uint8_t>(random())};
    const auto own = group(node).port(port);
    if (own && random() % 2 == 0) pdu.partner = own->actor;
    Frame frame = encode(pdu, port_mac(9, 9));
    if (random() % 3 == 0) frame[14 + random() % 60] = static_cast<uint8_t>(random());
    group(node).receive(port, std::span(frame).first(random() % 5 == 0 ? random() % frame.size() : frame.size()), now);
  }

  void event() {
    const std::size_t node = random() % 3;
    const auto port = static_cast<uint16_t>(random() % kPorts);
    switch (random() % 12) {
      case 0:
        group(node).set_up(random() % 4 != 0, now);
        break;
      case 1:
        ASSERT_TRUE(group(node).set_options(random_options(random), now).ok());
        break;
      case 2:
        group(node).set_bond_mac(system_mac(static_cast<uint8_t>(random() % 4)), now);
        break;
      case 3:
        (void)group(node).remove_port(port, now);
        break;
      case 4:
        (void)group(node).add_port({port, port_mac(static_cast<uint8_t>(node), 0), random_link(random)}, now);
        break;
      case 5:
        (void)group(node).set_port_priority(port, static_cast<uint16_t>(random() % 3), now);
        break;
      case 6:
      case 7:
        link(node, port, random_link(random));
        break;
      case 8:
        rewire();
        break;
      default:
        send_garbage(node, port);
    }
  }
};

TEST(Property, NeverMoreThanThreePdusASecondUnderAnyInput) {
  std::size_t pdus = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Chaos chaos(seed);
    for (int i = 0; i < 400; ++i) {
      chaos.event();
      chaos.run_for(chaos.random() % (i % 50 == 0 ? 5'000 : 150) * kMillisecond);
    }
    for (std::size_t node = 0; node < 3; ++node) {
      for (uint16_t port = 0; port < Chaos::kPorts; ++port) {
        const auto sent = chaos.sent_by(node, port);
        pdus += sent.size();
        ASSERT_TRUE(at_most_three_a_second(sent)) << "seed " << seed << " node " << node << " port " << port;
      }
    }
  }
  EXPECT_GT(pdus, 10'000U);
}

TEST(Property, AGroupAgreesWithItselfAtEveryMoment) {
  for (unsigned seed = 100; seed < 130; ++seed) {
    Chaos chaos(seed);
    const auto check = [&chaos] {
      for (std::size_t node = 0; node < 3; ++node) check_group(chaos, chaos.group(node), node);
    };
    chaos.after_step = check;
    for (int i = 0; i < 200 && !::testing::Test::HasFatalFailure(); ++i) {
      chaos.event();
      check();
      chaos.run_for(chaos.random() % 300 * kMillisecond);
    }
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << seed;
  }
}

// Whatever happened before: once the world is in order, the bonds work.
TEST(Property, RecoversFromAnyHistory) {
  for (unsigned seed = 200; seed < 260; ++seed) {
    Chaos chaos(seed);
    for (int i = 0; i < 150; ++i) {
      chaos.event();
      chaos.run_for(chaos.random() % 200 * kMillisecond);
    }
    for (std::size_t node = 0; node < 3; ++node) {
      Group& group = chaos.group(node);
      ASSERT_TRUE(group.set_options(fast(), chaos.now).ok());
      group.set_bond_mac(system_mac(static_cast<uint8_t>(0x10 + node)), chaos.now);
      group.set_up(true, chaos.now);
      for (uint16_t port = 0; port < Chaos::kPorts; ++port) {
        chaos.cut(node, port);
        if (!group.port(port)) chaos.enslave(node, port);
        group.link(port, node == 2 ? kDown : k10G, chaos.now);
      }
    }
    for (uint16_t port = 0; port < Chaos::kPorts; ++port) chaos.wire(0, port, 1, port);
    const auto took = chaos.run_while_not([&] { return chaos.usable(0) == 4 && chaos.usable(1) == 4; }, 60 * kSecond);
    ASSERT_TRUE(took.has_value()) << "seed " << seed;
    chaos.run_for(10 * kSecond);
    ASSERT_EQ(chaos.usable(0), 4U) << "seed " << seed;
    ASSERT_EQ(chaos.usable(2), 0U);
  }
}

TEST(Property, FastPdusLeaveASecondApartThoughCallsAreLate) {
  World world;
  std::mt19937 random(1);
  for (int node = 0; node < 2; ++node) world.add(fast());
  for (uint16_t port = 0; port < 4; ++port) world.join(0, port, 1, port);
  world.run_for(20 * kSecond);
  ASSERT_EQ(world.usable(0), 4U);
  const auto changes = world.usable_changes(0);
  world.lateness = [&random] { return random() % (45 * kMillisecond); };
  const Time from = world.now;
  world.run_for(600 * kSecond);
  EXPECT_EQ(world.usable_changes(0), changes);
  for (std::size_t node = 0; node < 2; ++node) {
    for (uint16_t port = 0; port < 4; ++port) {
      const auto pdus = world.sent_by(node, port, from);
      ASSERT_GE(pdus.size(), 599U);
      for (std::size_t i = 1; i < pdus.size(); ++i) {
        const Time spacing = pdus[i].at - pdus[i - 1].at;
        ASSERT_GE(spacing, 900 * kMillisecond);
        ASSERT_LE(spacing, 1100 * kMillisecond);
      }
      // On the grid: lateness does not add up.
      const Time whole = pdus.back().at - pdus.front().at;
      EXPECT_NEAR(static_cast<double>(whole), static_cast<double>((pdus.size() - 1) * kSecond), 45e6);
    }
  }
}

// A valid partner keeps sending; all else that may arrive changes nothing.
TEST(Property, NoFlapWhileAValidPartnerKeepsSending) {
  for (unsigned seed = 300; seed < 320; ++seed) {
    World world;
    std::mt19937 random(seed);
    Options options = fast();
    if (seed % 2 == 0) options.lacp_rate = Rate::slow;
    for (int node = 0; node < 2; ++node) world.add(options);
    for (uint16_t port = 0; port < 2; ++port) world.join(0, port, 1, port);
    world.run_for(20 * kSecond);
    ASSERT_EQ(world.usable(0), 2U);
    const auto before = std::pair(world.usable_changes(0), world.usable_changes(1));
    for (int i = 0; i < 500; ++i) {
      const std::size_t node = random() % 2;
      const auto port = static_cast<uint16_t>(random() % 2);
      Pdu pdu;
      // Our own id, unknown subtypes, bad lengths, markers, short frames.
      pdu.actor = world.port(node, port).actor;
      pdu.actor.state = static_cast<uint8_t>(random());
      Frame frame = encode(pdu, port_mac(9, 9));
      const auto kind = random() % 5;
      if (kind == 0) frame[14] = static_cast<uint8_t>(2 + random() % 250);
      if (kind == 1) frame[14 + 3] = static_cast<uint8_t>(random() % 20);
      if (kind == 2) frame[12] = 0;
      const std::size_t length = kind == 3 ? random() % 124 : frame.size();
      for (unsigned burst = random() % 20; burst-- > 0;) {
        world.group(node).receive(port, std::span(frame).first(length), world.now);
      }
      world.run_for(random() % 700 * kMillisecond);
      ASSERT_EQ(std::pair(world.usable_changes(0), world.usable_changes(1)), before) << seed;
    }
    // Slow ones stay slow, too: nothing that came in made us send more.
    const auto pdus = world.sent_by(0, 0);
    EXPECT_TRUE(at_most_three_a_second(pdus));
  }
}

// A stall of the caller: nothing bursts, and a partner that kept sending is still there.
TEST(Property, AStalledCallerCatchesUpWithoutABurst) {
  World world;
  for (int node = 0; node < 2; ++node) world.add(fast());
  world.join(0, 0, 1, 0);
  world.run_for(20 * kSecond);
  ASSERT_EQ(world.usable(0), 1U);
  const auto changes = world.usable_changes(0);
  Pdu pdu;
  pdu.actor = world.port(1, 0).actor;
  pdu.partner = world.port(0, 0).actor;
  const Frame waiting = encode(pdu, port_mac(2, 0));
  const Time stalled = world.now;
  world.now += 10 * kSecond;
  // Frames that waited are handed in before the tick.
  for (int i = 0; i < 10; ++i) world.group(0).receive(0, waiting, world.now);
  world.group(1).receive(0, encode({1, pdu.partner, pdu.actor, 0}, port_mac(1, 0)), world.now);
  world.run_for(20 * kSecond);
  EXPECT_EQ(world.usable(0), 1U);
  EXPECT_EQ(world.usable_changes(0), changes);
  EXPECT_TRUE(at_most_three_a_second(world.sent_by(0, 0)));
  EXPECT_LE(world.sent_by(0, 0, stalled).size(), 21U);
}

}  // namespace
}  // namespace xbond::lacp
