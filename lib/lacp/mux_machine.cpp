#include "lib/lacp/mux_machine.hpp"

#include <algorithm>

namespace xbond::lacp {

namespace {

using namespace state;

void enter(Port& port, MuxState to, Reason reason, Time now) noexcept {
  if (port.mux != to) port.note(now, Machine::mux, port.mux, to, reason);
  port.mux = to;
}

void detach(Port& port, Reason reason, Time now) noexcept {
  enter(port, MuxState::detached, reason, now);
  port.ntt = true;
  port.wait_while = kNever;
  port.actor.set(kSynchronization | kCollecting | kDistributing, false);
}

void attach(Port& port, Reason reason, Time now) noexcept {
  enter(port, MuxState::attached, reason, now);
  port.actor.set(kCollecting | kDistributing, false);
  port.actor.set(kSynchronization, port.in_active_aggregator());
  port.ntt = true;
}

void collect(Port& port, Reason reason, Time now) noexcept {
  enter(port, MuxState::collecting, reason, now);
  port.actor.set(kSynchronization | kCollecting, true);
  port.actor.set(kDistributing, false);
  port.ntt = true;
}

void distribute(Port& port, Reason reason, Time now) noexcept {
  enter(port, MuxState::distributing, reason, now);
  port.actor.set(kSynchronization | kCollecting | kDistributing, true);
}

void collect_and_distribute(Port& port, Reason reason, Time now) noexcept {
  enter(port, MuxState::collecting_distributing, reason, now);
  port.actor.set(kSynchronization | kCollecting | kDistributing, true);
  port.ntt = true;
}

// Nobody of the aggregator is still waiting for others to join. Ports without a link don't hold up the rest.
bool all_ready(const Aggregator& aggregator, const Ports& ports, Time now) noexcept {
  return std::all_of(ports.begin(), ports.end(), [&aggregator, now](const auto& port) {
    return port->aggregator != &aggregator || !port->running() || port->mux != MuxState::waiting ||
           now >= port->wait_while;
  });
}

void wait_for_others(Port& port, const Ports& ports, Time now) noexcept {
  if (!port.selected) {
    detach(port, Reason::not_selected, now);
    return;
  }
  if (now >= port.wait_while && port.aggregator != nullptr && all_ready(*port.aggregator, ports, now)) {
    attach(port, Reason::wait_over, now);
  }
}

void leave_attached(Port& port, const MuxControl& control, Time now) noexcept {
  if (!port.selected) {
    detach(port, Reason::not_selected, now);
    return;
  }
  const bool active = port.in_active_aggregator();
  if (active && port.partner.has(kSynchronization) && !control.hold) {
    if (control.coupled) {
      collect_and_distribute(port, Reason::partner_in_sync, now);
    } else {
      collect(port, Reason::partner_in_sync, now);
    }
    return;
  }
  // In sync only while this aggregator is the one that carries traffic; and the partner hears of it now, not with the
  // next periodic PDU.
  if (port.actor.has(kSynchronization) != active) {
    port.actor.set(kSynchronization, active);
    port.ntt = true;
  }
}

// Whether a collecting port must go back to ATTACHED, and why.
bool must_stop(const Port& port, Reason& reason) noexcept {
  if (!port.selected) {
    reason = Reason::not_selected;
  } else if (!port.in_active_aggregator()) {
    reason = Reason::aggregator_inactive;
  } else if (!port.partner.has(kSynchronization)) {
    reason = Reason::partner_out_of_sync;
  } else {
    return false;
  }
  return true;
}

// coupled_control changed while the port was at work: take on the other control's state without a gap.
void adopt_control(Port& port, bool coupled, Time now) noexcept {
  if (!coupled && port.mux == MuxState::collecting_distributing) {
    if (port.partner.has(kCollecting)) {
      distribute(port, Reason::control_changed, now);
    } else {
      collect(port, Reason::control_changed, now);
    }
  } else if (coupled && (port.mux == MuxState::collecting || port.mux == MuxState::distributing)) {
    collect_and_distribute(port, Reason::control_changed, now);
  }
}

void keep_working(Port& port, const MuxControl& control, Time now) noexcept {
  Reason reason{};
  if (must_stop(port, reason)) {
    attach(port, reason, now);
    return;
  }
  adopt_control(port, control.coupled, now);
  if (port.mux == MuxState::collecting && port.partner.has(kCollecting)) {
    distribute(port, Reason::partner_collecting, now);
  } else if (port.mux == MuxState::distributing && !port.partner.has(kCollecting)) {
    collect(port, Reason::partner_not_collecting, now);
  }
}

}  // namespace

void mux_step(Port& port, const Ports& ports, const MuxControl& control, Time now) noexcept {
  if (port.begin) {
    detach(port, Reason::begin, now);
    return;
  }
  switch (port.mux) {
    case MuxState::detached:
      if (port.selected) {
        enter(port, MuxState::waiting, Reason::joined, now);
        port.wait_while = after(now, kAggregateWait);
      }
      break;
    case MuxState::waiting:
      wait_for_others(port, ports, now);
      break;
    case MuxState::attached:
      leave_attached(port, control, now);
      break;
    case MuxState::collecting:
    case MuxState::distributing:
    case MuxState::collecting_distributing:
      keep_working(port, control, now);
      break;
  }
}

}  // namespace xbond::lacp
