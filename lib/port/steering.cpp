#include "lib/port/steering.hpp"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <array>
#include <cerrno>

namespace xbond::port {
namespace {

// The pattern holds pointers into itself: it stays where it was made.
struct Rule {
  explicit Rule(uint16_t to) : queue{.index = to} {
    type.hdr.ether_type = RTE_BE16(RTE_ETHER_TYPE_SLOW);
    mask.hdr.ether_type = RTE_BE16(0xffff);
    attributes.ingress = 1;
    pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
    pattern[0].spec = &type;
    pattern[0].mask = &mask;
    pattern[1].type = RTE_FLOW_ITEM_TYPE_END;
    actions[0].type = RTE_FLOW_ACTION_TYPE_QUEUE;
    actions[0].conf = &queue;
    actions[1].type = RTE_FLOW_ACTION_TYPE_END;
  }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  rte_flow_attr attributes{};
  rte_flow_item_eth type{}, mask{};
  rte_flow_action_queue queue;
  std::array<rte_flow_item, 2> pattern{};
  std::array<rte_flow_action, 2> actions{};
};

}  // namespace

int SlowProtocolRule::check(uint16_t port, uint16_t queue) noexcept {
  const Rule rule(queue);
  rte_flow_error error{};
  return rte_flow_validate(port, &rule.attributes, rule.pattern.data(), rule.actions.data(), &error);
}

int SlowProtocolRule::create(uint16_t port, uint16_t queue) noexcept {
  destroy();
  const Rule rule(queue);
  rte_flow_error error{};
  rule_ = rte_flow_create(port, &rule.attributes, rule.pattern.data(), rule.actions.data(), &error);
  port_ = port;
  if (rule_ != nullptr) return 0;
  return rte_errno != 0 ? -rte_errno : -EIO;
}

void SlowProtocolRule::destroy() noexcept {
  if (rule_ == nullptr) return;
  rte_flow_error error{};
  (void)rte_flow_destroy(port_, rule_, &error);
  rule_ = nullptr;
}

int spread_over(uint16_t port, uint16_t queues) noexcept {
  rte_eth_dev_info info{};
  if (const int status = rte_eth_dev_info_get(port, &info); status != 0) return status;
  constexpr uint16_t kMost = RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE;
  std::array<rte_eth_rss_reta_entry64, kMost> table{};
  if (info.reta_size == 0 || info.reta_size > RTE_ETH_RSS_RETA_SIZE_512) return -ENOTSUP;
  for (uint16_t i = 0; i < info.reta_size; ++i) {
    rte_eth_rss_reta_entry64& group = table[i / RTE_ETH_RETA_GROUP_SIZE];
    group.mask |= uint64_t{1} << (i % RTE_ETH_RETA_GROUP_SIZE);
    group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = static_cast<uint16_t>(i % queues);
  }
  return rte_eth_dev_rss_reta_update(port, table.data(), info.reta_size);
}

}  // namespace xbond::port
