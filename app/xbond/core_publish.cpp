// What workers see of ports, bonds and taps: one snapshot, made anew with every change.
#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>

#include "app/xbond/core.hpp"

namespace xbond::app {
namespace {

// What a frame may have above the MTU of the interface that it leaves by (xdp_ok_fwd_dev in the kernel).
constexpr uint32_t kAboveMtu = RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;

}  // namespace

// What the bonds above a member say of the frames that it receives.
struct Core::Above {
  const TapRings* rings = nullptr;
  bool up = true, inactive = false, no_groups = false, probes = false;
  xdp::SlowProtocols slow = xdp::SlowProtocols::are_data;
  std::shared_ptr<const xdp::AlbAddresses> alb;
};

struct Core::Draft {
  std::unique_ptr<dataplane::Snapshot> snapshot;
  std::map<const BondEntry*, std::shared_ptr<bond::TxTable>> tables;
};

// Those of bonds under it come first: it points to them.
const bond::TxTable* Core::add_table(const BondEntry& b, Draft& draft) const {
  if (const auto known = draft.tables.find(&b); known != draft.tables.end()) {
    return known->second.get();
  }
  auto table = std::make_shared<bond::TxTable>(b.bond.table());
  for (uint16_t i = 0; i < table->usable; ++i) {
    if (const BondEntry* inner = bond_member(table->port[i]); inner != nullptr) {
      table->inner[i] = add_table(*inner, draft);
      table->nested = true;
    }
  }
  draft.snapshot->keep.push_back(table);
  return draft.tables.emplace(&b, std::move(table)).first->second.get();
}

namespace {

// The bond's and its members' addresses, and those above.
std::shared_ptr<const xdp::AlbAddresses> alb_addresses(const bond::Bond& b, const xdp::AlbAddresses* above) {
  auto addresses = std::make_shared<xdp::AlbAddresses>();
  if (above != nullptr) {
    *addresses = *above;
  } else {
    addresses->bond = b.mac();
  }
  addresses->members.push_back(b.mac());
  for (const uint16_t member : b.ports()) {
    addresses->members.push_back(b.member_mac(member));
  }
  return addresses;
}

}  // namespace

void Core::view_below(const BondEntry& b, const Above& above, Draft& draft) const {
  Above here = above;
  const bond::Params& params = b.bond.params();
  const bool alb = params.mode == bond::Mode::balance_alb;
  here.up = above.up && b.bond.up();
  here.probes = above.probes || params.arp_interval != 0 || alb;
  if (params.mode == bond::Mode::ieee8023ad) {
    here.slow = params.xdp_sees_slow_protocols ? xdp::SlowProtocols::after_program : xdp::SlowProtocols::before_program;
  }
  if (alb) {
    here.alb = alb_addresses(b.bond, above.alb.get());
    draft.snapshot->keep.push_back(here.alb);
  }
  for (const uint16_t member : b.bond.ports()) {
    const bool inactive = b.bond.member_inactive(member);
    here.inactive = above.inactive || (inactive && !alb);
    here.no_groups = above.no_groups || (inactive && alb);
    if (const BondEntry* inner = bond_member(member); inner != nullptr) {
      view_below(*inner, here, draft);
      continue;
    }
    xdp::PortView& view = draft.snapshot->ports[member];
    view.bond = add_table(b, draft);
    view.bond_up = b.bond.up();
    view.host_up = here.up;
    view.slow = here.slow;
    view.inactive = here.inactive;
    view.no_groups = here.no_groups;
    view.alb = here.alb.get();
    view.probes = here.probes;
    view.to_host = here.rings->to_host;
  }
}

void Core::view_port(uint16_t id, const PortEntry& port, dataplane::Snapshot& snapshot) const {
  xdp::PortView& view = snapshot.ports[id];
  view.port = id;
  view.ifindex = port.ifindex;
  view.polled = port.polled;
  view.to_host = port.tap.rings->to_host;
  snapshot.keep.push_back(port.tap.rings);
  const int vlan = rte_eth_dev_get_vlan_offload(id);
  view.restore_tags = vlan > 0 && (vlan & RTE_ETH_VLAN_STRIP_OFFLOAD) != 0;
  if (xdp::ProgramRef program = attachments_.effective(port.ifindex); program != nullptr) {
    view.program = program.get();
    snapshot.keep.push_back(std::move(program));
  }
  const BondEntry* upper = entry_of(id);
  view.devices = &snapshot.devices;
  snapshot.devices.add({.kind = xdp::DeviceView::Kind::port,
                        .up = port.polled,
                        .port = id,
                        .ifindex = port.ifindex,
                        .upper = upper != nullptr ? upper->ifindex : 0,
                        .longest = port.port->mtu() + kAboveMtu});
  if (port.tap.handle != 0) {
    snapshot.hosts.push_back(
        {.from_host = port.tap.rings->from_host, .bond = nullptr, .up = port.polled, .punts_arp = false, .port = id});
  }
}

void Core::view_bond(const BondEntry& b, Draft& draft) const {
  const std::vector<uint16_t> ports = ports_below(b);
  const BondEntry* upper = upper_of(b);
  draft.snapshot->devices.add({.kind = xdp::DeviceView::Kind::bond,
                               .up = b.bond.up(),
                               .transmits = runs_xdp(b),
                               .ifindex = b.ifindex,
                               .upper = upper != nullptr ? upper->ifindex : 0,
                               .longest = ports.empty() ? 0 : ports_.at(ports.front()).port->mtu() + kAboveMtu,
                               .table = add_table(b, draft)});
}

bool Core::steers_peers(const BondEntry& b) const {
  const auto members = b.bond.ports();
  return b.bond.mode() == bond::Mode::balance_alb || std::any_of(members.begin(), members.end(), [&](uint16_t member) {
           const BondEntry* inner = bond_member(member);
           return inner != nullptr && steers_peers(*inner);
         });
}

std::unique_ptr<dataplane::Snapshot> Core::build() const {
  Draft draft{.snapshot = std::make_unique<dataplane::Snapshot>(), .tables = {}};
  for (const auto& [id, port] : ports_) {
    view_port(id, port, *draft.snapshot);
  }
  for (const auto& b : bonds_) {
    view_bond(*b, draft);
    if (upper_of(*b) != nullptr) {
      continue;
    }
    draft.snapshot->keep.push_back(b->tap.rings);
    Above above;
    above.rings = b->tap.rings.get();
    view_below(*b, above, draft);
    const std::vector<uint16_t> ports = ports_below(*b);
    if (b->tap.handle != 0 && !ports.empty()) {
      draft.snapshot->hosts.push_back({.from_host = b->tap.rings->from_host,
                                       .bond = add_table(*b, draft),
                                       .up = b->bond.up(),
                                       .punts_arp = steers_peers(*b),
                                       .port = ports.front()});
    }
  }
  return std::move(draft.snapshot);
}

void Core::publish() {
  setup_.published->publish(build());
}

}  // namespace xbond::app
