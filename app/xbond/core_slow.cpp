// LACP's frames between ports and bonds, and the end of LACP.
#include <fmt/format.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "app/xbond/core.hpp"
#include "app/xbond/protocol_thread.hpp"
#include "lib/port/tx_buffer.hpp"

namespace xbond::app {
namespace {

// The longest frame of a slow protocol (IEEE 802.3 annex 57A).
constexpr size_t kLongest = 1518;

}  // namespace

void Core::slow_protocol(BondEntry& b, uint16_t port, const rte_mbuf* frame) {
  std::array<uint8_t, kLongest> copy;
  const auto length = std::min<uint32_t>(rte_pktmbuf_pkt_len(frame), copy.size());
  const void* bytes = rte_pktmbuf_read(frame, 0, length, copy.data());
  apply(b, b.bond.slow_protocol(port, {static_cast<const uint8_t*>(bytes), length}, now_ms()));
}

// Where the port has a queue for them. Frames of a port in no 802.3ad bond, or that programs see first, are data.
void Core::steer(const BondEntry* b, port::Port& port) const {
  if (!port.has_slow_protocol_queue()) {
    return;
  }
  const bool apart =
      b != nullptr && b->bond.mode() == bond::Mode::ieee8023ad && !b->bond.params().xdp_sees_slow_protocols;
  if (Status ok = port.steer_slow_protocols(apart); !ok) {
    setup_.notice(fmt::format("{}; they come with the data", ok.error().text));
  }
}

// Queues of slow protocols are the protocol thread's. So are stopped workers' queues: that forwarding is stopped must
// not cost the link; data that came is dropped then.
void Core::receive_slow_protocols() {
  for (const auto& b : bonds_) {
    if (b->bond.mode() != bond::Mode::ieee8023ad) {
      continue;
    }
    const auto members = b->bond.ports();
    for (const uint16_t id : std::vector<uint16_t>(members.begin(), members.end())) {
      const PortEntry& member = ports_.at(id);
      if (!member.polled) {
        continue;
      }
      const uint16_t queues = member.port->rx_queues();
      for (uint16_t queue = 0; workers_stopped_ && queue < queues; ++queue) {
        receive_slow_protocols(*b, id, queue, by_control_[id].workers_stopped);
      }
      if (member.port->steers_slow_protocols()) {
        receive_slow_protocols(*b, id, queues, by_control_[id].not_lacp);
      }
    }
  }
}

void Core::receive_slow_protocols(BondEntry& b, uint16_t port, uint16_t queue, uint64_t& dropped) {
  constexpr unsigned kBursts = 32;  // a full ring of the usual size; more waits for the next round
  std::array<rte_mbuf*, port::kFlushAt> pkts;
  for (unsigned burst = 0; burst < kBursts; ++burst) {
    const uint16_t n = rte_eth_rx_burst(port, queue, pkts.data(), pkts.size());
    for (uint16_t i = 0; i < n; ++i) {
      if (xdp::is_lacp_or_marker(pkts[i])) {
        port::count_up(by_control_[port].taken, 1);
        slow_protocol(b, port, pkts[i]);
      } else {
        port::count_up(dropped, 1);
      }
      rte_pktmbuf_free(pkts[i]);
    }
    if (n < pkts.size()) {
      return;
    }
  }
}

void Core::send_slow_protocol(uint16_t port, std::span<const uint8_t> frame) {
  const PortEntry& member = ports_.at(port);
  rte_mbuf* m = member.polled ? rte_pktmbuf_alloc(setup_.pool) : nullptr;
  if (m == nullptr) {
    return;
  }
  if (char* room = rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())); room != nullptr) {
    std::memcpy(room, frame.data(), frame.size());
    send(port, m);
  } else {
    rte_pktmbuf_free(m);
  }
}

// --- leaving

void Core::leave() {
  for (const auto& b : bonds_) {
    (void)set_bond_up(b->bond.name(), false);
  }
  arm(now_ms());
}

bool Core::leaving() const {
  return std::any_of(bonds_.begin(), bonds_.end(), [](const auto& b) { return b->bond.farewells_pending(); });
}

}  // namespace xbond::app
