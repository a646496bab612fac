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

}  // namespace

const Core::BondEntry* Core::bond_with(uint32_t ifindex) const {
  const auto it = std::find_if(bonds_.begin(), bonds_.end(), [&](const auto& b) { return b->ifindex == ifindex; });
  return it == bonds_.end() ? nullptr : it->get();
}

bool Core::runs_xdp(const BondEntry& b) const {
  const auto members = b.bond.ports();
  return bond::runs_xdp(b.bond.mode(), b.bond.policy()) &&
         std::all_of(members.begin(), members.end(), [&](uint16_t member) {
           const BondEntry* inner = bond_member(member);
           return inner == nullptr || runs_xdp(*inner);
         });
}

Status Core::check_attach(uint32_t ifindex, bool force) const {
  const BondEntry* b = bond_with(ifindex);
  if (b != nullptr && !runs_xdp(*b)) {
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
  return bond::runs_xdp(mode, policy)
             ? Status()
             : fail(EOPNOTSUPP,
                    fmt::format("option {}: an XDP program is attached; it can't run with {}", option, value));
}

Status Core::check_enslave(std::string_view bond, uint16_t member) const {
  const BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  const BondEntry* inner = bond_member(member);
  const std::string& name = inner != nullptr ? inner->bond.name() : ports_.at(member).port->name();
  if (const bond::Bond* other = bond_of(member); other != nullptr) {
    return fail(EBUSY, fmt::format("{} is a member of {} already", name, other->name()));
  }
  if (inner != nullptr) {
    if (Status ok = check_nesting(*b, *inner); !ok) {
      return ok;
    }
    if (attachments_.effective(b->ifindex) != nullptr && !runs_xdp(*inner)) {
      return fail(EOPNOTSUPP, kNoXdp);
    }
  }
  return attachments_.can_enslave(b->ifindex, ifindex_of(member));
}

Status Core::enslave(std::string_view bond, uint16_t member) {
  if (Status ok = check_enslave(bond, member); !ok) {
    return ok;
  }
  BondEntry* b = entry(bond);
  BondEntry* inner = bond_member(member);
  if (inner != nullptr && inner->bond.mac() == port::Mac{}) {
    port::Mac mac{};  // no member gave it one yet
    rte_eth_random_addr(mac.data());
    (void)inner->bond.set_mac(mac, now_ms());
  }
  auto changes = b->bond.add_member(described(member), now_ms());
  if (!changes) {
    return changes.error();
  }
  (void)attachments_.enslave(b->ifindex, ifindex_of(member));
  if (inner != nullptr) {
    enslave_bond(*inner);
  } else {
    PortEntry& port = ports_.at(member);
    port.tap = {};
    port.carrier = false;
    port.promiscuous = port.port->promiscuous();
    port.allmulticast = port.port->allmulticast();
    (void)port.port->set_allmulticast(true);
  }
  for (const uint16_t port : ports_below(member)) {
    steer(port);
  }
  apply_macs(*b);
  apply(*b, std::move(changes.value()));
  publish();
  arm(now_ms());
  return {};
}

Status Core::release(std::string_view bond, uint16_t member, TapRef tap) {
  BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  auto changes = b->bond.remove_member(member, now_ms());
  if (!changes) {
    return changes.error();
  }
  BondEntry* inner = bond_member(member);
  attachments_.release(ifindex_of(member));
  for (const uint16_t port : ports_below(member)) {
    steer(port);
  }
  if (inner != nullptr) {
    release_bond(*inner, std::move(tap));
  } else {
    release_port(ports_.at(member), std::move(tap));
  }
  apply_macs(*b);
  apply(*b, std::move(changes.value()));
  publish();
  poll_port_taps();
  return {};
}

void Core::release_port(PortEntry& port, TapRef tap) {
  const auto restart = workers_stopped_ || !port.polled ? port::Restart::allowed : port::Restart::never;
  if (Status ok = port.port->set_mac(port.port->permanent_mac(), restart);
      !ok && port.port->mac() != port.port->permanent_mac()) {
    setup_.notice(fmt::format("{}: keeps the bond's MAC address ({})", port.port->name(), ok.error().text));
  }
  (void)port.port->set_promiscuous(port.promiscuous);
  (void)port.port->set_allmulticast(port.allmulticast);
  port.made_promiscuous = false;
  port.tap = std::move(tap);
  port.carrier = false;
}

std::optional<uint8_t> Core::free_bond_index() const {
  for (uint8_t index = 0; index < bond::kMaxBonds; ++index) {
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
void Core::apply_mac(const BondEntry& b, uint16_t member) {
  const port::Mac wanted = b.bond.member_mac(member);
  if (mac_now(member) == wanted) {
    return;
  }
  std::string why = "its mode gives it another one";
  if (BondEntry* inner = bond_member(member); inner != nullptr) {
    auto changes = inner->bond.set_mac(wanted, now_ms());
    if (changes) {
      apply(*inner, std::move(changes.value()));
    } else {
      why = changes.error().text;
    }
  } else {
    const PortEntry& entry = ports_.at(member);
    const auto restart = workers_stopped_ || !entry.polled ? port::Restart::allowed : port::Restart::never;
    if (Status ok = entry.port->set_mac(wanted, restart); !ok) {
      why = ok.error().text;
    }
  }
  if (mac_now(member) == wanted) {
    return;
  }
  for (const uint16_t id : ports_below(member)) {
    port::Port& port = *ports_.at(id).port;
    if (!port.promiscuous()) {
      setup_.notice(fmt::format("{}: member {} keeps its own MAC address ({}); set to promiscuous instead",
                                b.bond.name(), b.bond.member_name(member), why));
      (void)port.set_promiscuous(true);
    }
  }
}

void Core::apply_promiscuous(BondEntry& b) {
  for (const uint16_t member : b.bond.ports()) {
    const bool wanted = b.bond.promiscuous_member() == member;
    for (const uint16_t id : ports_below(member)) {
      PortEntry& port = ports_.at(id);
      if (wanted && !port.port->promiscuous()) {
        port.made_promiscuous = static_cast<bool>(port.port->set_promiscuous(true));
      } else if (!wanted && std::exchange(port.made_promiscuous, false)) {
        (void)port.port->set_promiscuous(false);
      }
    }
  }
}

void Core::apply_macs(BondEntry& b) {
  // Those that give an address away go first: no two of them carry one at the same time.
  for (const bool giving : {true, false}) {
    const auto members = b.bond.ports();
    for (const uint16_t member : std::vector<uint16_t>(members.begin(), members.end())) {
      if ((mac_now(member) == b.bond.mac()) == giving) {
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
