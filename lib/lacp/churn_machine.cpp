#include "lib/lacp/churn_machine.hpp"

namespace xbond::lacp {

namespace {

// One side's machine.
struct Side {
  Port& port;
  Machine machine;
  ChurnState& now_in;
  Time& due;
  uint16_t& count;
};

void enter(Side& side, ChurnState to, Reason reason, Time now) noexcept {
  if (side.now_in != to) side.port.note(now, side.machine, side.now_in, to, reason);
  side.now_in = to;
}

void monitor(Side& side, Reason reason, Time now) noexcept {
  enter(side, ChurnState::monitor, reason, now);
  side.due = after(now, kChurnDetection);
}

void step(Side side, bool in_sync, Time now) noexcept {
  switch (side.now_in) {
    case ChurnState::monitor:
      if (now < side.due) break;
      side.due = kNever;
      if (in_sync) {
        enter(side, ChurnState::none, Reason::still_in_sync, now);
      } else {
        ++side.count;
        enter(side, ChurnState::churned, Reason::no_sync, now);
      }
      break;
    case ChurnState::churned:
      if (in_sync) enter(side, ChurnState::none, Reason::still_in_sync, now);
      break;
    case ChurnState::none:
      if (!in_sync) monitor(side, Reason::sync_lost, now);
      break;
  }
}

}  // namespace

void churn_step(Port& port, Time now) noexcept {
  Side actor{port, Machine::actor_churn, port.actor_churn, port.actor_churn_due, port.actor_churn_count};
  Side partner{port, Machine::partner_churn, port.partner_churn, port.partner_churn_due, port.partner_churn_count};
  if (port.churn_restart) {
    port.churn_restart = false;
    monitor(actor, Reason::begin, now);
    monitor(partner, Reason::begin, now);
    return;
  }
  step(actor, port.actor.has(state::kSynchronization), now);
  step(partner, port.partner.has(state::kSynchronization), now);
}

}  // namespace xbond::lacp
