// Members come and go at run time; what a bond's addresses and programs mean for them.
#include <fmt/format.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <utility>

#include "app/xbond/core.hpp"
#include "app/xbond/protocol_thread.hpp"
#include "lib/bond/options.hpp"

namespace xbond::app {
namespace {

constexpr const char* kNoXdp = "No native XDP support for the current bonding mode";

// bond_xdp_check in drivers/net/bonding/bond_main.c
bool runs_xdp(bond::Mode mode, bond::Policy policy) {
  switch (mode) {
    case bond::Mode::balance_rr:
    case bond::Mode::active_backup:
      return true;
    case bond::Mode::balance_xor:
    case bond::Mode::ieee8023ad:
      return policy != bond::Policy::vlan_srcmac;  // its tag is beside the frame: XDP does not see it
    default:
      return false;
  }
}

}  // namespace

const Core::BondEntry* Core::bond_with(uint32_t ifindex) const {
  const auto it = std::find_if(bonds_.begin(), bonds_.end(), [&](const auto& b) { return b->ifindex == ifindex; });
  return it == bonds_.end() ? nullptr : it->get();
}

Status Core::check_attach(uint32_t ifindex, bool force) const {
  const BondEntry* b = bond_with(ifindex);
  if (b != nullptr && !runs_xdp(b->bond.mode(), b->bond.policy())) {
    return fail(EOPNOTSUPP, kNoXdp);
  }
  return attachments_.check(ifindex, force);
}

// A program stays only where it can run: mode and policy don't go where it can't.
Status Core::check_program(const BondEntry& b, std::string_view option, std::string_view value) const {
  const bond::Option* known = bond::find_option(option, false);
  if (known == nullptr || attachments_.effective(b.ifindex) == nullptr) {
    return {};
  }
  bond::Mode mode = b.bond.mode();
  bond::Policy policy = b.bond.policy();
  if (known->id != bond::OptionId::mode && known->id != bond::OptionId::xmit_hash_policy) {
    return {};
  }
  const auto number = bond::parse_value(*known, value);
  if (!number) {
    return {};  // set_option says it
  }
  if (known->id == bond::OptionId::mode) {
    mode = static_cast<bond::Mode>(*number);
  } else {
    policy = static_cast<bond::Policy>(*number);
  }
  return runs_xdp(mode, policy)
             ? Status()
             : fail(EOPNOTSUPP,
                    fmt::format("option {}: an XDP program is attached; it can't run with {}", option, value));
}

Status Core::check_enslave(std::string_view bond, const port::Port& member) const {
  const BondEntry* b = const_cast<Core*>(this)->entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  if (const bond::Bond* other = bond_of(member.id()); other != nullptr) {
    return fail(EBUSY, fmt::format("{} is a member of {} already", member.name(), other->name()));
  }
  return attachments_.can_enslave(b->ifindex, ports_.at(member.id()).ifindex);
}

Status Core::enslave(std::string_view bond, port::Port& member) {
  if (Status ok = check_enslave(bond, member); !ok) {
    return ok;
  }
  BondEntry* b = entry(bond);
  PortEntry& port = ports_.at(member.id());
  const port::LinkState link = member.link();
  auto changes = b->bond.add_member(
      {.port = member.id(),
       .name = member.name(),
       .permanent_mac = member.permanent_mac(),
       .link = {.up = link.up && port.polled, .speed_mbps = link.speed_mbps, .full_duplex = link.full_duplex}},
      now_ms());
  if (!changes) {
    return changes.error();
  }
  (void)attachments_.enslave(b->ifindex, port.ifindex);
  port.tap = {};
  port.carrier = false;
  port.promiscuous = member.promiscuous();
  port.allmulticast = member.allmulticast();
  (void)member.set_allmulticast(true);
  steer(b, member);
  apply_macs(*b);
  apply(*b, std::move(changes.value()));
  publish();
  arm(now_ms());
  return {};
}

Status Core::release(std::string_view bond, uint16_t id, TapRef tap) {
  BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  auto changes = b->bond.remove_member(id, now_ms());
  if (!changes) {
    return changes.error();
  }
  PortEntry& port = ports_.at(id);
  attachments_.release(port.ifindex);
  steer(nullptr, *port.port);
  const auto restart = workers_stopped_ || !port.polled ? port::Restart::allowed : port::Restart::never;
  if (Status ok = port.port->set_mac(port.port->permanent_mac(), restart);
      !ok && port.port->mac() != port.port->permanent_mac()) {
    setup_.notice(fmt::format("{}: keeps the bond's MAC address ({})", port.port->name(), ok.error().text));
  }
  (void)port.port->set_promiscuous(port.promiscuous);
  (void)port.port->set_allmulticast(port.allmulticast);
  port.tap = std::move(tap);
  port.carrier = false;
  apply_macs(*b);
  apply(*b, std::move(changes.value()));
  publish();
  poll_port_taps();
  return {};
}

std::optional<uint8_t> Core::free_bond_index() const {
  for (uint8_t index = 0; index < xdp::kMaxBonds; ++index) {
    const bool used =
        std::any_of(bonds_.begin(), bonds_.end(), [&](const auto& b) { return b->bond.index() == index; });
    if (!used) {
      return index;
    }
  }
  return std::nullopt;
}

Status Core::remove_bond(std::string_view bond) {
  const auto it = std::find_if(bonds_.begin(), bonds_.end(), [&](const auto& b) { return b->bond.name() == bond; });
  if (it == bonds_.end()) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  if (!(*it)->bond.ports().empty()) {
    return fail(EBUSY, fmt::format("{} has members", bond));
  }
  attachments_.remove_device((*it)->ifindex);
  bonds_.erase(it);
  publish();
  return {};
}

Status Core::set_bond_mac(std::string_view bond, const port::Mac& mac) {
  BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  auto changes = b->bond.set_mac(mac, now_ms());
  if (!changes) {
    return changes.error();
  }
  b->tap_mac = mac;  // where it came from
  apply(*b, std::move(changes.value()));
  return {};
}

// Frames to the bond's address still arrive where the device is promiscuous.
void Core::apply_mac(const BondEntry& b, PortEntry& member) {
  port::Port& port = *member.port;
  const port::Mac wanted = b.bond.member_mac(port.id());
  if (port.mac() == wanted) {
    return;
  }
  const auto restart = workers_stopped_ || !member.polled ? port::Restart::allowed : port::Restart::never;
  Status ok = port.set_mac(wanted, restart);
  if (ok || port.mac() == wanted) {
    return;
  }
  if (!port.promiscuous()) {
    setup_.notice(fmt::format("{}: member {} keeps its own MAC address ({}); set to promiscuous instead", b.bond.name(),
                              port.name(), ok.error().text));
    (void)port.set_promiscuous(true);
  }
}

void Core::apply_promiscuous(BondEntry& b) {
  for (const uint16_t id : b.bond.ports()) {
    PortEntry& member = ports_.at(id);
    const bool wanted = b.bond.promiscuous_member() == id;
    if (wanted && !member.port->promiscuous()) {
      member.made_promiscuous = static_cast<bool>(member.port->set_promiscuous(true));
    } else if (!wanted && std::exchange(member.made_promiscuous, false)) {
      (void)member.port->set_promiscuous(false);
    }
  }
}

void Core::apply_macs(BondEntry& b) {
  // Those that give an address away go first: no two of them carry one at the same time.
  for (const bool giving : {true, false}) {
    for (const uint16_t id : b.bond.ports()) {
      PortEntry& member = ports_.at(id);
      if ((member.port->mac() == b.bond.mac()) == giving) {
        apply_mac(b, member);
      }
    }
  }
  const port::Mac mac = b.bond.mac();
  if (b.tap.handle != 0 && mac != port::Mac{} && mac != b.tap_mac) {
    b.tap_mac = mac;
    (void)setup_.host->set_mac(b.tap.handle, mac);
  }
}

}  // namespace xbond::app
