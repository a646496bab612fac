// A receive queue for slow-protocol frames. No driver without hardware has flow rules: the test puts itself in front of
// rte_flow, over net_null, which has queues in plenty and an RSS table.
#include <gmock/gmock.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include <optional>

#include "tests/unit/port/fixture.hpp"

namespace xbond::port::test {
namespace {

// What the driver would say, and the rules that it has.
struct FlowDriver {
  int validate = -ENOSYS;
  int validate_beyond = 0;  // for queues after the first
  int create = 0;
  unsigned rules = 0, made = 0;
  uint16_t queue = 0, ether_type = 0;
};
FlowDriver driver;

uint16_t queue_of(const rte_flow_action* actions) {
  EXPECT_EQ(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
  EXPECT_EQ(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
  return static_cast<const rte_flow_action_queue*>(actions[0].conf)->index;
}

}  // namespace
}  // namespace xbond::port::test

using xbond::port::test::driver;
using xbond::port::test::queue_of;

extern "C" int rte_flow_validate(uint16_t, const rte_flow_attr* attr, const rte_flow_item*,
                                 const rte_flow_action actions[], rte_flow_error*) {
  EXPECT_TRUE(attr->ingress);
  return queue_of(actions) == 0 || driver.validate != 0 ? driver.validate : driver.validate_beyond;
}

extern "C" rte_flow* rte_flow_create(uint16_t, const rte_flow_attr*, const rte_flow_item pattern[],
                                     const rte_flow_action actions[], rte_flow_error*) {
  if (driver.create != 0) {
    rte_errno = -driver.create;
    return nullptr;
  }
  EXPECT_EQ(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
  EXPECT_EQ(pattern[1].type, RTE_FLOW_ITEM_TYPE_END);
  EXPECT_EQ(static_cast<const rte_flow_item_eth*>(pattern[0].mask)->hdr.ether_type, 0xffff);
  driver.ether_type = rte_be_to_cpu_16(static_cast<const rte_flow_item_eth*>(pattern[0].spec)->hdr.ether_type);
  driver.queue = queue_of(actions);
  ++driver.made;
  ++driver.rules;
  return reinterpret_cast<rte_flow*>(&driver);
}

extern "C" int rte_flow_destroy(uint16_t, rte_flow* rule, rte_flow_error*) {
  EXPECT_EQ(rule, reinterpret_cast<rte_flow*>(&driver));
  --driver.rules;
  return 0;
}

namespace xbond::port::test {
namespace {

class Steering : public PortTest {
 protected:
  void SetUp() override {
    PortTest::SetUp();
    driver = {};
  }
  void TearDown() override {
    device_.reset();
    EXPECT_EQ(driver.rules, 0U);
    PortTest::TearDown();
  }
  // Closing takes a device away: each opening has one of its own.
  std::unique_ptr<Port> opened(uint16_t rxq) {
    device_.reset();
    device_.emplace("net_null0", "");
    auto port = open("net_null0", {.workers = 1, .rxq = rxq, .slow_protocol_queue = true});
    EXPECT_TRUE(port) << port.error().text;
    return std::move(port.value());
  }
  // The highest queue that RSS uses.
  static uint16_t highest_queue(uint16_t port) {
    rte_eth_dev_info info{};
    rte_eth_dev_info_get(port, &info);
    std::vector<rte_eth_rss_reta_entry64> table(info.reta_size / RTE_ETH_RETA_GROUP_SIZE);
    for (auto& group : table) group.mask = UINT64_MAX;
    EXPECT_EQ(rte_eth_dev_rss_reta_query(port, table.data(), info.reta_size), 0);
    uint16_t highest = 0;
    for (const auto& group : table)
      for (const uint16_t queue : group.reta) highest = std::max(highest, queue);
    return highest;
  }

 private:
  std::optional<Device> device_;
};

TEST_F(Steering, WithoutFlowRulesThePortIsAsEverAndSaysSo) {
  const auto port = opened(2);
  EXPECT_EQ(port->rx_queues(), 2);
  EXPECT_FALSE(port->has_slow_protocol_queue());
  EXPECT_TRUE(
      noticed("LACP's frames come with the data and are lost with it under overload (net_null has no flow "
              "rules)"));
  EXPECT_EQ(port->steer_slow_protocols(true).error().code, ENOTSUP);
  EXPECT_TRUE(port->link().up);
}

TEST_F(Steering, ADriverThatKnowsNoSuchRuleOrQueueIsLeftAsItWas) {
  for (const auto& [first, beyond] : {std::pair{-EINVAL, 0}, {0, -EINVAL}}) {
    driver.validate = first;
    driver.validate_beyond = beyond;
    const auto port = opened(2);
    EXPECT_EQ(port->rx_queues(), 2);
    EXPECT_FALSE(port->has_slow_protocol_queue());
    EXPECT_TRUE(port->admin_up());
    EXPECT_TRUE(port->link().up);
    rte_eth_dev_info info{};
    rte_eth_dev_info_get(port->id(), &info);
    EXPECT_EQ(info.nb_rx_queues, 2);
    EXPECT_TRUE(noticed("LACP's frames come with the data"));
  }
}

TEST_F(Steering, TheQueueIsBesideTheWorkersAndRssKeepsAway) {
  driver.validate = 0;
  for (const uint16_t queues : {uint16_t{1}, uint16_t{3}}) {
    const auto port = opened(queues);
    EXPECT_EQ(port->rx_queues(), queues);
    ASSERT_TRUE(port->has_slow_protocol_queue());
    EXPECT_FALSE(port->steers_slow_protocols());
    EXPECT_TRUE(queues == 1 || highest_queue(port->id()) == queues - 1);
    ASSERT_TRUE(port->steer_slow_protocols(true));
    EXPECT_TRUE(port->steers_slow_protocols());
    EXPECT_EQ(driver.queue, queues);
    EXPECT_EQ(driver.ether_type, 0x8809);
    EXPECT_EQ(driver.rules, 1U);
    ASSERT_TRUE(port->steer_slow_protocols(true));  // once is enough
    EXPECT_EQ(driver.rules, 1U);
    ASSERT_TRUE(port->steer_slow_protocols(false));
    EXPECT_EQ(driver.rules, 0U);
  }
}

TEST_F(Steering, ARuleComesBackWithThePort) {
  driver.validate = 0;
  const auto port = opened(3);
  ASSERT_TRUE(port->steer_slow_protocols(true));
  ASSERT_TRUE(port->set_admin(false));
  EXPECT_EQ(driver.rules, 0U);  // not every driver forgets it by itself
  EXPECT_FALSE(port->steers_slow_protocols());
  ASSERT_TRUE(port->set_admin(true));
  EXPECT_TRUE(port->steers_slow_protocols());
  EXPECT_EQ(highest_queue(port->id()), 2);

  // Asked for while the port is down: with the port.
  ASSERT_TRUE(port->steer_slow_protocols(false));
  ASSERT_TRUE(port->set_admin(false));
  ASSERT_TRUE(port->steer_slow_protocols(true));
  EXPECT_EQ(driver.rules, 0U);
  ASSERT_TRUE(port->set_admin(true));
  EXPECT_EQ(driver.rules, 1U);
}

TEST_F(Steering, ARefusedRuleIsSaidAndNothingElseChanges) {
  driver.validate = 0;
  const auto port = opened(1);
  driver.create = -ENOSPC;
  const Status refused = port->steer_slow_protocols(true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ENOSPC);
  EXPECT_THAT(refused.error().text, ::testing::HasSubstr("steer slow-protocol frames to a queue of their own"));
  EXPECT_FALSE(port->steers_slow_protocols());
  EXPECT_TRUE(port->link().up);
  // It is tried again with the next start.
  driver.create = 0;
  ASSERT_TRUE(port->set_admin(false));
  ASSERT_TRUE(port->set_admin(true));
  EXPECT_TRUE(port->steers_slow_protocols());
}

}  // namespace
}  // namespace xbond::port::test
