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

// The question may wait for the kernel's rtnl lock: once a second is enough, when there are any.
void Core::refresh_addresses(BondEntry& b, uint64_t now) {
  constexpr uint64_t kFreshMs = 1000;
  const bool known = !b.addresses.v4.empty() || !b.addresses.v6.empty();
  if (known && now < b.addresses_at_ms + kFreshMs) {
    return;
  }
  b.addresses_at_ms = now;
  const std::string& tap = top_of(b).tap.name;
  b.addresses = {.v4 = host::ipv4_addresses(tap), .v6 = host::ipv6_addresses(tap)};
  b.bond.set_addresses(b.addresses);
}

void Core::tick(BondEntry& b, uint64_t now) {
  const bond::Params& params = b.bond.params();
  if (params.arp_interval != 0) {
    refresh_addresses(b, now);
    for (const uint16_t id : b.bond.ports()) {
      BondEntry* inner = bond_member(id);
      uint64_t& last = inner != nullptr ? inner->received : ports_.at(id).received;
      if (const uint64_t received = received_by(id); received != last) {
        last = received;
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
    const port::Mac mac = mac_now(id);
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

// bond_resend_igmp_join_requests_delayed: now, and each 200 ms while some are left.
void Core::rejoin(BondEntry& b, uint64_t now) {
  constexpr uint64_t kApartMs = 200;
  if (b.rejoin_left == 0 || !b.bond.active().has_value()) {
    b.rejoin_left = 0;
    return;
  }
  --b.rejoin_left;
  b.rejoin_at_ms = now + kApartMs;
  const BondEntry& host = top_of(b);
  for (rte_mbuf* frame : igmp_reports(host.tap.name, host.bond.mac(), setup_.pool)) {
    send(*b.bond.active(), frame);
  }
}

bool Core::wants_punts() const {
  return std::any_of(bonds_.begin(), bonds_.end(), [](const auto& b) {
    const bond::Params& params = b->bond.params();
    return params.arp_interval != 0 || params.mode == bond::Mode::balance_alb || params.mode == bond::Mode::ieee8023ad;
  });
}

// Every monitor above the port hears of it.
void Core::probe_received(uint16_t port, std::span<const uint8_t> bytes, uint64_t now) {
  uint16_t member = port;
  for (BondEntry* b = entry_of(port); b != nullptr; b = entry_of(member)) {
    b->bond.received(member, bytes, now);
    member = bond::member_id(b->bond.index());
  }
}

void Core::take_punts(uint64_t now) {
  for (xdp::PuntRing& ring : setup_.punts) {
    ring.drain([&](rte_mbuf* frame, xdp::PuntKind kind, uint16_t port) {
      switch (kind) {
        case xdp::PuntKind::probe:
          probe_received(port, {rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len}, now);
          break;
        case xdp::PuntKind::host_arp:
          if (BondEntry* b = entry_of(port); b != nullptr) {
            send_by(top_of(*b), frame);
            return;
          }
          break;
        case xdp::PuntKind::slow_protocol:
          if (const LacpMember to = lacp_above(port); to.bond != nullptr) {
            slow_protocol(*to.bond, to.member, frame);
          }
          break;
      }
      rte_pktmbuf_free(frame);
    });
  }
}

}  // namespace xbond::app
