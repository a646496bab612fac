// Which aggregator a port belongs to, and which one carries the traffic.
#include <gtest/gtest.h>

#include "lib/lacp/selection.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

constexpr Time kNow = 1000 * kSecond;

struct Bench {
  Ports ports;

  // partner 0: none
  Port& add(uint8_t partner, uint32_t speed = 10000, uint16_t priority = 255) {
    const auto number = static_cast<uint16_t>(ports.size() + 1);
    ports.push_back(std::make_unique<Port>(fresh_port(number)));
    Port& port = *ports.back();
    port.actor.port_priority = priority;
    set_speed(port, speed);
    if (partner != 0) meet(port, partner);
    return port;
  }
  static void set_speed(Port& port, uint32_t speed, bool full = true) {
    port.link = {true, speed, full};
    port.lacp_enabled = full;
    port.actor.key = oper_key(0, port.link);
  }
  static void meet(Port& port, uint8_t partner, uint16_t key = 15) {
    port.partner = {100, system_mac(partner), key, 255, port.actor.port, kActivity | kAggregation};
    port.selected = false;
  }
  void assign_all() {
    for (const auto& port : ports) assign(ports, *port, kNow);
  }
  uint16_t choose_id(Select policy) {
    const Aggregator* const chosen = choose(ports, policy);
    EXPECT_EQ(chosen, active_aggregator(ports));
    return chosen == nullptr ? uint16_t{0} : chosen->id;
  }
};

TEST(Selection, PortsThatAgreeShareAnAggregator) {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.add(0xbb);
  bench.assign_all();
  for (const auto& port : bench.ports) {
    EXPECT_TRUE(port->selected);
    EXPECT_EQ(port->aggregator, &bench.ports[0]->own);
  }
  EXPECT_EQ(active_ports(bench.ports, bench.ports[0]->own), 4U);
}

TEST(Selection, ASelectedPortStays) {
  Bench bench;
  Port& port = bench.add(0xbb);
  bench.assign_all();
  port.partner.key = 99;
  assign(bench.ports, port, kNow);
  EXPECT_EQ(port.aggregator->partner_key, 15);
}

TEST(Selection, PortsWithoutAPartnerStayAlone) {
  Bench bench;
  bench.add(0);
  bench.add(0);
  bench.assign_all();
  EXPECT_NE(bench.ports[0]->aggregator, bench.ports[1]->aggregator);
}

TEST(Selection, EachDifferenceOfThePartnerSeparates) {
  const std::vector<std::function<void(Info&)>> changes{[](Info& info) { info.system[5] ^= 1U; },
                                                        [](Info& info) { ++info.system_priority; },
                                                        [](Info& info) { ++info.key; }};
  for (const auto& change : changes) {
    Bench bench;
    bench.add(0xbb);
    change(bench.add(0xbb).partner);
    bench.assign_all();
    EXPECT_NE(bench.ports[0]->aggregator, bench.ports[1]->aggregator);
  }
  Bench same;
  same.add(0xbb);
  Port& other = same.add(0xbb);
  ++other.partner.port_priority;  // a port's own, no difference of the partner
  ++other.partner.port;
  same.assign_all();
  EXPECT_EQ(same.ports[0]->aggregator, same.ports[1]->aggregator);
}

TEST(Selection, UnlikeSpeedsNeverMeet) {
  const std::vector<uint32_t> speeds{
      10,    100,   1000,   2500,   5000,   10000,  14000,   20000, 25000, 40000, 50000,
      56000, 80000, 100000, 200000, 400000, 800000, 1600000, 12345, 32000};  // the last two have no code, so equal keys
  for (uint32_t a : speeds) {
    for (uint32_t b : speeds) {
      Bench bench;
      bench.add(0xbb, a);
      bench.add(0xbb, b);
      bench.assign_all();
      EXPECT_EQ(bench.ports[0]->aggregator == bench.ports[1]->aggregator, a == b) << a << " and " << b;
    }
  }
}

TEST(Selection, HalfDuplexIsIndividual) {
  Bench bench;
  Bench::set_speed(bench.add(0xbb), 1000, false);
  Bench::set_speed(bench.add(0xbb), 1000, false);
  Bench::set_speed(bench.add(0xbb), 1000, true);
  bench.assign_all();
  EXPECT_TRUE(bench.ports[0]->aggregator->individual);
  EXPECT_TRUE(bench.ports[1]->aggregator->individual);
  EXPECT_FALSE(bench.ports[2]->aggregator->individual);
  EXPECT_NE(bench.ports[0]->aggregator, bench.ports[1]->aggregator);
  EXPECT_NE(bench.ports[1]->aggregator, bench.ports[2]->aggregator);
}

TEST(Selection, APartnerThatDoesNotAggregateIsIndividual) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(0xbb).partner.set(kAggregation, i == 2);
  bench.assign_all();
  EXPECT_TRUE(bench.ports[0]->aggregator->individual);
  EXPECT_TRUE(bench.ports[1]->aggregator->individual);
  EXPECT_FALSE(bench.ports[2]->aggregator->individual);
  EXPECT_NE(bench.ports[0]->aggregator, bench.ports[1]->aggregator);
  EXPECT_NE(bench.ports[0]->aggregator, bench.ports[2]->aggregator);
  // … though it comes first; not individual before individual.
  EXPECT_EQ(bench.choose_id(Select::bandwidth), 3);
}

TEST(Selection, AnIndividualPortDoesNotJoinOthers) {
  Bench bench;
  bench.add(0xbb);
  bench.add(0xbb).partner.set(kAggregation, false);
  bench.assign_all();
  EXPECT_NE(bench.ports[0]->aggregator, bench.ports[1]->aggregator);
  EXPECT_TRUE(bench.ports[1]->aggregator->individual);
}

TEST(Selection, ALatePortJoinsTheOthers) {
  Bench bench;
  bench.add(0xbb);
  bench.add(0xbb);
  Port& late = bench.add(0);
  bench.assign_all();
  EXPECT_EQ(late.aggregator, &bench.ports[1]->own);  // the first free one
  Bench::meet(late, 0xbb);
  assign(bench.ports, late, kNow);
  EXPECT_EQ(late.aggregator, &bench.ports[0]->own);
  EXPECT_EQ(bench.ports[1]->own.actor_key, 0);  // cleared again
}

TEST(Selection, APortWhosePartnerChangesTakesTheFirstFreeAggregator) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(0xbb);
  bench.assign_all();
  Port& moved = *bench.ports[0];
  Bench::meet(moved, 0xcc);
  assign(bench.ports, moved, kNow);
  EXPECT_EQ(moved.aggregator, &bench.ports[1]->own);  // its own one serves the others
  EXPECT_EQ(moved.aggregator->partner_system, system_mac(0xcc));
}

TEST(Selection, ThereIsAnAggregatorForEveryPortOfItsOwn) {
  Bench bench;
  for (uint8_t i = 0; i < kMaxPorts; ++i) bench.add(static_cast<uint8_t>(i + 1));
  bench.assign_all();
  for (const auto& port : bench.ports) EXPECT_TRUE(port->selected);
  EXPECT_EQ(active_ports(bench.ports, bench.ports[7]->own), 1U);
}

TEST(Selection, ALeavingPortHandsItsAggregatorOver) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(0xbb);
  bench.assign_all();
  ASSERT_EQ(bench.choose_id(Select::stable), 1);
  Port& leaving = *bench.ports[0];
  detach(bench.ports, leaving);
  hand_over(bench.ports, leaving, kNow);
  EXPECT_EQ(bench.ports[1]->aggregator, &bench.ports[1]->own);
  EXPECT_EQ(bench.ports[2]->aggregator, &bench.ports[1]->own);
  EXPECT_TRUE(bench.ports[1]->own.active);
  EXPECT_EQ(bench.ports[1]->own.id, 2);
  EXPECT_EQ(bench.ports[1]->own.partner_system, system_mac(0xbb));
  EXPECT_FALSE(leaving.own.active);
  EXPECT_TRUE(bench.ports[1]->selected);  // nothing else changed for them
}

TEST(Selection, ALeavingPortInAnothersAggregatorHandsNothingOver) {
  Bench bench;
  for (int i = 0; i < 2; ++i) bench.add(0xbb);
  bench.assign_all();
  detach(bench.ports, *bench.ports[1]);
  hand_over(bench.ports, *bench.ports[1], kNow);
  EXPECT_EQ(bench.ports[0]->aggregator, &bench.ports[0]->own);
}

TEST(Choice, NoneWithoutAWorkingLink) {
  Bench bench;
  EXPECT_EQ(bench.choose_id(Select::stable), 0);
  bench.add(0xbb);
  bench.assign_all();
  EXPECT_EQ(bench.choose_id(Select::stable), 1);
  bench.ports[0]->enabled = false;
  EXPECT_EQ(bench.choose_id(Select::stable), 0);
  bench.ports[0]->enabled = true;
  bench.ports[0]->begin = true;  // not caught up with its link yet
  EXPECT_EQ(bench.choose_id(Select::stable), 0);
}

TEST(Choice, APartnerBeforeNone) {
  for (Select policy : {Select::stable, Select::bandwidth, Select::count, Select::actor_port_prio}) {
    Bench bench;
    bench.add(0, 100000, 1000);
    bench.add(0xbb, 10, 1);
    bench.assign_all();
    EXPECT_EQ(bench.choose_id(policy), 2);
  }
}

// Aggregators 1: one port of 25G, priority 255; 2: two of 10G, priority 100 each; 3: three of 1G, priority 60 each.
Bench three() {
  Bench bench;
  bench.add(0xb1, 25000, 255);
  bench.add(0xb2, 10000, 100);
  bench.add(0xb3, 1000, 60);
  bench.add(0xb2, 10000, 100);
  bench.add(0xb3, 1000, 60);
  bench.add(0xb3, 1000, 60);
  bench.assign_all();
  return bench;
}

TEST(Choice, BandwidthCountAndPriority) {
  EXPECT_EQ(three().choose_id(Select::bandwidth), 1);
  EXPECT_EQ(three().choose_id(Select::count), 3);
  EXPECT_EQ(three().choose_id(Select::actor_port_prio), 1);  // 255, 200, 180
  Bench raised = three();
  for (const auto& port : raised.ports) {
    if (port->aggregator->id == 3) port->actor.port_priority = 90;
  }
  EXPECT_EQ(raised.choose_id(Select::actor_port_prio), 3);  // 255, 200, 270
}

TEST(Choice, StableStartsWithBandwidth) {
  EXPECT_EQ(three().choose_id(Select::stable), 1);
}

TEST(Choice, OnlyWorkingLinksCount) {
  Bench bench = three();
  for (const auto& port : bench.ports) port->enabled = port->id != 1 && port->id != 5 && port->id != 6;
  EXPECT_EQ(bench.choose_id(Select::bandwidth), 2);
  EXPECT_EQ(bench.choose_id(Select::count), 2);
}

TEST(Choice, CountTiesAreBrokenByBandwidthAndPriorityTiesByCount) {
  Bench by_bandwidth;
  by_bandwidth.add(0xb1, 1000);
  by_bandwidth.add(0xb2, 10000);
  by_bandwidth.assign_all();
  EXPECT_EQ(by_bandwidth.choose_id(Select::count), 2);

  Bench by_count;
  by_count.add(0xb1, 10000, 200);
  by_count.add(0xb2, 1000, 100);
  by_count.add(0xb2, 1000, 100);
  by_count.assign_all();
  EXPECT_EQ(by_count.choose_id(Select::actor_port_prio), 2);
}

TEST(Choice, TheFirstOrPresentOneWinsAllTies) {
  for (Select policy : {Select::stable, Select::bandwidth, Select::count, Select::actor_port_prio}) {
    Bench bench;
    bench.add(0xb1);
    bench.add(0xb2);
    bench.assign_all();
    EXPECT_EQ(bench.choose_id(policy), 1);
    bench.ports[0]->enabled = false;
    EXPECT_EQ(bench.choose_id(policy), 2);
    bench.ports[0]->enabled = true;
    EXPECT_EQ(bench.choose_id(policy), 2);  // no switching back without a gain
  }
}

TEST(Choice, StableStaysWhereTheOthersSwitch) {
  for (Select policy : {Select::stable, Select::bandwidth, Select::count, Select::actor_port_prio}) {
    Bench bench;
    bench.add(0xb1);
    Port& second = bench.add(0xb2);
    bench.add(0xb2);
    bench.ports[2]->enabled = false;
    bench.assign_all();
    second.actor.port_priority = 1;
    ASSERT_EQ(bench.choose_id(policy), 1);
    bench.ports[2]->enabled = true;
    EXPECT_EQ(bench.choose_id(policy), policy == Select::stable ? 1 : 2);
    bench.ports[0]->enabled = false;
    EXPECT_EQ(bench.choose_id(policy), 2);
  }
}

TEST(Choice, StableLeavesAnAggregatorWithoutAPartner) {
  Bench bench;
  bench.add(0);
  Port& second = bench.add(0);
  bench.assign_all();
  ASSERT_EQ(bench.choose_id(Select::stable), 1);
  Bench::meet(second, 0xbb);
  assign(bench.ports, second, kNow);
  EXPECT_EQ(bench.choose_id(Select::stable), 2);
}

TEST(Choice, StableKeepsOneWithoutAPartnerWhenNobodyHasOne) {
  Bench bench;
  bench.add(0, 10);
  bench.add(0, 100000);
  bench.assign_all();
  bench.ports[1]->enabled = false;
  ASSERT_EQ(bench.choose_id(Select::stable), 1);
  bench.ports[1]->enabled = true;
  EXPECT_EQ(bench.choose_id(Select::stable), 1);
  EXPECT_EQ(bench.choose_id(Select::bandwidth), 2);
}

}  // namespace
}  // namespace xbond::lacp
