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

void Core::slow_protocol(BondEntry& b, uint16_t member, const rte_mbuf* frame) {
  std::array<uint8_t, kLongest> copy;
  const auto length = std::min<uint32_t>(rte_pktmbuf_pkt_len(frame), copy.size());
  const void* bytes = rte_pktmbuf_read(frame, 0, length, copy.data());
  apply(b, b.bond.slow_protocol(member, {static_cast<const uint8_t*>(bytes), length}, now_ms()));
}

// Where the port has a queue for them. Frames of a port in no 802.3ad bond, or that programs see first, are data.
void Core::steer(uint16_t id) const {
  port::Port& port = *ports_.at(id).port;
  if (!port.has_slow_protocol_queue()) {
    return;
  }
  const BondEntry* b = lacp_above(id).bond;
  const bool apart = b != nullptr && !b->bond.params().xdp_sees_slow_protocols;
  if (Status ok = port.steer_slow_protocols(apart); !ok) {
    setup_.notice(fmt::format("{}; they come with the data", ok.error().text));
  }
}

// Queues of slow protocols are the protocol thread's. So are stopped workers' queues: that forwarding is stopped must
// not cost the link; data that came is dropped then.
void Core::receive_slow_protocols() {
  for (const auto& [id, port] : ports_) {
    const LacpMember to = lacp_above(id);
    if (to.bond == nullptr || !port.polled) {
      continue;
    }
    const uint16_t queues = port.port->rx_queues();
    for (uint16_t queue = 0; workers_stopped_ && queue < queues; ++queue) {
      receive_slow_protocols(to, id, queue, by_control_[id].workers_stopped);
    }
    if (port.port->steers_slow_protocols()) {
      receive_slow_protocols(to, id, queues, by_control_[id].not_lacp);
    }
  }
}

void Core::receive_slow_protocols(const LacpMember& to, uint16_t port, uint16_t queue, uint64_t& dropped) {
  constexpr unsigned kBursts = 32;  // a full ring of the usual size; more waits for the next round
  std::array<rte_mbuf*, port::kFlushAt> pkts;
  for (unsigned burst = 0; burst < kBursts; ++burst) {
    const uint16_t n = rte_eth_rx_burst(port, queue, pkts.data(), pkts.size());
    for (uint16_t i = 0; i < n; ++i) {
      if (xdp::is_lacp_or_marker(pkts[i])) {
        port::count_up(by_control_[port].taken, 1);
        slow_protocol(*to.bond, to.member, pkts[i]);
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

void Core::send_slow_protocol(uint16_t member, std::span<const uint8_t> frame) {
  const bool possible = bond::is_bond(member) || ports_.at(member).polled;
  rte_mbuf* m = possible ? rte_pktmbuf_alloc(setup_.pool) : nullptr;
  if (m == nullptr) {
    return;
  }
  if (char* room = rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())); room != nullptr) {
    std::memcpy(room, frame.data(), frame.size());
    send(member, m);
  } else {
    rte_pktmbuf_free(m);
  }
}

// --- leaving

void Core::go_down(const BondEntry& b) {
  (void)set_bond_up(b.bond.name(), false);
  for (const uint16_t member : b.bond.ports()) {
    if (const BondEntry* inner = bond_member(member); inner != nullptr) {
      go_down(*inner);
    }
  }
}

void Core::leave() {
  // From the top: PDUs of one above go by those below.
  for (const auto& b : bonds_) {
    if (upper_of(*b) == nullptr) {
      go_down(*b);
    }
  }
  arm(now_ms());
}

bool Core::leaving() const {
  return std::any_of(bonds_.begin(), bonds_.end(), [](const auto& b) { return b->bond.farewells_pending(); });
}

}  // namespace xbond::app
