#include "lib/lacp/receive_machine.hpp"

namespace xbond::lacp {

namespace {

using namespace state;

void enter(Port& port, ReceiveState to, Reason reason, Time now) noexcept {
  if (port.receive != to) port.note(now, Machine::receive, port.receive, to, reason);
  port.receive = to;
}

// Whether two sides mean the same port: all but the state, of which only aggregation counts.
bool same_party(const Info& a, const Info& b) noexcept {
  return a.port == b.port && a.port_priority == b.port_priority && a.system == b.system &&
         a.system_priority == b.system_priority && a.key == b.key &&
         (a.state & kAggregation) == (b.state & kAggregation);
}

void unselect(Port& port, Reason reason, Time now) noexcept {
  if (!port.selected) return;
  port.selected = false;
  const uint16_t id = port.aggregator == nullptr ? uint16_t{0} : port.aggregator->id;
  port.note(now, Machine::selection, id, 0, reason);
}

void record_default(Port& port) noexcept {
  port.partner = kDefaultPartner;
  port.actor.set(kDefaulted, true);
}

void initialize(Port& port, Time now) noexcept {
  enter(port, ReceiveState::initialize, Reason::begin, now);
  unselect(port, Reason::begin, now);
  record_default(port);
  port.actor.set(kExpired, false);
  port.current_while = kNever;
  port.rate_unacknowledged = false;
  port.churn_restart = true;
}

void disable(Port& port, Reason reason, Time now) noexcept {
  enter(port, ReceiveState::port_disabled, reason, now);
  port.matched = false;
  port.partner.set(kSynchronization, false);
  port.current_while = kNever;
}

void lacp_disabled(Port& port, Time now) noexcept {
  enter(port, ReceiveState::lacp_disabled, Reason::half_duplex, now);
  unselect(port, Reason::half_duplex, now);
  record_default(port);
  port.partner.set(kAggregation, false);
  port.matched = true;
  port.actor.set(kExpired, false);
}

// Ask the partner fast, for as long as one short timeout, before it is given up.
void expired(Port& port, Reason reason, Time now) noexcept {
  enter(port, ReceiveState::expired, reason, now);
  port.matched = false;
  port.partner.set(kSynchronization, false);
  port.partner.set(kTimeout, true);
  port.current_while = after(now, kShortTimeout);
  port.actor.set(kExpired, true);
  port.rate_unacknowledged = false;
  port.churn_restart = true;
}

void defaulted(Port& port, Time now) noexcept {
  enter(port, ReceiveState::defaulted, Reason::timed_out, now);
  if (!same_party(kDefaultPartner, port.partner)) unselect(port, Reason::partner_lost, now);
  record_default(port);
  port.matched = true;
  port.actor.set(kExpired, false);
  port.current_while = kNever;
}

// The partner's picture of us is old: it needs a PDU.
bool outdated(const Info& told, const Info& actor) noexcept {
  constexpr uint8_t kTold = kActivity | kTimeout | kSynchronization | kAggregation;
  return !same_party(told, actor) || (told.state & kTold) != (actor.state & kTold);
}

void record(Port& port, const Pdu& pdu) noexcept {
  const bool individual = !pdu.actor.has(kAggregation);
  port.matched = individual || same_party(pdu.partner, port.actor);
  port.partner = pdu.actor;
  port.actor.set(kDefaulted, false);
  if (!port.matched) port.partner.set(kSynchronization, false);
}

}  // namespace

void receive_step(Port& port, Time now) noexcept {
  if (port.begin) {
    initialize(port, now);
    disable(port, Reason::begin, now);
    return;
  }
  if (!port.enabled) {
    if (port.receive != ReceiveState::port_disabled) disable(port, Reason::link_down, now);
    return;
  }
  const bool timed_out = now >= port.current_while;
  switch (port.receive) {
    case ReceiveState::port_disabled:
      if (port.lacp_enabled) {
        expired(port, Reason::link_up, now);
      } else {
        lacp_disabled(port, now);
      }
      break;
    case ReceiveState::expired:
      if (timed_out) defaulted(port, now);
      break;
    case ReceiveState::current:
      if (timed_out) expired(port, Reason::timed_out, now);
      break;
    case ReceiveState::initialize:
    case ReceiveState::lacp_disabled:
    case ReceiveState::defaulted:
      break;
  }
}

Received receive_pdu(Port& port, const Pdu& pdu, Time now) noexcept {
  const bool listening =
      port.running() && (port.receive == ReceiveState::expired || port.receive == ReceiveState::defaulted ||
                         port.receive == ReceiveState::current);
  if (!listening) return Received::not_listening;
  // Before anything is touched: a looped PDU must neither refresh nor end what is known of the partner.
  if (pdu.actor.system == port.actor.system) return Received::loopback;

  if (port.receive != ReceiveState::current) port.churn_restart = true;
  enter(port, ReceiveState::current, Reason::pdu_received, now);
  if (!same_party(pdu.actor, port.partner)) unselect(port, Reason::new_partner, now);
  if (outdated(pdu.partner, port.actor)) port.ntt = true;
  record(port, pdu);
  if (pdu.partner.has(kTimeout) && port.matched) port.rate_unacknowledged = false;
  const bool fast = port.actor.has(kTimeout) && !port.rate_unacknowledged;
  port.last_pdu = now;
  port.current_while = after(now, fast ? kShortTimeout : kLongTimeout);
  port.actor.set(kExpired, false);
  return Received::recorded;
}

void set_rate(Port& port, bool fast) noexcept {
  if (port.actor.has(kTimeout) == fast) return;
  port.actor.set(kTimeout, fast);
  port.ntt = true;
  const bool current = port.receive == ReceiveState::current;
  // Slow to fast: the partner sends each 30 s until it knows. Fast to slow: it may be silent for 30 s from now on.
  port.rate_unacknowledged = fast && current;
  if (!fast && current) port.current_while = after(port.last_pdu, kLongTimeout);
}

}  // namespace xbond::lacp
