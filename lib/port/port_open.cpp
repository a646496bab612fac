// Bringing a port up: claim, queues with step by step fallback, address, start.
#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <algorithm>

#include "lib/port/claim.hpp"
#include "lib/port/driver_traits.hpp"
#include "lib/port/lookup.hpp"
#include "lib/port/mac.hpp"
#include "lib/port/mtu.hpp"
#include "lib/port/port.hpp"
#include "lib/port/queue_plan.hpp"

namespace xbond::port {
namespace {

constexpr unsigned kControlRing = 256;  // frames; LACP sends a few a second
constexpr uint64_t kRss = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;

std::string count(unsigned n, std::string_view noun) {
  return fmt::format("{} {} queue{}", n, noun, n == 1 ? "" : "s");
}

bool all_zero(const Mac& mac) {
  return std::all_of(mac.begin(), mac.end(), [](uint8_t byte) { return byte == 0; });
}

}  // namespace

class PortOpener {
 public:
  PortOpener(const Config& config, rte_mempool* pool, const Notice& notice)
      : config_(config), pool_(pool), notice_(notice), port_(new Port) {}

  Result<std::unique_ptr<Port>> run(uint16_t id) {
    for (Status (PortOpener::*step)(uint16_t) :
         {&PortOpener::identify, &PortOpener::check_mtu, &PortOpener::set_up_queues, &PortOpener::make_control_ring,
          &PortOpener::take_mac, &PortOpener::apply_mtu, &PortOpener::start, &PortOpener::add_slow_protocol_queue})
      if (Status status = (this->*step)(id); !status) return status.error();
    return std::move(port_);
  }

 private:
  Status identify(uint16_t id);
  Status check_mtu(uint16_t id);
  Status set_up_queues(uint16_t id);
  Status try_plan(const QueuePlan& plan);
  Status configure(const QueuePlan& plan);
  Status set_up_receive(uint16_t queues, uint16_t descriptors);
  Status set_up_transmit(uint16_t queues, uint16_t descriptors);
  void take_plan(const QueuePlan& plan, const QueuePlan& wanted);
  Status make_control_ring(uint16_t id);
  Status take_mac(uint16_t id);
  Status apply_mtu(uint16_t id);
  Status start(uint16_t id);
  Status add_slow_protocol_queue(uint16_t id);
  Status slow_protocol_queue_over(const QueuePlan& plan);
  void say(const std::string& what) const {
    if (notice_) notice_(fmt::format("{}: {}", port_->name_, what));
  }

  const Config& config_;
  rte_mempool* pool_;
  const Notice& notice_;
  std::unique_ptr<Port> port_;
  rte_eth_dev_info info_{};
  DriverTraits traits_;
  QueuePlan plan_;              // what was taken
  uint16_t rxd_ = 0, txd_ = 0;  // what the driver made of the wish
};

Status PortOpener::identify(uint16_t id) {
  port_->name_ = port_name(id);
  if (const int status = rte_eth_dev_info_get(id, &info_); status != 0)
    return fail(-status, fmt::format("{}: the driver tells nothing about it: {}", port_->name_, rte_strerror(-status)));
  // Set last of all that can fail: the destructor gives the claim back by it.
  if (Status claimed = claim(id, port_->name_); !claimed) return claimed;
  port_->id_ = id;
  port_->driver_ = info_.driver_name != nullptr ? info_.driver_name : "";
  traits_ = traits_of(port_->driver_);
  if (traits_.link_by_iface) port_->iface_ = device_argument(id, "iface");
  port_->socket_ = std::max(rte_eth_dev_socket_id(id), 0);
  port_->frame_room_ = static_cast<uint16_t>(rte_pktmbuf_data_room_size(pool_) - RTE_PKTMBUF_HEADROOM);
  return {};
}

Status PortOpener::check_mtu(uint16_t) {
  if (config_.mtu == 0) return {};
  return mtu_possible(port_->name_, config_.mtu, info_, port_->frame_room_);
}

Status PortOpener::set_up_queues(uint16_t) {
  const QueueWish wish{.workers = config_.workers,
                       .rx = config_.rxq,
                       .tx = config_.txq,
                       .max_rx = std::min<uint16_t>(info_.max_rx_queues, RTE_MAX_QUEUES_PER_PORT),
                       .max_tx = std::min<uint16_t>(info_.max_tx_queues, RTE_MAX_QUEUES_PER_PORT),
                       .can_rss = (info_.flow_type_rss_offloads & kRss) != 0,
                       .equal_queues = traits_.equal_queues};
  Status last;
  for (const QueuePlan& plan : queue_plans(wish)) {
    last = try_plan(plan);
    if (!last) continue;
    take_plan(plan, wanted_queues(wish));
    return {};
  }
  return last;
}

Status PortOpener::try_plan(const QueuePlan& plan) {
  if (Status status = configure(plan); !status) return status;
  rxd_ = config_.rxd;
  txd_ = config_.txd;
  if (const int status = rte_eth_dev_adjust_nb_rx_tx_desc(port_->id_, &rxd_, &txd_); status != 0)
    return port_->refusal(-status,
                          fmt::format("take {} receive and {} transmit descriptors", config_.rxd, config_.txd));
  port_->has_queues_ = true;
  if (Status status = set_up_receive(plan.rx, rxd_); !status) return status;
  return set_up_transmit(plan.tx, txd_);
}

Status PortOpener::configure(const QueuePlan& plan) {
  rte_eth_conf conf{};
  if (plan.rss) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = kRss & info_.flow_type_rss_offloads;
  }
  // Without a wish the driver's own MTU, which configure would reset to 1500.
  uint16_t mtu = config_.mtu;
  if (mtu == 0 && rte_eth_dev_get_mtu(port_->id_, &mtu) == 0 &&
      !mtu_possible(port_->name_, mtu, info_, port_->frame_room_))
    mtu = 0;
  conf.rxmode.mtu = mtu;
  // No offload is on. VLAN tags stay in the frame: programs and the bond's hash read them there. Nor is
  // MBUF_FAST_FREE: it holds only while no frame is shared (no broadcast, no CPU map) and all come from one pool,
  // which the port does not know.
  conf.intr_conf.lsc =
      info_.dev_flags != nullptr && (*info_.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0 && !traits_.silent_lsc;
  const int status = rte_eth_dev_configure(port_->id_, plan.rx, plan.tx, &conf);
  if (status == 0) return {};
  return port_->refusal(-status, fmt::format("take {} and {}", count(plan.rx, "receive"), count(plan.tx, "transmit")));
}

Status PortOpener::set_up_receive(uint16_t queues, uint16_t descriptors) {
  rte_eth_rxconf conf = info_.default_rxconf;
  conf.offloads = 0;
  for (uint16_t queue = 0; queue < queues; ++queue) {
    const int status =
        rte_eth_rx_queue_setup(port_->id_, queue, descriptors, static_cast<unsigned>(port_->socket_), &conf, pool_);
    if (status != 0)
      return port_->refusal(-status, fmt::format("set up receive queue {} with {} descriptors and mbufs for {} bytes",
                                                 queue, descriptors, port_->frame_room_));
  }
  return {};
}

Status PortOpener::set_up_transmit(uint16_t queues, uint16_t descriptors) {
  rte_eth_txconf conf = info_.default_txconf;
  conf.offloads = 0;
  for (uint16_t queue = 0; queue < queues; ++queue) {
    const int status =
        rte_eth_tx_queue_setup(port_->id_, queue, descriptors, static_cast<unsigned>(port_->socket_), &conf);
    if (status != 0)
      return port_->refusal(-status, fmt::format("set up transmit queue {} with {} descriptors", queue, descriptors));
  }
  return {};
}

void PortOpener::take_plan(const QueuePlan& plan, const QueuePlan& wanted) {
  plan_ = plan;
  port_->rx_queues_ = plan.rx;
  port_->own_control_queue_ = plan.tx > config_.workers;
  port_->tx_queues_ = port_->own_control_queue_ ? static_cast<uint16_t>(plan.tx - 1) : plan.tx;
  if (plan.rx < wanted.rx) say(fmt::format("{} where {} were wanted", count(plan.rx, "receive"), wanted.rx));
  if (plan.rx > 1 && !plan.rss)
    say(fmt::format("{} has no RSS here: its own way spreads frames over {} receive queues", port_->driver_, plan.rx));
  if (port_->tx_queues_ < config_.workers)
    say(fmt::format("{} for {} workers: only as many can transmit there", count(port_->tx_queues_, "transmit"),
                    config_.workers));
  if (!port_->own_control_queue_)
    say(fmt::format("no transmit queue for control beside the workers' {}: it shares worker 0's", port_->tx_queues_));
  if (rxd_ != config_.rxd) say(fmt::format("{} receive descriptors where {} were asked for", rxd_, config_.rxd));
  if (txd_ != config_.txd) say(fmt::format("{} transmit descriptors where {} were asked for", txd_, config_.txd));
}

Status PortOpener::make_control_ring(uint16_t id) {
  if (port_->own_control_queue_) return {};
  const std::string name = fmt::format("xbond_control_{}", id);
  port_->control_ring_.reset(
      rte_ring_create(name.c_str(), kControlRing, port_->socket_, RING_F_SP_ENQ | RING_F_SC_DEQ));
  if (port_->control_ring_) return {};
  return fail(rte_errno, fmt::format("{}: no ring for control frames: {}", port_->name_, rte_strerror(rte_errno)));
}

// A port without an address (every net_ring port) gets a random local one; where the driver cannot take it, it is the
// port's towards us all the same: bonds and taps need one.
Status PortOpener::take_mac(uint16_t id) {
  rte_ether_addr address{};
  if (const int status = rte_eth_macaddr_get(id, &address); status != 0)
    return port_->refusal(-status, "tell its MAC address");
  std::copy_n(address.addr_bytes, port_->mac_.size(), port_->mac_.begin());
  if (all_zero(port_->mac_)) {
    rte_eth_random_addr(port_->mac_.data());
    address = to_ether(port_->mac_);
    const bool taken = rte_eth_dev_default_mac_addr_set(id, &address) == 0;
    say(fmt::format("it has no MAC address; it gets the random local one {}{}", to_text(port_->mac_),
                    taken ? "" : " (the driver itself stays without)"));
  }
  port_->permanent_mac_ = port_->mac_;
  return {};
}

Status PortOpener::apply_mtu(uint16_t id) {
  if (config_.mtu == 0) return {};
  // Configuring was the way for drivers without an operation for it.
  const int status = rte_eth_dev_set_mtu(id, config_.mtu);
  if (status == 0 || status == -ENOTSUP) return {};
  return port_->refusal(-status, fmt::format("set the MTU to {}", config_.mtu));
}

Status PortOpener::start(uint16_t) {
  return port_->start();
}

// Last, since drivers tell what rules they take once they are configured. Without the queue the port is as it was.
Status PortOpener::add_slow_protocol_queue(uint16_t) {
  if (!config_.slow_protocol_queue) return {};
  const Status ok = slow_protocol_queue_over(plan_);
  if (ok) return {};
  say(fmt::format("LACP's frames come with the data and are lost with it under overload ({})", ok.error().text));
  if (port_->admin_up()) return {};
  if (Status again = try_plan(plan_); !again) return again;
  return port_->start();
}

Status PortOpener::slow_protocol_queue_over(const QueuePlan& plan) {
  const uint16_t id = port_->id_;
  if (const int status = SlowProtocolRule::check(id, 0); status == -ENOSYS || status == -ENOTSUP)
    return fail(ENOTSUP, fmt::format("{} has no flow rules", port_->driver_));
  else if (status != 0)
    return fail(-status, fmt::format("{} does not steer by ethertype: {}", port_->driver_, rte_strerror(-status)));
  if (plan.rx >= std::min<uint16_t>(info_.max_rx_queues, RTE_MAX_QUEUES_PER_PORT) ||
      (traits_.equal_queues && plan.rx >= plan.tx))
    return fail(ENOSPC, fmt::format("{} has no receive queue left for them", port_->driver_));
  if (Status stopped = port_->stop(); !stopped) return stopped;
  QueuePlan more = plan;
  ++more.rx;
  if (Status taken = try_plan(more); !taken) return taken;
  if (Status started = port_->start(); !started) return started;
  int status = plan.rx > 1 ? spread_over(id, plan.rx) : 0;
  if (status == 0) status = SlowProtocolRule::check(id, plan.rx);
  if (status == 0) {
    port_->slow_protocol_queue_ = true;
    return {};
  }
  if (Status stopped = port_->stop(); !stopped) return stopped;
  return fail(-status, fmt::format("{} does not keep a queue for them: {}", port_->driver_, rte_strerror(-status)));
}

Result<std::unique_ptr<Port>> Port::open(std::string_view device, const Config& config, rte_mempool* pool,
                                         Notice notice) {  // NOLINT(performance-unnecessary-value-param): contract
  if (pool == nullptr) return fail(EINVAL, fmt::format("{}: no mempool given", device));
  if (config.workers == 0 || config.rxd == 0 || config.txd == 0)
    return fail(EINVAL, fmt::format("{}: workers and descriptors must be at least 1", device));
  auto id = find_port(device);
  if (!id) return id.error();
  return PortOpener(config, pool, notice).run(*id);
}

}  // namespace xbond::port
