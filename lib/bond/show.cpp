// How a bond is shown: the kernel's /proc/net/bonding/NAME (6.1), line for line, and JSON.
#include <fmt/format.h>

#include <iterator>

#include "bpf_compat/json.hpp"
#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

std::string_view mode_text(Mode mode) {
  switch (mode) {
    case Mode::balance_rr:
      return "load balancing (round-robin)";
    case Mode::active_backup:
      return "fault-tolerance (active-backup)";
    case Mode::balance_xor:
      return "load balancing (xor)";
    case Mode::broadcast:
      return "fault-tolerance (broadcast)";
    case Mode::ieee8023ad:
      return "IEEE 802.3ad Dynamic link aggregation";
    case Mode::balance_tlb:
      return "transmit load balancing";
    case Mode::balance_alb:
      return "adaptive load balancing";
  }
  return "unknown";
}

// As bond_slave_link_status() words them; and short, for JSON.
std::string_view link_text(Link link) {
  switch (link) {
    case Link::up:
      return "up";
    case Link::fail:
      return "going down";
    case Link::down:
      return "down";
    case Link::back:
      return "going back";
  }
  return "unknown";
}

std::string_view link_word(Link link) {
  switch (link) {
    case Link::up:
      return "up";
    case Link::fail:
      return "fail";
    case Link::down:
      return "down";
    case Link::back:
      return "back";
  }
  return "down";
}

std::string_view name_of(OptionId id, auto value) {
  return value_name(id, static_cast<int64_t>(value));
}

std::string_view duplex(const LinkReport& report) {
  return report.full_duplex ? "full" : "half";
}

void show_primary(const State& state, std::string& out) {
  const Member* primary = state.primary();
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Primary Slave: {}", primary != nullptr ? primary->name : "None");
  if (primary != nullptr) {
    fmt::format_to(to, " (primary_reselect {})", name_of(OptionId::primary_reselect, state.params.reselect));
  }
  const Member* active = state.active ? state.find(*state.active) : nullptr;
  fmt::format_to(to, "\nCurrently Active Slave: {}\n", active != nullptr ? active->name : "None");
}

void show_member(const Member& m, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nSlave Interface: {}\n", m.name);
  fmt::format_to(to, "MII Status: {}\n", link_text(m.link));
  // A driver that knows no speed knows no duplex either.
  if (const uint32_t speed = known_speed(m.report); speed != 0) {
    fmt::format_to(to, "Speed: {} Mbps\nDuplex: {}\n", speed, duplex(m.report));
  } else {
    fmt::format_to(to, "Speed: Unknown\nDuplex: Unknown\n");
  }
  fmt::format_to(to, "Link Failure Count: {}\n", m.failures);
  fmt::format_to(to, "Permanent HW addr: {}\n", mac_text(m.permanent_mac));
  fmt::format_to(to, "Slave queue ID: 0\n");
}

void json_options(const State& state, json::Writer& w) {
  const Params& p = state.params;
  w.member("miimon", p.miimon)
      .member("updelay", p.ms(p.updelay))
      .member("downdelay", p.ms(p.downdelay))
      .member("peer_notif_delay", p.ms(p.peer_notif_delay))
      .member("num_grat_arp", p.num_peer_notif)
      .member("num_unsol_na", p.num_peer_notif)
      .member("packets_per_slave", p.packets_per_slave)
      .member("all_slaves_active", p.all_slaves_active)
      .member("primary_reselect", name_of(OptionId::primary_reselect, p.reselect));
  w.key("primary");
  p.primary.empty() ? w.null() : w.value(p.primary);
}

void json_member(const State& state, const Member& m, json::Writer& w) {
  const bool active = state.params.mode == Mode::active_backup ? state.is_active(m) : state.usable(m);
  w.begin_object().member("name", m.name).member("port", m.port).member("link", link_word(m.link));
  w.member("active", active);
  const uint32_t speed = known_speed(m.report);
  w.key("speed");
  speed != 0 ? w.value(speed) : w.null();
  w.key("duplex");
  speed != 0 ? w.value(duplex(m.report)) : w.null();
  w.member("failures", m.failures)
      .member("permanent_mac", mac_text(m.permanent_mac))
      .member("prio", m.prio)
      .end_object();
}

}  // namespace

std::string show_text(const State& state, std::string_view kernel_release) {
  const Params& p = state.params;
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Ethernet Channel Bonding Driver: v{}\n\n", kernel_release);
  fmt::format_to(to, "Bonding Mode: {}\n", mode_text(p.mode));
  if (p.mode == Mode::balance_xor) {
    fmt::format_to(to, "Transmit Hash Policy: {} ({})\n", name_of(OptionId::xmit_hash_policy, p.policy),
                   static_cast<int>(p.policy));
  }
  if (p.mode == Mode::active_backup) show_primary(state, out);
  fmt::format_to(to, "MII Status: {}\n", state.link_carrier ? "up" : "down");
  fmt::format_to(to, "MII Polling Interval (ms): {}\n", p.miimon);
  fmt::format_to(to, "Up Delay (ms): {}\n", p.ms(p.updelay));
  fmt::format_to(to, "Down Delay (ms): {}\n", p.ms(p.downdelay));
  fmt::format_to(to, "Peer Notification Delay (ms): {}\n", p.ms(p.peer_notif_delay));
  for (const Member& m : state.members) show_member(m, out);
  return out;
}

std::string show_json(const State& state) {
  json::Writer w;
  w.begin_object()
      .member("name", state.name)
      .member("mode", name_of(OptionId::mode, state.params.mode))
      .member("mode_number", static_cast<int>(state.params.mode))
      .member("xmit_hash_policy", name_of(OptionId::xmit_hash_policy, state.params.policy))
      .member("up", state.up)
      .member("carrier", state.up && state.link_carrier)
      .key("mac");
  state.mac != Mac{} ? w.value(mac_text(state.mac)) : w.null();
  const Member* active = state.active ? state.find(*state.active) : nullptr;
  w.key("active");
  active != nullptr&& state.params.mode == Mode::active_backup ? w.value(active->name) : w.null();
  json_options(state, w);
  w.key("members").begin_array();
  for (const Member& m : state.members) json_member(state, m, w);
  w.end_array().end_object();
  return w.take();
}

}  // namespace xbond::bond
