// The choice of the active member. Every mode makes it: active-backup for all traffic, others for what can't be
// balanced. Outcomes are the kernel's bond_find_best_slave (6.0 and later, with per-member priorities).
#include <fmt/format.h>

#include "lib/bond/state.hpp"

namespace xbond::bond {

// The preferred member, or the present one where primary_reselect says to stay; nullptr: no link is up.
Member* State::primary_or_current() {
  Member* current = active ? find(*active) : nullptr;
  if (current != nullptr && current->link != Link::up) current = nullptr;

  const Member* named = primary();
  Member* preferred = named != nullptr && named->link == Link::up ? find(named->port) : nullptr;
  if (preferred != nullptr && force_primary) {
    force_primary = false;
    return preferred;
  }
  if (preferred == nullptr) {
    // The greatest priority, the first enslaved among equals.
    for (Member& m : members) {
      if (m.link == Link::up && (preferred == nullptr || m.prio > preferred->prio)) preferred = &m;
    }
  }
  if (preferred == nullptr || current == nullptr || preferred == current) return preferred;

  switch (params.reselect) {
    case Reselect::always:
      return preferred;
    case Reselect::better: {
      const uint32_t speed = known_speed(preferred->report);
      const uint32_t present = known_speed(current->report);
      if (speed != present) return speed > present ? preferred : current;
      return preferred->report.full_duplex && !current->report.full_duplex ? preferred : current;
    }
    case Reselect::failure:
      return current;
  }
  return current;
}

Member* State::best() {
  if (Member* m = primary_or_current()) return m;
  // Nothing is up: rather one whose updelay still runs than none, the one that waits least.
  Member* best = nullptr;
  for (Member& m : members) {
    if (m.link != Link::back || !m.report.up) continue;
    if (best == nullptr || m.deadline_ms < best->deadline_ms) best = &m;
  }
  return best;
}

void State::change_active(Member* chosen, uint64_t now, Log& log) {
  if (chosen == nullptr) {
    active.reset();
    return;
  }
  if (is_active(*chosen)) return;
  const bool tell = uses_primary(params.mode);
  if (chosen->link == Link::back) {
    chosen->link = Link::up;
    const uint64_t left = chosen->deadline_ms > now ? chosen->deadline_ms - now : 0;
    if (tell) log.push_back(about(*chosen, fmt::format("making interface the new active one {} ms earlier", left)));
  } else if (tell) {
    log.push_back(about(*chosen, "making interface the new active one"));
  }
  Member* before = active ? find(*active) : nullptr;
  active = chosen->port;
  chosen->last_up_ms = now;
  mac_of_active(before, *chosen);
  learn |= is_load_balancing(params.mode);  // switches learn that the address moved
}

bool State::set_carrier() {
  const bool now = any_usable();
  const bool changed = now != link_carrier;
  link_carrier = now;
  return changed;
}

void State::update_carrier(Log& log) {
  if (!set_carrier()) return;
  log.emplace_back(link_carrier ? "active interface up!" : "now running without any active interface!");
}

void State::select_active(uint64_t now, Log& log) {
  Member* chosen = best();
  if (chosen == nullptr ? !active : is_active(*chosen)) return;
  change_active(chosen, now, log);
  update_carrier(log);
}

}  // namespace xbond::bond
