// How many queues a port gets: what to try, in which order. Internal to the room; pure. Thread: any.
#pragma once

#include <cstdint>
#include <vector>

namespace xbond::port {

struct QueuePlan {
  uint16_t rx = 1;
  uint16_t tx = 1;  // in all
  bool rss = false;
  bool operator==(const QueuePlan&) const = default;
};

struct QueueWish {
  uint16_t workers = 1;
  uint16_t rx = 0, tx = 0;          // 0: the default
  uint16_t max_rx = 1, max_tx = 1;  // the driver's limits; 0: it says none, taken as 1
  bool can_rss = false;
  bool equal_queues = false;  // the driver takes as many receive as transmit queues only
};

// What is wanted before any limit.
QueuePlan wanted_queues(const QueueWish& wish);
// Best first, each once; the last is one queue each way. Drivers may refuse what their limits promise.
std::vector<QueuePlan> queue_plans(const QueueWish& wish);

}  // namespace xbond::port
