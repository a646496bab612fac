// Bonds under bonds: what a member is when it is a bond, and how control's frames get through it.
#include <fmt/format.h>
#include <rte_ether.h>

#include <algorithm>

#include "app/xbond/core.hpp"
#include "app/xbond/protocol_thread.hpp"
#include "lib/bond/choice.hpp"

namespace xbond::app {

Core::BondEntry* Core::bond_member(uint16_t member) const {
  if (!bond::is_bond(member)) {
    return nullptr;
  }
  const auto it = std::find_if(bonds_.begin(), bonds_.end(),
                               [&](const auto& b) { return bond::member_id(b->bond.index()) == member; });
  return it == bonds_.end() ? nullptr : it->get();
}

Core::BondEntry* Core::upper_of(const BondEntry& b) const {
  return entry_of(bond::member_id(b.bond.index()));
}

Core::BondEntry& Core::top_of(BondEntry& b) const {
  BondEntry* top = &b;
  for (BondEntry* upper = upper_of(b); upper != nullptr; upper = upper_of(*upper)) {
    top = upper;
  }
  return *top;
}

void Core::add_ports_below(uint16_t member, std::vector<uint16_t>& ports) const {
  const BondEntry* inner = bond_member(member);
  if (inner == nullptr) {
    ports.push_back(member);
    return;
  }
  for (const uint16_t id : inner->bond.ports()) {
    add_ports_below(id, ports);
  }
}

std::vector<uint16_t> Core::ports_below(uint16_t member) const {
  std::vector<uint16_t> ports;
  add_ports_below(member, ports);
  return ports;
}

std::vector<uint16_t> Core::ports_below(const BondEntry& b) const {
  return ports_below(bond::member_id(b.bond.index()));
}

std::vector<uint16_t> Core::ports_below(std::string_view bond) const {
  const bond::Bond* b = find_bond(bond);
  return b == nullptr ? std::vector<uint16_t>{} : ports_below(bond::member_id(b->index()));
}

bool Core::has_nested(std::string_view bond) const {
  const bond::Bond* b = find_bond(bond);
  return b != nullptr && std::any_of(b->ports().begin(), b->ports().end(), bond::is_bond);
}

Core::LacpMember Core::lacp_above(uint16_t port) const {
  uint16_t member = port;
  for (BondEntry* b = entry_of(port); b != nullptr; b = entry_of(member)) {
    if (b->bond.mode() == bond::Mode::ieee8023ad) {
      return {b, member};
    }
    member = bond::member_id(b->bond.index());
  }
  return {};
}

// --- membership

// Linux's lower_level: the levels of devices from it down, with the ports.
uint16_t Core::levels_below(const BondEntry& b) const {
  uint16_t most = 1;
  for (const uint16_t id : b.bond.ports()) {
    if (const BondEntry* inner = bond_member(id); inner != nullptr) {
      most = std::max(most, levels_below(*inner));
    }
  }
  return static_cast<uint16_t>(most + 1);
}

// As netdev_master_upper_dev_link (net/core/dev.c), whose refusals have no words.
Status Core::check_nesting(const BondEntry& b, const BondEntry& member) const {
  if (&b == &member) {
    return fail(EPERM, "Cannot enslave bond to itself.");
  }
  uint16_t levels = 1;
  for (const BondEntry* upper = upper_of(b); upper != nullptr; upper = upper_of(*upper)) {
    if (upper == &member) {
      return fail(EBUSY, fmt::format("{} is above {}: no bond can be below itself", member.bond.name(), b.bond.name()));
    }
    ++levels;
  }
  if (levels + levels_below(member) > bond::kMaxLevels) {
    return fail(EMLINK, fmt::format("more than {} levels of devices, the ports included", bond::kMaxLevels));
  }
  return {};
}

uint32_t Core::ifindex_of(uint16_t member) const {
  const BondEntry* inner = bond_member(member);
  return inner != nullptr ? inner->ifindex : ports_.at(member).ifindex;
}

bond::LinkReport Core::report_of(uint16_t member) const {
  if (const BondEntry* inner = bond_member(member); inner != nullptr) {
    return {.up = inner->bond.carrier(), .speed_mbps = inner->bond.speed_mbps(), .full_duplex = true};
  }
  const PortEntry& entry = ports_.at(member);
  const port::LinkState link = entry.port->link();
  return {.up = link.up && entry.polled, .speed_mbps = link.speed_mbps, .full_duplex = link.full_duplex};
}

bond::NewMember Core::described(uint16_t member) const {
  if (const BondEntry* inner = bond_member(member); inner != nullptr) {
    return {.port = member, .name = inner->bond.name(), .permanent_mac = inner->bond.mac(), .link = report_of(member)};
  }
  const port::Port& port = *ports_.at(member).port;
  return {.port = member, .name = port.name(), .permanent_mac = port.permanent_mac(), .link = report_of(member)};
}

void Core::enslave_bond(BondEntry& inner) {
  inner.own_mac = inner.bond.mac();
  inner.tap = {};
  inner.carrier = false;
}

port::Mac Core::mac_alone(std::string_view bond) const {
  const BondEntry* b = entry(bond);
  return b == nullptr ? port::Mac{} : b->own_mac;
}

void Core::release_bond(BondEntry& inner, TapRef tap) {
  if (auto changes = inner.bond.set_mac(inner.own_mac, now_ms()); changes) {
    apply(inner, std::move(changes.value()));
  }
  inner.tap = std::move(tap);
  inner.tap_mac = inner.own_mac;
  inner.carrier = false;
  apply(inner, {});
}

// Carrier or speed may have changed.
void Core::tell_upper(const BondEntry& b) {
  const uint16_t member = bond::member_id(b.bond.index());
  if (BondEntry* upper = entry_of(member); upper != nullptr) {
    apply(*upper, upper->bond.link(member, report_of(member), now_ms()));
  }
}

port::Mac Core::mac_now(uint16_t member) const {
  const BondEntry* inner = bond_member(member);
  return inner != nullptr ? inner->bond.mac() : ports_.at(member).port->mac();
}

uint64_t Core::received_by(uint16_t member) const {
  uint64_t sum = 0;
  for (const uint16_t port : ports_below(member)) {
    sum += setup_.received ? setup_.received(port) : 0;
  }
  return sum;
}

// --- control's frames

void Core::send(uint16_t member, rte_mbuf* frame) {
  if (frame == nullptr) {
    return;
  }
  if (BondEntry* inner = bond_member(member); inner != nullptr) {
    send_by(*inner, frame);
  } else if (const auto port = ports_.find(member); port != ports_.end()) {
    (void)port->second.port->control_transmit(frame, workers_stopped_);
  } else {
    rte_pktmbuf_free(frame);
  }
}

// As the workers would send it.
void Core::send_by(BondEntry& b, rte_mbuf* frame) {
  const std::span<uint8_t> bytes(rte_pktmbuf_mtod(frame, uint8_t*), frame->data_len);
  uint16_t by = port::kNoPort;
  if (b.bond.mode() == bond::Mode::balance_alb) {
    bond::Bond::HostArp answer = b.bond.host_arp(bytes, now_ms());
    apply(b, std::move(answer.changes));
    by = answer.by;
  } else {
    const bond::TxTable table = b.bond.table();
    const bond::Choice choice = bond::choose(table, bond::Path::host, bytes);
    if (choice.why == bond::Choice::Why::every) {
      send_to_each(table, frame);
      return;
    }
    by = choice.why == bond::Choice::Why::in_turn ? table.port[0] : choice.port;
  }
  if (by == port::kNoPort) {
    rte_pktmbuf_free(frame);
  } else {
    send(by, frame);
  }
}

void Core::send_to_each(const bond::TxTable& table, rte_mbuf* frame) {
  for (uint16_t i = 1; i < table.usable; ++i) {
    send(table.port[i], rte_pktmbuf_copy(frame, setup_.pool, 0, UINT32_MAX));
  }
  send(table.port[0], frame);
}

}  // namespace xbond::app
