#include "lib/lacp/periodic_machine.hpp"

namespace xbond::lacp {

namespace {

using namespace state;

void enter(Port& port, PeriodicState to, Reason reason, Time now) noexcept {
  if (port.periodic != to) port.note(now, Machine::periodic, port.periodic, to, reason);
  port.periodic = to;
}

Reason why_silent(const Port& port) noexcept {
  if (port.begin) return Reason::begin;
  if (!port.enabled) return Reason::link_down;
  return port.lacp_enabled ? Reason::nobody_active : Reason::half_duplex;
}

// PERIODIC_TX: asks for a PDU and sets the next time by the partner's wish.
void transmit(Port& port, Time due, Time now) noexcept {
  port.ntt = true;
  const bool fast = port.partner.has(kTimeout);
  const Time period = fast ? kFastPeriod : kSlowPeriod;
  enter(port, fast ? PeriodicState::fast : PeriodicState::slow, fast ? Reason::partner_fast : Reason::partner_slow,
        now);
  // From the time that was due, so that lateness does not add up; after a long stall from now, without catching up.
  const Time next = after(due, period);
  port.periodic_due = next > now ? next : after(now, period);
}

}  // namespace

void periodic_step(Port& port, Time now) noexcept {
  const bool somebody_active = port.actor.has(kActivity) || port.partner.has(kActivity);
  if (!port.running() || !port.lacp_enabled || !somebody_active) {
    enter(port, PeriodicState::no_periodic, why_silent(port), now);
    port.periodic_due = kNever;
    return;
  }
  if (port.periodic == PeriodicState::no_periodic) {
    enter(port, PeriodicState::fast, Reason::somebody_active, now);
    port.periodic_due = after(now, kFastPeriod);
    return;
  }
  // A present partner that changes to slow gets one more PDU at the fast time: its timer on us is still the short one.
  if (port.periodic == PeriodicState::fast && !port.partner.has(kTimeout) && port.actor.has(kDefaulted)) {
    enter(port, PeriodicState::slow, Reason::partner_slow, now);
    port.periodic_due = after(now, kSlowPeriod);
  } else if (now >= port.periodic_due) {
    transmit(port, port.periodic_due, now);
  } else if (port.periodic == PeriodicState::slow && port.partner.has(kTimeout)) {
    transmit(port, now, now);
  }
}

}  // namespace xbond::lacp
