// The ARP and neighbour monitor: links are judged by what they receive (bond_loadbalance_arp_mon,
// bond_activebackup_arp_mon in drivers/net/bonding/bond_main.c). One round each arp_interval; the frames themselves are
// the caller's business.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/bond/state.hpp"

namespace xbond::bond {

// bond_time_in_interval
bool State::within(uint64_t last, uint64_t intervals, uint64_t now) const {
  const uint64_t d = params.arp_interval;
  return last <= now + d && now <= last + intervals * d + d / 2;
}

// slave_last_rx: with arp_all_targets all and validation, the target that has been silent for longest.
uint64_t State::last_rx(const Member& m) const {
  if (params.arp_all_targets != ArpAllTargets::all || !validates(m)) return m.last_rx_ms;
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (size_t i = 0; i < params.arp_targets.size(); ++i) oldest = std::min(oldest, m.arp_rx_ms[i]);
  for (size_t i = 0; i < params.ns_targets.size(); ++i) oldest = std::min(oldest, m.ns_rx_ms[i]);
  return oldest == std::numeric_limits<uint64_t>::max() ? m.last_rx_ms : oldest;
}

bool State::validates(const Member& m) const {
  const bool as_active = params.mode != Mode::active_backup || is_active(m) || candidate == m.port;
  return (params.arp_validate & (as_active ? kValidateActive : kValidateBackup)) != 0;
}

void State::start_arp(Member& m, uint64_t now) const {
  m.last_rx_ms = now > params.arp_interval ? now - params.arp_interval - 1 : 0;
  m.last_tx_ms = m.last_rx_ms;
  m.arp_rx_ms.fill(m.last_rx_ms);
  m.ns_rx_ms.fill(m.last_rx_ms);
  m.last_up_ms = now;
}

void State::probe(Member& m, uint64_t now) {
  if (params.arp_targets.empty() && params.ns_targets.empty()) return;
  m.last_tx_ms = now;
  probes.push_back(m.port);
}

void State::count_failure(Member& m) {
  if (m.failures != std::numeric_limits<uint32_t>::max()) ++m.failures;
}

void State::arp_monitor(uint64_t now, Log& log) {
  if (!up || params.arp_interval == 0 || now < arp_at_ms) return;
  arp_at_ms = now + params.arp_interval;
  if (members.empty()) return;
  if (params.mode == Mode::active_backup) {
    arp_backup_inspect(now, log);
    arp_backup_probe(now, log);
  } else {
    arp_balancing(now, log);
  }
}

void State::arp_balancing(uint64_t now, Log& log) {
  bool reselect = false;
  for (Member& m : members) {
    const auto heard = [&](uint64_t intervals) {
      return within(m.last_tx_ms, intervals, now) && within(m.last_rx_ms, intervals, now);
    };
    if (m.link != Link::up) {
      if (heard(1)) {
        log.push_back(about(m, active ? "interface is now up" : "link status definitely up"));
        reselect |= !active;
        m.link = Link::up;
        m.last_up_ms = now;
      }
    } else if (!heard(params.arp_missed_max)) {
      m.link = Link::down;
      count_failure(m);
      log.push_back(about(m, "interface is now down"));
      reselect |= is_active(m);
    }
    if (m.report.up) probe(m, now);
  }
  if (reselect) select_active(now, log);
  update_carrier(log);
}

// bond_ab_arp_inspect for one member: the state that it should have.
Link State::arp_backup_state(const Member& m, uint64_t now) const {
  if (m.link != Link::up) {
    if (within(last_rx(m), 1, now)) return Link::up;
    return m.link == Link::back ? Link::fail : m.link;
  }
  // Two intervals' grace after coming up, against bouncing.
  if (within(m.last_up_ms, 2, now)) return Link::up;
  if (is_active(m)) {
    const bool alive =
        within(m.last_tx_ms, params.arp_missed_max, now) && within(last_rx(m), params.arp_missed_max, now);
    return alive ? Link::up : Link::down;
  }
  // While an active one is sought, the others are given their chance first.
  const bool silent = !candidate && !within(last_rx(m), params.arp_missed_max + 1, now);
  return silent ? Link::down : Link::up;
}

void State::arp_backup_inspect(uint64_t now, Log& log) {
  std::array<Link, kMaxMembers> next{};
  for (size_t i = 0; i < members.size(); ++i) next[i] = arp_backup_state(members[i], now);
  bool reselect = false;
  for (size_t i = 0; i < members.size(); ++i) {
    Member& m = members[i];
    if (next[i] == m.link) continue;
    m.link = next[i];
    if (m.link == Link::up) {
      candidate.reset();
      m.last_up_ms = now;
      log.push_back(about(m, "link status definitely up"));
      const Member* current = active ? find(*active) : nullptr;
      reselect |= current == nullptr || &m == primary() || m.prio > current->prio;
    } else if (m.link == Link::down) {
      count_failure(m);
      log.push_back(about(m, "link status definitely down, disabling slave"));
      if (is_active(m)) {
        candidate.reset();
        reselect = true;
      }
    } else if (active) {
      candidate.reset();
    }
  }
  if (reselect) select_active(now, log);
  update_carrier(log);
}

// The active member asks. Where there is none, the members ask in turn, one each interval, until one is answered.
void State::arp_backup_probe(uint64_t now, Log& log) {
  if (active) {
    if (Member* m = find(*active)) probe(*m, now);
    return;
  }
  size_t at = 0;  // of the one before
  for (size_t i = 0; i < members.size(); ++i) {
    Member& m = members[i];
    if (candidate == m.port) at = i;
    if (!m.report.up && m.link == Link::up) {
      m.link = Link::down;
      count_failure(m);
      log.push_back(about(m, "backup interface is now down"));
    }
  }
  for (size_t step = 1; step <= members.size(); ++step) {
    Member& m = members[(at + step) % members.size()];
    if (!m.report.up) continue;
    m.link = Link::back;
    m.last_up_ms = now;
    candidate = m.port;
    probe(m, now);
    return;
  }
}

}  // namespace xbond::bond
