#include "app/xbond/core.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/xbond/announce.hpp"
#include "app/xbond/protocol_thread.hpp"

namespace xbond::app {
namespace {

// Links of ports outside a bond, and retries: Linux's default miimon.
constexpr uint64_t kIdlePollMs = 100;
// How long a frame for the protocol thread may wait: workers make no system call to wake it.
constexpr uint64_t kPuntPollMs = 10;

}  // namespace

void Core::add_port(port::Port& port, uint32_t ifindex, TapRef tap) {
  ports_.insert_or_assign(port.id(), PortEntry{&port, ifindex, std::move(tap)});
  attachments_.add_device(ifindex);
}

Status Core::add_bond(bond::Bond bond, uint32_t ifindex, TapRef tap) {
  if (entry(bond.name()) != nullptr) {
    return fail(EEXIST, fmt::format("bond {} exists already", bond.name()));
  }
  bond.on_slow_protocol_frame(
      [this](uint16_t port, std::span<const uint8_t> frame) { send_slow_protocol(port, frame); });
  attachments_.add_device(ifindex);
  if (setup_.load) {
    // Workers may have counted for a bond that had this index before: what is measured begins now.
    const BondLoad load = setup_.load(bond.index());
    bond.measured(load.channels, load.unbalanced);
    bond.measured(load.channels, load.unbalanced);
  }
  bonds_.push_back(std::make_unique<BondEntry>(BondEntry{std::move(bond), ifindex, std::move(tap)}));
  return {};
}

Core::BondEntry* Core::entry(std::string_view name) const {
  const auto it = std::find_if(bonds_.begin(), bonds_.end(), [&](const auto& b) { return b->bond.name() == name; });
  return it == bonds_.end() ? nullptr : it->get();
}

const bond::Bond* Core::find_bond(std::string_view name) const {
  const BondEntry* found = entry(name);
  return found == nullptr ? nullptr : &found->bond;
}

port::Mac Core::bond_mac(std::string_view bond) const {
  const BondEntry* found = entry(bond);
  return found == nullptr ? port::Mac{} : found->bond.mac();
}

Core::BondEntry* Core::entry_of(uint16_t member) const {
  for (const auto& b : bonds_) {
    const auto members = b->bond.ports();
    if (std::find(members.begin(), members.end(), member) != members.end()) {
      return b.get();
    }
  }
  return nullptr;
}

const bond::Bond* Core::bond_of(uint16_t member) const {
  const BondEntry* found = entry_of(member);
  return found == nullptr ? nullptr : &found->bond;
}

Status Core::set_bond_option(std::string_view bond, std::string_view option, std::string_view value) {
  BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  if (Status ok = check_program(*b, option, value); !ok) {
    return ok;
  }
  auto changes = b->bond.set_option(option, value, now_ms());
  if (!changes) {
    return changes.error();
  }
  changes->table = true;  // whatever the option was, workers see the new state
  apply(*b, std::move(changes.value()));
  for (const uint16_t port : ports_below(*b)) {
    steer(port);
  }
  b->poll_at_ms = 0;
  arm(now_ms());
  return {};
}

Status Core::set_member_option(std::string_view bond, uint16_t member, std::string_view option,
                               std::string_view value) {
  BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  auto changes = b->bond.set_member_option(member, option, value, now_ms());
  if (!changes) {
    return changes.error();
  }
  apply(*b, std::move(changes.value()));
  return {};
}

Status Core::set_bond_up(std::string_view bond, bool up) {
  BondEntry* b = entry(bond);
  if (b == nullptr) {
    return fail(ENODEV, fmt::format("no bond {}", bond));
  }
  bond::Changes changes = b->bond.set_up(up, now_ms());
  changes.table = true;
  apply(*b, std::move(changes));
  return {};
}

void Core::set_polled(uint16_t port, bool polled) {
  ports_.at(port).polled = polled;
  links_changed();
  publish();
}

Status Core::attach(uint32_t ifindex, xdp::ProgramRef program, bool force) {
  if (Status ok = attachments_.attach(ifindex, std::move(program), force); !ok) {
    return ok;
  }
  publish();
  return {};
}

Status Core::detach(uint32_t ifindex) {
  if (Status ok = attachments_.detach(ifindex); !ok) {
    return ok;
  }
  publish();
  return {};
}

// --- events

void Core::apply(BondEntry& b, bond::Changes changes) {
  for (const std::string& line : changes.log) {
    setup_.notice(fmt::format("{}: {}", b.bond.name(), line));
  }
  if (changes.macs) {
    apply_macs(b);
  }
  tell_upper(b);  // before workers see it: they never find a bond above that still counts on this one
  if (changes.table || changes.active_changed || (changes.macs && b.bond.mode() == bond::Mode::balance_alb)) {
    publish();
  }
  if (b.tap.handle != 0 && b.bond.carrier() != b.carrier) {
    b.carrier = b.bond.carrier();
    (void)setup_.host->set_carrier(b.tap.handle, b.carrier);
  }
  if (changes.active_changed && b.bond.active().has_value()) {
    b.announce_left = b.bond.announcements();
    b.announce_at_ms = 0;
    announce(b, now_ms());
  }
  if (changes.rejoin) {
    b.rejoin_left = b.bond.params().resend_igmp;
    b.rejoin_at_ms = 0;
    rejoin(b, now_ms());
  }
  if (changes.promiscuous) {
    apply_promiscuous(b);
  }
  send_balancing(b, changes);
  send_probes(b, changes.probes);
}

void Core::poll_links(BondEntry& b, uint64_t now) {
  const auto members = b.bond.ports();
  // link() may change the member list's order of choice, never the list: still, copy what is walked.
  const std::vector<uint16_t> ports(members.begin(), members.end());
  for (const uint16_t id : ports) {
    apply(b, b.bond.link(id, report_of(id), now));
  }
}

void Core::poll_port_taps() {
  for (auto& [id, port] : ports_) {
    if (port.tap.handle == 0) {
      continue;
    }
    const bool up = port.polled && port.port->link().up;
    if (up != port.carrier) {
      port.carrier = up;
      (void)setup_.host->set_carrier(port.tap.handle, up);
    }
  }
}

void Core::links_changed() {
  const uint64_t now = now_ms();
  for (const auto& b : bonds_) {
    poll_links(*b, now);
  }
  poll_port_taps();
  arm(now);
}

void Core::timer() {
  const uint64_t now = now_ms();
  take_punts(now);
  receive_slow_protocols();
  for (const auto& b : bonds_) {
    if (now >= b->poll_at_ms) {
      poll_links(*b, now);
      b->poll_at_ms = now + (b->bond.miimon_ms() != 0 ? b->bond.miimon_ms() : kIdlePollMs);
    }
    if (const auto deadline = b->bond.next_deadline_ms(); deadline.has_value() && now >= *deadline) {
      tick(*b, now);
    }
    if (b->announce_left != 0 && now >= b->announce_at_ms) {
      announce(*b, now);
    }
    if (b->rejoin_left != 0 && now >= b->rejoin_at_ms) {
      rejoin(*b, now);
    }
  }
  poll_port_taps();
  setup_.published->reclaim();
  arm(now);
}

void Core::arm(uint64_t now) {
  uint64_t next = now + (wants_punts() ? kPuntPollMs : kIdlePollMs);
  for (const auto& b : bonds_) {
    next = std::min(next, std::max(b->poll_at_ms, now + 1));
    if (const auto deadline = b->bond.next_deadline_ms(); deadline.has_value()) {
      next = std::min(next, std::max(*deadline, now + 1));
    }
    if (b->announce_left != 0) {
      next = std::min(next, std::max(b->announce_at_ms, now + 1));
    }
    if (b->rejoin_left != 0) {
      next = std::min(next, std::max(b->rejoin_at_ms, now + 1));
    }
  }
  setup_.wake_at(next);
}

// bond_send_gratuitous_arp's job: peers learn which member the bond's addresses are behind now.
void Core::announce(BondEntry& b, uint64_t now) {
  if (b.announce_left == 0 || !b.bond.active().has_value()) {
    return;
  }
  --b.announce_left;
  // The kernel looks whether one is due each time that its monitor runs.
  const bond::Params& params = b.bond.params();
  const uint64_t round = std::max<uint64_t>(params.miimon != 0 ? params.miimon : params.arp_interval, 1);
  b.announce_at_ms = now + std::max(b.bond.announcement_delay_ms(), round);
  const BondEntry& host = top_of(b);  // who has the host's addresses
  for (rte_mbuf* frame : announcements(host.tap.name, host.bond.mac(), setup_.pool)) {
    send(*b.bond.active(), frame);
  }
}

}  // namespace xbond::app
