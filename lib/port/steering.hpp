// Slow-protocol frames (LACP, marker) to a receive queue of their own by a flow rule, so that they survive an overload
// of the data queues. Internal to the room. Thread: control.
#pragma once

#include <cstdint>

struct rte_flow;

namespace xbond::port {

// Owns one rule: untagged frames of ethertype 0x8809 go to one queue.
class SlowProtocolRule {
 public:
  SlowProtocolRule() = default;
  ~SlowProtocolRule() { destroy(); }
  SlowProtocolRule(const SlowProtocolRule&) = delete;
  SlowProtocolRule& operator=(const SlowProtocolRule&) = delete;

  // 0: the driver would take it. Else a negative errno, -ENOSYS and -ENOTSUP where it has no flow rules at all.
  static int check(uint16_t port, uint16_t queue) noexcept;
  // The device must be started. 0 or a negative errno.
  int create(uint16_t port, uint16_t queue) noexcept;
  void destroy() noexcept;  // before the device stops: not every driver keeps rules
  [[nodiscard]] bool active() const noexcept { return rule_ != nullptr; }

 private:
  uint16_t port_ = 0;
  rte_flow* rule_ = nullptr;
};

// RSS to the queues [0, queues) only. 0 or a negative errno.
int spread_over(uint16_t port, uint16_t queues) noexcept;

}  // namespace xbond::port
