// How a bond is shown: the kernel's /proc/net/bonding/NAME (6.1), line for line, and JSON.
#include <fmt/format.h>

#include <iterator>

#include "bpf_compat/json.hpp"
#include "lib/bond/state.hpp"
#include "lib/bond/targets.hpp"

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

// bond_mode_uses_xmit_hash
bool hashes(Mode mode) {
  return mode == Mode::balance_xor || mode == Mode::ieee8023ad || is_load_balancing(mode);
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

template <class Address>
std::string list(const std::vector<Address>& addresses, std::string_view separator) {
  std::string out;
  for (const Address& address : addresses) {
    out += fmt::format("{}{}", out.empty() ? "" : separator, address_text(address));
  }
  return out;
}

void show_arp(const Params& p, std::string& out) {
  auto to = std::back_inserter(out);
  const auto targets = [](const std::string& text) { return text.empty() ? "" : " " + text; };
  fmt::format_to(to, "ARP Polling Interval (ms): {}\n", p.arp_interval);
  fmt::format_to(to, "ARP Missed Max: {}\n", p.arp_missed_max);
  fmt::format_to(to, "ARP IP target/s (n.n.n.n form):{}\n", targets(list(p.arp_targets, ", ")));
  fmt::format_to(to, "NS IPv6 target/s (xx::xx form):{}\n", targets(list(p.ns_targets, ", ")));
}

void show_member(const State& state, const Member& m, std::string& out) {
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
  fmt::format_to(to, "Slave queue ID: {}\n", m.queue_id);
  if (state.params.mode == Mode::ieee8023ad) show_8023ad_member(state, m, out);
}

template <class Address>
void json_addresses(std::string_view name, const std::vector<Address>& addresses, json::Writer& w) {
  w.key(name).begin_array();
  for (const Address& address : addresses) w.value(address_text(address));
  w.end_array();
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
      .member("primary_reselect", name_of(OptionId::primary_reselect, p.reselect))
      .member("fail_over_mac", name_of(OptionId::fail_over_mac, p.fail_over_mac))
      .member("resend_igmp", p.resend_igmp)
      .member("lp_interval", p.lp_interval)
      .member("tlb_dynamic_lb", p.tlb_dynamic_lb)
      .member("arp_interval", p.arp_interval)
      .member("arp_validate", name_of(OptionId::arp_validate, p.arp_validate))
      .member("arp_all_targets", name_of(OptionId::arp_all_targets, p.arp_all_targets))
      .member("arp_missed_max", p.arp_missed_max);
  json_addresses("arp_ip_target", p.arp_targets, w);
  json_addresses("ns_ip6_target", p.ns_targets, w);
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
      .member("mac", mac_text(m.mac))
      .member("prio", m.prio)
      .member("queue_id", m.queue_id);
  json_8023ad_member(state, m, w);
  w.end_object();
}

}  // namespace

std::string show_text(const State& state, std::string_view kernel_release) {
  const Params& p = state.params;
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Ethernet Channel Bonding Driver: v{}\n\n", kernel_release);
  fmt::format_to(to, "Bonding Mode: {}", mode_text(p.mode));
  if (p.mode == Mode::active_backup && p.fail_over_mac != FailOverMac::none) {
    fmt::format_to(to, " (fail_over_mac {})", name_of(OptionId::fail_over_mac, p.fail_over_mac));
  }
  out += '\n';
  if (hashes(p.mode)) {
    fmt::format_to(to, "Transmit Hash Policy: {} ({})\n", name_of(OptionId::xmit_hash_policy, p.policy),
                   static_cast<int>(p.policy));
  }
  if (uses_primary(p.mode)) show_primary(state, out);
  fmt::format_to(to, "MII Status: {}\n", state.link_carrier ? "up" : "down");
  fmt::format_to(to, "MII Polling Interval (ms): {}\n", p.miimon);
  fmt::format_to(to, "Up Delay (ms): {}\n", p.ms(p.updelay));
  fmt::format_to(to, "Down Delay (ms): {}\n", p.ms(p.downdelay));
  fmt::format_to(to, "Peer Notification Delay (ms): {}\n", p.ms(p.peer_notif_delay));
  if (p.arp_interval != 0) show_arp(p, out);
  if (p.mode == Mode::ieee8023ad) show_8023ad(state, out);
  for (const Member& m : state.members) show_member(state, m, out);
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
  active != nullptr&& uses_primary(state.params.mode) ? w.value(active->name) : w.null();
  json_options(state, w);
  json_8023ad(state, w);
  w.key("members").begin_array();
  for (const Member& m : state.members) json_member(state, m, w);
  w.end_array().end_object();
  return w.take();
}

}  // namespace xbond::bond
