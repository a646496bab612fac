// Who can transmit, and what of it others see.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

bool same(const TxTable& a, const TxTable& b) {
  return a.mode == b.mode && a.policy == b.policy && a.usable == b.usable && a.active == b.active &&
         a.packets_per_slave == b.packets_per_slave && a.port == b.port && a.dynamic == b.dynamic &&
         a.broadcast_neighbor == b.broadcast_neighbor && a.channel == b.channel && a.mac == b.mac;
}

}  // namespace

const Member* State::find(uint16_t port) const {
  const auto it = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.port == port; });
  return it == members.end() ? nullptr : &*it;
}

Member* State::find(uint16_t port) {
  const auto it = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.port == port; });
  return it == members.end() ? nullptr : &*it;
}

const Member* State::find(std::string_view member) const {
  const auto it = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == member; });
  return it == members.end() ? nullptr : &*it;
}

// During downdelay the modes differ in the kernel: round robin passes over the member at once, xor keeps its share of
// the flows and active-backup its active member until the delay ends.
bool State::usable(const Member& m) const {
  switch (params.mode) {
    case Mode::balance_rr:
    case Mode::broadcast:
    case Mode::balance_tlb:
    case Mode::balance_alb:
      return m.link == Link::up && m.report.up;
    case Mode::active_backup:
      return m.link == Link::up || is_active(m);
    case Mode::ieee8023ad:
      return distributing(m.port);
    case Mode::balance_xor:
      return m.link == Link::up || m.link == Link::fail;
  }
  return false;
}

bool State::any_usable() const {
  if (params.mode == Mode::ieee8023ad) return lacp && lacp->group.carrier();
  return std::any_of(members.begin(), members.end(), [this](const Member& m) { return usable(m); });
}

bool State::inactive(const Member& m) const {
  if (params.mode == Mode::ieee8023ad) {
    return !(lacp && lacp->group.collecting(m.port)) && !params.all_slaves_active;
  }
  return uses_primary(params.mode) && !is_active(m) && candidate != m.port && !params.all_slaves_active;
}

void State::fill_channels(TxTable& table) const {
  // While the active member's downdelay runs it takes nothing: rather another one than none.
  if (table.active == port::kNoPort && table.usable != 0) table.active = table.port[0];
  table.dynamic = params.tlb_dynamic_lb;
  for (uint32_t i = 0; i < kChannels; ++i) {
    for (uint16_t member = 0; member < table.usable; ++member) {
      if (table.port[member] == channels.port(i)) table.channel[i] = static_cast<uint8_t>(member);
    }
  }
}

TxTable State::table() const {
  TxTable table;
  table.mode = params.mode;
  table.policy = params.policy;
  table.packets_per_slave = params.packets_per_slave;
  table.bond_index = index;
  table.broadcast_neighbor = params.broadcast_neighbor && params.mode == Mode::ieee8023ad;
  if (up) {
    for (const Member& m : members) {
      if (!usable(m)) continue;
      table.mac[table.usable] = m.mac;
      table.port[table.usable++] = m.port;
    }
    if (active) {
      const Member* m = find(*active);
      if (m != nullptr && usable(*m)) table.active = m->port;
    }
  }
  if (is_load_balancing(params.mode)) fill_channels(table);
  table.seal();
  return table;
}

View State::view() const {
  View view{.table = table(),
            .up = up,
            .carrier = up && link_carrier,
            .active = active,
            .inactive = {},
            .mac = mac,
            .macs = {},
            .promiscuous = promiscuous()};
  for (const Member& m : members) {
    view.macs.emplace_back(m.port, m.mac);
    if (inactive(m)) view.inactive.push_back(m.port);
  }
  return view;
}

Changes State::since(const View& before, Log log, uint64_t now_ms) {
  if (is_load_balancing(params.mode)) {
    // A member that came is an occasion to spread the load anew, one that left needs heirs for its channels.
    const TxTable seen = table();
    if (seen.usable > before.table.usable) {
      channels.rebalance(carriers());
    } else {
      channels.keep_to(carriers());
    }
  }
  members_changed(before, view(), now_ms);
  const View now = view();
  Changes changes;
  changes.table = !same(before.table, now.table) || before.up != now.up || before.inactive != now.inactive;
  changes.carrier = before.carrier != now.carrier;
  changes.active_changed =
      params.mode == Mode::active_backup && up && now.active.has_value() && before.active != now.active;
  const bool moved = up && now.active.has_value() && before.active != now.active;
  changes.rejoin = moved && (uses_primary(params.mode) || params.mode == Mode::balance_rr);
  changes.macs = before.mac != now.mac || before.macs != now.macs;
  changes.probes = std::exchange(probes, {});
  changes.learn = std::exchange(learn, false) && up;
  changes.teach = std::exchange(teach, {});
  changes.promiscuous = before.promiscuous != now.promiscuous;
  changes.updates = clients.take_updates();
  changes.log = std::move(log);
  return changes;
}

std::string about(const Member& m, std::string_view text) {
  return fmt::format("(slave {}): {}", m.name, text);
}

std::string mac_text(const Mac& mac) {
  return fmt::format("{:02x}", fmt::join(mac, ":"));
}

uint32_t known_speed(const LinkReport& report) {
  return report.speed_mbps == UINT32_MAX ? 0 : report.speed_mbps;
}

}  // namespace xbond::bond
