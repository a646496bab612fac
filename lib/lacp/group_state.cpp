#include "lib/lacp/group_state.hpp"

#include <algorithm>

#include "lib/lacp/churn_machine.hpp"
#include "lib/lacp/mux_machine.hpp"
#include "lib/lacp/periodic_machine.hpp"
#include "lib/lacp/receive_machine.hpp"
#include "lib/lacp/selection.hpp"

namespace xbond::lacp {

const Mac& Group::State::system() const noexcept {
  return options.ad_actor_system == Mac{} ? bond_mac : options.ad_actor_system;
}

Port* Group::State::find(uint16_t id) const noexcept {
  const auto found = std::find_if(ports.begin(), ports.end(), [id](const auto& port) { return port->id == id; });
  return found == ports.end() ? nullptr : found->get();
}

Time Group::State::advance(Time now) noexcept {
  // The end of time is out of reach, so that sums of deadlines can't wrap.
  latest = std::max(latest, std::min(now, kNever - 1000 * kSecond));
  return latest;
}

void Group::State::notify(Notice::Kind kind, uint16_t port) noexcept {
  const Notice notice{kind, port};
  const auto* const end = changes.notice.data() + changes.notices;
  if (changes.notices == Changes::kMaxNotices || std::find<const Notice*>(changes.notice.data(), end, notice) != end) {
    return;
  }
  changes.notice[changes.notices++] = notice;
}

// An active aggregator without a partner is Linux's fall-back to a link without LACP: its one port works at once.
bool Group::State::may_collect(const Port& port) const noexcept {
  if (!up || !port.running() || !port.in_active_aggregator()) return false;
  return !port.aggregator->has_partner() || port.actor.has(state::kCollecting);
}

// The partner's bits are those of its last PDU, so news that it stopped counts at once and not only at the next tick.
bool Group::State::may_distribute(const Port& port) const noexcept {
  if (!up || !port.running() || !port.in_active_aggregator()) return false;
  return !port.aggregator->has_partner() ||
         (port.actor.has(state::kDistributing) && port.partner.has(state::kSynchronization | state::kCollecting));
}

void Group::State::refresh() noexcept {
  std::array<uint16_t, kMaxPorts> sending{};
  std::array<uint16_t, kMaxPorts> receiving{};
  std::size_t senders = 0;
  std::size_t receivers = 0;
  for (const auto& port : ports) {
    if (may_distribute(*port)) sending[senders++] = port->id;
    if (may_collect(*port)) receiving[receivers++] = port->id;
  }
  const Aggregator* const active = active_aggregator(ports);
  const bool carries = up && active != nullptr && active_ports(ports, *active) >= options.min_links;
  if (sending != usable || senders != usable_count || receiving != collecting || receivers != collecting_count) {
    usable = sending;
    usable_count = senders;
    collecting = receiving;
    collecting_count = receivers;
    changes.usable = true;
  }
  if (carries != carrier) {
    carrier = carries;
    changes.carrier = true;
  }
}

void Group::State::choose_active(Time now, Reason why) noexcept {
  const Aggregator* const chosen = choose(ports, options.ad_select);
  const uint16_t id = chosen == nullptr ? uint16_t{0} : chosen->id;
  if (id == active_id) return;
  if (id == 0) why = up ? Reason::no_aggregator : Reason::administrative;
  history.add({now, Machine::choice, why, active_id, id});
  active_id = id;
  changes.aggregator = true;
  if (chosen != nullptr && chosen->individual) notify(Notice::Kind::no_response, 0);
}

void Group::State::run_port(Port& port, Time now) {
  receive_step(port, now);
  periodic_step(port, now);
  if (!port.selected) {
    assign(ports, port, now);
    choose_active(now);
  }
  mux_step(port, ports, {options.coupled_control, select_due != kNever}, now);
  port.begin = false;
  transmit(port, now);
  churn_step(port, now);
}

void Group::State::run_machines(Time now) {
  if (now >= select_due) {
    select_due = kNever;
    choose_active(now);
  }
  for (const auto& port : ports) run_port(*port, now);
}

void Group::State::transmit(Port& port, Time now) {
  if (!up || !wants_to_send(port)) return;
  Wire* const wire = wires.find(port.id);
  if (wire == nullptr || now < wire->window.next()) return;
  wire->window.sent(now);
  port.ntt = false;
  ++port.counters.lacpdu_tx;
  send(port.id, encode(pdu_of(port, false), port.permanent_mac));
}

void Group::State::transmit_all(Time now) {
  for (const auto& port : ports) transmit(*port, now);
}

void Group::State::say_farewell(Port& port, Time now) {
  Wire* const wire = wires.find(port.id);
  const bool heard_or_active = port.actor.has(state::kActivity) || !port.actor.has(state::kDefaulted);
  if (wire == nullptr || !up || !port.running() || !port.lacp_enabled || !heard_or_active) return;
  wire->farewell = encode(pdu_of(port, true), port.permanent_mac);
  ++port.counters.lacpdu_tx;
  send_farewells(now);
}

void Group::State::send_farewells(Time now) {
  for (Wire& wire : wires.all()) {
    if (!wire.farewell || now < wire.window.next_farewell()) continue;
    wire.window.sent(now);
    send(wire.port, *wire.farewell);
    wire.farewell.reset();
  }
}

void Group::State::restart(Port& port, Time now) {
  port.begin = true;
  port.ntt = false;
  port.actor.set(state::kSynchronization | state::kCollecting | state::kDistributing, false);
  if (Wire* const wire = wires.find(port.id)) wire->window.hold_until(after(now, kQuietStart));
}

void Group::State::halt(Port& port, Time now) {
  port.begin = true;
  receive_step(port, now);
  periodic_step(port, now);
  mux_step(port, ports, {}, now);
  port.ntt = false;
  port.actor_churn_due = kNever;
  port.partner_churn_due = kNever;
}

void Group::State::update_actor(Port& port) noexcept {
  port.actor.system = system();
  port.actor.system_priority = options.ad_actor_sys_prio;
}

void Group::State::apply_link(Port& port, const Link& link, Time now) {
  const bool was_enabled = port.enabled;
  const uint16_t was_key = port.actor.key;
  const uint32_t was_speed = port.link.speed_mbps;
  port.link = link;
  port.enabled = link.usable();
  port.lacp_enabled = port.enabled && link.full_duplex;
  port.actor.key = oper_key(options.ad_user_port_key, link);
  if (link.up && !link.usable()) notify(Notice::Kind::speed_unknown, port.id);
  if (port.enabled != was_enabled) {
    port.note(now, Machine::link, was_enabled, port.enabled, port.enabled ? Reason::link_up : Reason::link_down);
  }
  if (!port.enabled) {
    if (was_enabled) {
      port.ntt = false;
      if (!port.begin) receive_step(port, now);
    }
  } else if (!was_enabled || port.actor.key != was_key || link.speed_mbps != was_speed) {
    if (was_enabled) port.note(now, Machine::link, 1, 1, Reason::speed_changed);
    port.begin = true;
  }
}

Outcome Group::State::take_lacpdu(Port& port, const Pdu& pdu, Time now) {
  constexpr Time kNoticeSpacing = 10 * kSecond;
  ++port.counters.lacpdu_rx;
  switch (receive_pdu(port, pdu, now)) {
    case Received::recorded:
      return Outcome::taken;
    case Received::not_listening:
      ++port.refused.not_listening;
      break;
    case Received::loopback:
      if (port.refused.loopback++ == 0 || now >= after(port.last_loopback_notice, kNoticeSpacing)) {
        port.last_loopback_notice = now;
        notify(Notice::Kind::loopback, port.id);
      }
      break;
  }
  return Outcome::refused;
}

Outcome Group::State::answer_marker(Port& port, std::span<const uint8_t> frame, Time now) {
  ++port.counters.marker_rx;
  if (!port.enabled) {
    ++port.refused.not_listening;
    return Outcome::refused;
  }
  if (!port.marker.allow(now)) {
    ++port.refused.marker_limited;
    return Outcome::refused;
  }
  ++port.counters.marker_resp_tx;
  send(port.id, marker_response(frame, port.permanent_mac));
  return Outcome::answered;
}

Outcome Group::State::take(Port& port, std::span<const uint8_t> frame, Time now) {
  const Decoded decoded = decode(frame);
  switch (decoded.kind) {
    case FrameKind::lacpdu:
      port.refused.unknown_tlvs += decoded.unknown_tlvs;
      port.refused.malformed_tail += decoded.malformed_tail ? 1 : 0;
      return take_lacpdu(port, decoded.pdu, now);
    case FrameKind::marker:
      return answer_marker(port, frame, now);
    case FrameKind::marker_response:
      ++port.counters.marker_resp_rx;  // we send no markers, so nobody waits for it
      return Outcome::taken;
    case FrameKind::marker_unknown:
      ++port.counters.marker_unknown_rx;
      break;
    case FrameKind::unknown_subtype:
      ++port.counters.lacpdu_unknown_rx;
      break;
    case FrameKind::too_short:
      ++port.counters.lacpdu_illegal_rx;
      ++port.refused.too_short;
      break;
    case FrameKind::bad_tlv_length:
      ++port.counters.lacpdu_illegal_rx;
      ++port.refused.bad_tlv_length;
      break;
    case FrameKind::not_slow_protocol:
      ++port.refused.not_slow_protocol;
      break;
  }
  return Outcome::refused;
}

// The last port's number and one; where that was given out or does not exist, the lowest free one.
uint16_t Group::State::next_port_number() const noexcept {
  const auto taken = [this](unsigned number) {
    return std::any_of(ports.begin(), ports.end(), [number](const auto& port) { return port->actor.port == number; });
  };
  const unsigned wanted = ports.empty() ? 1 : ports.back()->actor.port + 1U;
  if (wanted <= UINT16_MAX && !taken(wanted)) return static_cast<uint16_t>(wanted);
  unsigned number = 1;
  while (taken(number)) ++number;
  return static_cast<uint16_t>(number);
}

uint16_t Group::State::next_aggregator_id() noexcept {
  const auto taken = [this](uint16_t id) {
    return std::any_of(ports.begin(), ports.end(), [id](const auto& port) { return port->own.id == id; });
  };
  do {
    last_aggregator_id = static_cast<uint16_t>(last_aggregator_id == UINT16_MAX ? 1 : last_aggregator_id + 1);
  } while (taken(last_aggregator_id));
  return last_aggregator_id;
}

}  // namespace xbond::lacp
