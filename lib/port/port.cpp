// A port at work: admin state, link, control's transmit.
#include "lib/port/port.hpp"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/port/claim.hpp"
#include "lib/port/restart.hpp"

namespace xbond::port {
namespace {

// One word, so that readers never see halves of two states.
uint64_t pack(const LinkState& link) {
  return uint64_t{link.speed_mbps} << 2 | uint64_t{link.full_duplex} << 1 | uint64_t{link.up};
}

LinkState unpack(uint64_t word) {
  return {.up = (word & 1) != 0, .speed_mbps = static_cast<uint32_t>(word >> 2), .full_duplex = (word & 2) != 0};
}

}  // namespace

void Port::RingDeleter::operator()(rte_ring* ring) const noexcept {
  rte_ring_free(ring);
}

Port::~Port() {
  if (id_ == UINT16_MAX) return;
  if (admin_up_) stop_device();
  drain_control_ring(false);
  // Closing gives the port back to ethdev for good; one that was never set up may be opened again.
  if (has_queues_) rte_eth_dev_close(id_);
  unclaim(id_);
}

Error Port::refusal(int code, const std::string& what) const {
  if (code == ENOTSUP) return fail(code, fmt::format("{}: the driver {} cannot {}", name_, driver_, what));
  return fail(code, fmt::format("{}: the driver {} does not {}: {}", name_, driver_, what, rte_strerror(code)));
}

int Port::start_device() {
  if (const int status = rte_eth_dev_start(id_); status != 0) return status;
  // Some drivers spread over all queues again. What can't be kept away from the queue is lost there: then no rule.
  const bool apart = slow_protocol_queue_ && (rx_queues_ == 1 || spread_over(id_, rx_queues_) == 0);
  if (steer_ && apart) (void)rule_.create(id_, rx_queues_);
  return 0;
}

int Port::stop_device() {
  rule_.destroy();
  return rte_eth_dev_stop(id_);
}

Status Port::steer_slow_protocols(bool on) {
  if (on == steer_) return {};
  if (on && !slow_protocol_queue_) return fail(ENOTSUP, fmt::format("{}: no queue for slow protocols", name_));
  steer_ = on;
  if (!on) {
    rule_.destroy();
  } else if (admin_up_) {
    if (const int status = rule_.create(id_, rx_queues_); status != 0) {
      return refusal(-status, "steer slow-protocol frames to a queue of their own");
    }
  }
  return {};
}

Status Port::start() {
  if (const int status = start_device(); status != 0) return refusal(-status, "start");
  if (carrier_taken_) rte_eth_dev_set_link_up(id_);
  carrier_taken_ = false;
  admin_up_ = true;
  (void)link();  // so that the first reader who finds another one polling gets no older state
  return {};
}

Status Port::stop() {
  // Not every driver drops the carrier when it stops, and the partner should not send into a stopped port.
  carrier_taken_ = rte_eth_dev_set_link_down(id_) == 0;
  if (const int status = stop_device(); status != 0) {
    if (carrier_taken_) rte_eth_dev_set_link_up(id_);
    carrier_taken_ = false;
    return refusal(-status, "stop");
  }
  admin_up_ = false;
  return {};
}

Status Port::set_admin(bool up) {
  if (up == admin_up_) return {};
  if (up) return start();
  Status status = stop();
  if (status) drain_control_ring(false);  // they would be stale when the port starts again
  return status;
}

Status Port::reconfigure(const std::function<int()>& apply, const std::function<int()>& undo, Restart restart,
                         const std::string& what) {
  const ChangeSteps steps{.apply = apply,
                          .undo = undo,
                          .stop = [this] { return stop_device(); },
                          .start = [this] { return start_device(); }};
  const bool was_up = admin_up_;
  if (restart == Restart::never) {
    const int status = apply();
    return status == 0 ? Status() : refusal(-status, what);
  }
  const ChangeResult result = change_with_restart(steps, was_up);
  admin_up_ = result.running;
  if (result.status == 0) return {};
  Error error = refusal(-result.status, what);
  if (was_up && !result.running) error.text += "; it does not start again and is down";
  return error;
}

// Drivers fill the link in place, so that a second reader at once could see it half done: only one polls, others take
// what was polled last.
LinkState Port::link() const noexcept {
  if (!admin_up_) return {};
  if (!polling_.test_and_set(std::memory_order_acquire)) {
    polled_.store(pack(poll_link()), std::memory_order_relaxed);
    polling_.clear(std::memory_order_release);
  }
  LinkState link = unpack(polled_.load(std::memory_order_relaxed));
  link.up = link.up && operstate_up_.load(std::memory_order_relaxed);
  return link;
}

LinkState Port::poll_link() const noexcept {
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) != 0) return {};
  return {.up = link.link_status == RTE_ETH_LINK_UP,
          .speed_mbps = link.link_speed,
          .full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX};
}

void Port::operstate(bool up) noexcept {
  operstate_up_.store(up, std::memory_order_relaxed);
}

bool Port::send(uint16_t queue, rte_mbuf* frame) noexcept {
  if (rte_eth_tx_burst(id_, queue, &frame, 1) == 1) return true;
  rte_pktmbuf_free(frame);
  return false;
}

void Port::drain_control_ring(bool transmit) noexcept {
  if (!control_ring_) return;
  void* frame = nullptr;
  while (rte_ring_sc_dequeue(control_ring_.get(), &frame) == 0) {
    if (transmit)
      send(0, static_cast<rte_mbuf*>(frame));
    else
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
  }
}

bool Port::control_transmit(rte_mbuf* frame, bool workers_stopped) noexcept {
  if (!admin_up_) {
    rte_pktmbuf_free(frame);
    return false;
  }
  if (own_control_queue_) return send(tx_queues_, frame);
  if (workers_stopped) {
    drain_control_ring(true);  // what was given to worker 0 goes first
    return send(0, frame);
  }
  if (rte_ring_sp_enqueue(control_ring_.get(), frame) == 0) return true;
  rte_pktmbuf_free(frame);
  return false;
}

}  // namespace xbond::port
