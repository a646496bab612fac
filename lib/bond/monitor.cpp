// The link monitor: what the kernel's bond_miimon_inspect and bond_miimon_commit decide, but at the moment of the event
// instead of at the next poll.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

uint64_t elapsed(const Member& m, uint64_t now) {
  return now > m.since_ms ? now - m.since_ms : 0;
}

}  // namespace

void State::start_delay(Member& m, Link link, uint64_t now) const {
  const uint64_t delay = params.ms(link == Link::fail ? params.downdelay : params.updelay);
  constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  m.link = link;
  m.since_ms = now;
  m.deadline_ms = delay > kNever - now ? kNever : now + delay;
}

// The state that `m` should have. Fail and back begin here; up and down are for commit(). The first member that uses
// `skip_updelay` takes it: one usable member is enough for the others to wait.
Link State::inspect(Member& m, bool& skip_updelay, uint64_t now, Log& log) const {
  const bool carrier = m.report.up;
  switch (m.link) {
    case Link::up:
      if (carrier) return Link::up;
      if (params.downdelay == 0) return Link::down;
      log.push_back(about(m, fmt::format("link status down for {}interface, disabling it in {} ms",
                                         !uses_primary(params.mode) ? ""
                                         : is_active(m)             ? "active "
                                                                    : "backup ",
                                         params.ms(params.downdelay))));
      start_delay(m, Link::fail, now);
      return Link::fail;
    case Link::fail:
      if (!carrier) return now >= m.deadline_ms ? Link::down : Link::fail;
      log.push_back(about(m, fmt::format("link status up again after {} ms", elapsed(m, now))));
      return Link::up;
    case Link::down:
      if (!carrier) return Link::down;
      if (params.updelay == 0) return Link::up;
      log.push_back(
          about(m, fmt::format("link status up, enabling it in {} ms", skip_updelay ? 0 : params.ms(params.updelay))));
      if (std::exchange(skip_updelay, false)) return Link::up;
      start_delay(m, Link::back, now);
      return Link::back;
    case Link::back:
      if (!carrier) {
        log.push_back(about(m, fmt::format("link status down again after {} ms", elapsed(m, now))));
        return Link::down;
      }
      if (std::exchange(skip_updelay, false)) return Link::up;
      return now >= m.deadline_ms ? Link::up : Link::back;
  }
  return m.link;
}

bool State::commit(Member& m, Link link, Log& log) {
  m.link = link;
  if (link == Link::up) {
    log.push_back(about(m, fmt::format("link status definitely up, {} Mbps {} duplex", known_speed(m.report),
                                       m.report.full_duplex ? "full" : "half")));
    const Member* current = active ? find(*active) : nullptr;
    return current == nullptr || &m == primary() || m.prio > current->prio;
  }
  if (m.failures != std::numeric_limits<uint32_t>::max()) ++m.failures;
  log.push_back(about(m, "link status definitely down, disabling slave"));
  return is_active(m);
}

// One round over all members; true when something changed. First all are looked at, then all are changed: whether
// anything usable is left is a matter of the state before.
bool State::monitor_pass(uint64_t now, Log& log) {
  // A link that is still taken for up counts: if it went just now, select_active() finds who steps in.
  bool skip_updelay =
      std::none_of(members.begin(), members.end(), [this](const Member& m) { return m.link == Link::up || usable(m); });
  bool changed = false;
  std::array<Link, kMaxMembers> next{};
  for (size_t i = 0; i < members.size(); ++i) {
    const Link before = members[i].link;
    next[i] = inspect(members[i], skip_updelay, now, log);
    changed |= next[i] != before;
  }
  bool reselect = false;
  for (size_t i = 0; i < members.size(); ++i) {
    if (next[i] != members[i].link) reselect |= commit(members[i], next[i], log);
  }
  if (reselect) select_active(now, log);
  update_carrier(log);
  return changed;
}

void State::monitor(uint64_t now, Log& log) {
  if (!up || params.miimon == 0) return;
  // Ends: with reports and time fixed, each member only goes up, fail, down or down, back, up.
  while (monitor_pass(now, log)) {
  }
}

std::optional<uint64_t> State::next_deadline() const {
  std::optional<uint64_t> next;
  if (!up) return next;
  const auto at = [&next](uint64_t deadline) { next = std::min(next.value_or(deadline), deadline); };
  if (params.miimon != 0) {
    for (const Member& m : members) {
      if (m.link == Link::fail || m.link == Link::back) at(m.deadline_ms);
    }
  }
  if (members.empty()) return next;
  if (params.arp_interval != 0) at(arp_at_ms);
  if (is_load_balancing(params.mode)) {
    at(learning_at_ms);
    if (params.tlb_dynamic_lb) at(rebalance_at_ms);
    if (clients.busy()) at(clients_at_ms);
    if (promiscuous_until_ms != 0) at(promiscuous_until_ms);
  }
  return next;
}

}  // namespace xbond::bond
