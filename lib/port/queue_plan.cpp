#include "lib/port/queue_plan.hpp"

#include <algorithm>

namespace xbond::port {
namespace {

uint16_t limited(uint16_t wanted, uint16_t limit) {
  return std::min(wanted, std::max<uint16_t>(limit, 1));
}

}  // namespace

QueuePlan wanted_queues(const QueueWish& wish) {
  const auto tx_default = static_cast<uint16_t>(std::min(wish.workers + 1, int{UINT16_MAX}));
  QueuePlan wanted{.rx = wish.rx != 0 ? wish.rx : wish.workers, .tx = wish.tx != 0 ? wish.tx : tx_default};
  wanted.rss = wanted.rx > 1;
  return wanted;
}

std::vector<QueuePlan> queue_plans(const QueueWish& wish) {
  QueuePlan best = wanted_queues(wish);
  best.rx = limited(best.rx, wish.max_rx);
  best.tx = limited(best.tx, wish.max_tx);
  // A receive queue more, for control's sake, would take flows that no worker polls: rather a transmit queue less.
  if (wish.equal_queues) best.rx = best.tx = limited(best.rx, wish.max_tx);
  best.rss = best.rx > 1 && wish.can_rss;

  std::vector<QueuePlan> plans;
  auto add = [&plans](QueuePlan plan) {
    plan.rss = plan.rss && plan.rx > 1;
    if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
  };
  const uint16_t without_control = std::min(best.tx, wish.workers);
  const uint16_t both = std::min(best.rx, without_control);
  for (const bool rss : {true, false}) {
    if (rss && !best.rss) continue;
    add({.rx = best.rx, .tx = best.tx, .rss = rss});
    add({.rx = best.rx, .tx = without_control, .rss = rss});
    add({.rx = both, .tx = both, .rss = rss});
  }
  add({.rx = 1, .tx = 1, .rss = false});
  return plans;
}

}  // namespace xbond::port
