// What the monitors of bonds send and hear: probes, learning packets, IGMP reports, load; and the frames that workers
// hand over.
#include <algorithm>
#include <array>

#include "app/xbond/announce.hpp"
#include "app/xbond/core.hpp"
#include "app/xbond/protocol_thread.hpp"
#include "lib/host/addresses.hpp"

namespace xbond::app {
namespace {

// The host's address that shares the longest beginning with the target; all zero when it has none, as the kernel asks
// when there is no route.
template <class Address>
Address source_for(const std::vector<Address>& own, const Address& target) {
  const auto common = [&](const Address& address) {
    unsigned bits = 0;
    for (size_t i = 0; i < address.size(); ++i) {
      const auto differ = static_cast<uint8_t>(address[i] ^ target[i]);
      if (differ != 0) {
        return bits + static_cast<unsigned>(__builtin_clz(differ)) - 24;
      }
      bits += 8;
    }
    return bits;
  };
  const auto best = std::max_element(own.begin(), own.end(),
                                     [&](const Address& a, const Address& b) { return common(a) < common(b); });
  return best == own.end() ? Address{} : *best;
}

}  // namespace

void Core::send(uint16_t port, rte_mbuf* frame) {
  if (frame != nullptr) {
    (void)ports_.at(port).port->control_transmit(frame, workers_stopped_);
  }
}

// The question may wait for the kernel's rtnl lock: once a second is enough, when there are any.
void Core::refresh_addresses(BondEntry& b, uint64_t now) {
  constexpr uint64_t kFreshMs = 1000;
  const bool known = !b.addresses.v4.empty() || !b.addresses.v6.empty();
  if (known && now < b.addresses_at_ms + kFreshMs) {
    return;
  }
  b.addresses_at_ms = now;
  b.addresses = {.v4 = host::ipv4_addresses(b.tap.name), .v6 = host::ipv6_addresses(b.tap.name)};
  b.bond.set_addresses(b.addresses);
}

void Core::tick(BondEntry& b, uint64_t now) {
  const bond::Params& params = b.bond.params();
  if (params.arp_interval != 0) {
    refresh_addresses(b, now);
    for (const uint16_t id : b.bond.ports()) {
      PortEntry& member = ports_.at(id);
      const uint64_t received = setup_.received ? setup_.received(id) : 0;
      if (received != member.received) {
        member.received = received;
        b.bond.saw_frames(id, now);
      }
    }
  }
  if (b.bond.wants_load(now) && setup_.load) {
    const BondLoad load = setup_.load(b.bond.index());
    b.bond.measured(load.channels, load.unbalanced);
  }
  apply(b, b.bond.tick(now));
}

void Core::send_probes(BondEntry& b, std::span<const uint16_t> ports) {
  if (ports.empty()) {
    return;
  }
  const bond::Params& params = b.bond.params();
  for (const uint16_t id : ports) {
    const port::Mac mac = ports_.at(id).port->mac();
    for (const bond::Ipv4& target : params.arp_targets) {
      send(id, arp_request(mac, source_for(b.addresses.v4, target), target, setup_.pool));
    }
    for (const bond::Ipv6& target : params.ns_targets) {
      if (const auto source = source_for(b.addresses.v6, target); source != bond::Ipv6{}) {
        send(id, neighbour_solicitation(mac, source, target, setup_.pool));
      }
    }
  }
}

void Core::send_learning(BondEntry& b, const bond::Teach& what) {
  send(what.port, learning_packet(what.mac, {}, setup_.pool));
  for (const bond::Tags& tags : b.bond.learning_tags()) {
    send(what.port, learning_packet(what.mac, tags, setup_.pool));
  }
}

void Core::send_balancing(BondEntry& b, const bond::Changes& changes) {
  if (changes.learn) {
    const bond::TxTable table = b.bond.table();
    for (uint16_t i = 0; i < table.usable; ++i) {
      send_learning(b, {.port = table.port[i], .mac = b.bond.member_mac(table.port[i])});
    }
  }
  for (const bond::Teach& what : changes.teach) {
    send_learning(b, what);
  }
  for (const bond::ClientUpdate& update : changes.updates) {
    send(update.port, client_update(update, setup_.pool));
  }
}

void Core::send_host_arp(BondEntry& b, rte_mbuf* frame, uint64_t now) {
  bond::Bond::HostArp answer = b.bond.host_arp({rte_pktmbuf_mtod(frame, uint8_t*), frame->data_len}, now);
  apply(b, std::move(answer.changes));
  if (answer.by == port::kNoPort) {
    rte_pktmbuf_free(frame);
  } else {
    send(answer.by, frame);
  }
}

// bond_resend_igmp_join_requests_delayed: now, and each 200 ms while some are left.
void Core::rejoin(BondEntry& b, uint64_t now) {
  constexpr uint64_t kApartMs = 200;
  if (b.rejoin_left == 0 || !b.bond.active().has_value()) {
    b.rejoin_left = 0;
    return;
  }
  --b.rejoin_left;
  b.rejoin_at_ms = now + kApartMs;
  for (rte_mbuf* frame : igmp_reports(b.tap.name, b.bond.mac(), setup_.pool)) {
    send(*b.bond.active(), frame);
  }
}

bool Core::wants_punts() const {
  return std::any_of(bonds_.begin(), bonds_.end(), [](const auto& b) {
    const bond::Params& params = b->bond.params();
    return params.arp_interval != 0 || params.mode == bond::Mode::balance_alb || params.mode == bond::Mode::ieee8023ad;
  });
}

void Core::take_punts(uint64_t now) {
  for (xdp::PuntRing& ring : setup_.punts) {
    ring.drain([&](rte_mbuf* frame, xdp::PuntKind kind, uint16_t port) {
      BondEntry* b = entry_of(port);
      if (b == nullptr) {
        rte_pktmbuf_free(frame);
        return;
      }
      const std::span<const uint8_t> bytes(rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len);
      switch (kind) {
        case xdp::PuntKind::probe:
          b->bond.received(port, bytes, now);
          break;
        case xdp::PuntKind::host_arp:
          send_host_arp(*b, frame, now);
          return;
        case xdp::PuntKind::slow_protocol:
          slow_protocol(*b, port, frame);
          break;
      }
      rte_pktmbuf_free(frame);
    });
  }
}

}  // namespace xbond::app
