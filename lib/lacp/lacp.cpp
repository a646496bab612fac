#include "lib/lacp/lacp.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/lacp/group_state.hpp"
#include "lib/lacp/periodic_machine.hpp"
#include "lib/lacp/receive_machine.hpp"
#include "lib/lacp/selection.hpp"

namespace xbond::lacp {

namespace {

Error invalid(const char* option, const std::string& value, const char* allowed) {
  return fail(EINVAL, std::string("option ") + option + ": invalid value (" + value + "): " + allowed);
}

Status check(const Options& options) {
  if (options.ad_actor_sys_prio == 0) return invalid("ad_actor_sys_prio", "0", "1 to 65535");
  if (options.ad_user_port_key > kMaxUserKey) {
    return invalid("ad_user_port_key", std::to_string(options.ad_user_port_key), "0 to 1023");
  }
  if ((options.ad_actor_system[0] & 1U) != 0) {
    return invalid("ad_actor_system", "a group address", "an address of one station, or all zero for the bond's");
  }
  return {};
}

Error no_port(uint16_t port) {
  return fail(ENOENT, "port " + std::to_string(port) + " is not a member");
}

}  // namespace

Group::Group(std::unique_ptr<State> state) : state_(std::move(state)) {}
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;
Group::~Group() = default;

Result<Group> Group::create(const Mac& bond_mac, const Options& options, Send send) {
  if (Status valid = check(options); !valid) return valid.error();
  auto fresh = std::make_unique<State>();
  fresh->bond_mac = bond_mac;
  fresh->options = options;
  fresh->send = std::move(send);
  fresh->ports.reserve(kMaxPorts);
  return Group(std::move(fresh));
}

void Group::set_up(bool up, Time now) {
  State& self = *state_;
  now = self.advance(now);
  if (up == self.up) return;
  for (const auto& port : self.ports) {
    if (up) {
      self.restart(*port, now);
      self.wires.enter(port->id);  // a farewell that still waits is no longer true
    } else {
      self.say_farewell(*port, now);
      self.halt(*port, now);
    }
  }
  self.up = up;
  self.next_tick = now;
  self.select_due = up ? after(now, kTick) : kNever;
  self.choose_active(now);
  self.refresh();
}

Status Group::set_options(const Options& options, Time now) {
  State& self = *state_;
  if (Status valid = check(options); !valid) return valid;
  now = self.advance(now);
  const Options before = std::exchange(self.options, options);
  for (const auto& port : self.ports) {
    const Info actor = port->actor;
    port->actor.set(state::kActivity, options.lacp_active);
    set_rate(*port, options.lacp_rate == Rate::fast);
    self.update_actor(*port);
    if (port->actor != actor) port->ntt = true;
    if (options.ad_user_port_key != before.ad_user_port_key) self.apply_link(*port, port->link, now);
  }
  if (options.ad_select != before.ad_select || options.ad_user_port_key != before.ad_user_port_key) {
    self.choose_active(now);
  }
  self.transmit_all(now);
  self.refresh();
  return {};
}

void Group::set_bond_mac(const Mac& mac, Time now) {
  State& self = *state_;
  now = self.advance(now);
  self.bond_mac = mac;
  for (const auto& port : self.ports) {
    if (port->actor.system == self.system()) continue;
    self.update_actor(*port);
    port->ntt = true;
  }
  self.transmit_all(now);
}

Status Group::set_port_priority(uint16_t port, uint16_t priority, Time now) {
  State& self = *state_;
  Port* const found = self.find(port);
  if (found == nullptr) return no_port(port);
  now = self.advance(now);
  if (found->actor.port_priority == priority) return {};
  found->actor.port_priority = priority;
  found->ntt = true;
  self.transmit_all(now);
  return {};
}

Status Group::add_port(const NewPort& port, Time now) {
  State& self = *state_;
  if (self.find(port.id) != nullptr) {
    return fail(EEXIST, "port " + std::to_string(port.id) + " is already a member");
  }
  if (self.ports.size() == kMaxPorts) {
    return fail(ENOSPC, "a bond holds " + std::to_string(kMaxPorts) + " members at most");
  }
  now = self.advance(now);
  auto member = std::make_unique<Port>();
  member->id = port.id;
  member->permanent_mac = port.mac;
  member->own.id = self.next_aggregator_id();
  member->actor.port = self.next_port_number();
  member->actor.port_priority = port.actor_port_prio;
  member->actor.set(state::kAggregation, true);
  member->actor.set(state::kActivity, self.options.lacp_active);
  member->actor.set(state::kTimeout, self.options.lacp_rate == Rate::fast);
  self.update_actor(*member);
  self.wires.expire(now);
  self.wires.enter(port.id);
  self.restart(*member, now);
  self.apply_link(*member, port.link, now);
  const bool first = self.ports.empty();
  self.ports.push_back(std::move(member));
  if (first && self.up) {
    self.next_tick = now;
    self.select_due = after(now, kSelectDelay);
  }
  self.refresh();
  return {};
}

Status Group::remove_port(uint16_t port, Time now) {
  State& self = *state_;
  Port* const leaving = self.find(port);
  if (leaving == nullptr) return no_port(port);
  now = self.advance(now);
  self.say_farewell(*leaving, now);
  detach(self.ports, *leaving);
  hand_over(self.ports, *leaving, now);
  self.departed += leaving->counters;
  if (Wire* const wire = self.wires.find(port)) wire->member = false;
  std::erase_if(self.ports, [leaving](const auto& member) { return member.get() == leaving; });
  if (self.ports.empty()) self.select_due = kNever;
  self.choose_active(now, Reason::member_left);
  self.refresh();
  return {};
}

void Group::link(uint16_t port, const Link& link, Time now) {
  State& self = *state_;
  Port* const found = self.find(port);
  if (found == nullptr || found->link == link) return;
  now = self.advance(now);
  self.apply_link(*found, link, now);
  self.choose_active(now);
  self.refresh();
}

Outcome Group::receive(uint16_t port, std::span<const uint8_t> frame, Time now) {
  State& self = *state_;
  Port* const found = self.find(port);
  if (found == nullptr) return Outcome::not_a_member;
  now = self.advance(now);
  if (!self.up) {
    ++found->refused.bond_down;
    return Outcome::refused;
  }
  const Outcome outcome = self.take(*found, frame, now);
  if (outcome == Outcome::taken) self.refresh();
  return outcome;
}

void Group::tick(Time now) {
  State& self = *state_;
  now = self.advance(now);
  self.send_farewells(now);
  self.wires.expire(now);
  if (!self.up) return;
  if (now >= self.next_tick) {
    // On the grid, but never more than once a call: deadlines are absolute, so nothing needs catching up.
    const Time missed = (now - self.next_tick) / kTick;
    self.next_tick = after(self.next_tick, (missed + 1) * kTick);
    self.run_machines(now);
  } else {
    for (const auto& port : self.ports) {
      if (now >= port->periodic_due) periodic_step(*port, now);
    }
    self.transmit_all(now);
  }
  self.refresh();
}

std::optional<Time> Group::next_deadline() const {
  const State& self = *state_;
  Time next = kNever;
  for (const Wire& wire : self.wires.all()) {
    if (wire.farewell) next = std::min(next, wire.window.next_farewell());
  }
  if (self.up && !self.ports.empty()) {
    next = std::min(next, self.next_tick);
    for (const auto& port : self.ports) {
      next = std::min(next, port->periodic_due);
      if (!wants_to_send(*port)) continue;
      if (const Wire* const wire = state_->wires.find(port->id)) next = std::min(next, wire->window.next());
    }
  }
  return next == kNever ? std::nullopt : std::optional(next);
}

bool Group::farewells_pending() const {
  const auto& wires = state_->wires.all();
  return std::any_of(wires.begin(), wires.end(), [](const Wire& wire) { return wire.farewell.has_value(); });
}

Changes Group::take_changes() {
  return std::exchange(state_->changes, Changes{});
}
const Options& Group::options() const {
  return state_->options;
}
bool Group::up() const {
  return state_->up;
}
bool Group::carrier() const {
  return state_->carrier;
}
std::span<const uint16_t> Group::usable() const {
  return std::span(state_->usable).first(state_->usable_count);
}

bool Group::collecting(uint16_t port) const {
  const std::span<const uint16_t> receiving = std::span(state_->collecting).first(state_->collecting_count);
  return std::find(receiving.begin(), receiving.end(), port) != receiving.end();
}

}  // namespace xbond::lacp
