// `show lacp`: what the machines of 802.3ad are doing, and what they did and why.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

constexpr size_t kHistoryLines = 8;  // of each port in the text; JSON has all that is kept

// From the bit 0x80 down, as the columns go.
constexpr std::string_view kStateColumns = "exp def dis col syn agg tim act";

std::string bits(uint8_t state) {
  std::string out;
  for (int bit = 7; bit >= 0; --bit) out += fmt::format("{:>3}{}", state >> bit & 1, bit != 0 ? " " : "");
  return out;
}

double seconds(lacp::Time time) {
  return static_cast<double>(time) / static_cast<double>(lacp::kSecond);
}

// "2.1 s", or "-" where the timer does not run.
std::string left(lacp::Time deadline, lacp::Time now) {
  if (deadline == lacp::kNever) return "-";
  return fmt::format("{:.1f} s", deadline > now ? seconds(deadline - now) : 0.0);
}

std::string value_text(lacp::Machine machine, uint16_t value) {
  const std::string_view name = lacp::state_name(machine, value);
  if (!name.empty()) return std::string(name);
  return value == 0 ? "none" : fmt::format("aggregator {}", value);
}

void history(std::string_view indent, const std::vector<lacp::Transition>& transitions, lacp::Time now,
             std::string& out) {
  const size_t shown = std::min(transitions.size(), kHistoryLines);
  for (size_t i = 0; i < shown; ++i) {
    const lacp::Transition& t = transitions[transitions.size() - 1 - i];
    fmt::format_to(std::back_inserter(out), "{}{:>9.1f} s ago  {:<17} {} -> {} ({})\n", indent,
                   now > t.at ? seconds(now - t.at) : 0.0, lacp::name(t.machine), value_text(t.machine, t.from),
                   value_text(t.machine, t.to), lacp::name(t.reason));
  }
}

using Named = std::pair<std::string_view, uint64_t>;

// Linux's names (BOND_3AD_STAT_*).
std::array<Named, 9> named(const lacp::Counters& c) {
  return {{{"lacpdu_rx", c.lacpdu_rx},
           {"lacpdu_tx", c.lacpdu_tx},
           {"lacpdu_unknown_rx", c.lacpdu_unknown_rx},
           {"lacpdu_illegal_rx", c.lacpdu_illegal_rx},
           {"marker_rx", c.marker_rx},
           {"marker_tx", c.marker_tx},
           {"marker_resp_rx", c.marker_resp_rx},
           {"marker_resp_tx", c.marker_resp_tx},
           {"marker_unknown_rx", c.marker_unknown_rx}}};
}

std::array<Named, 9> named(const lacp::Refused& r) {
  return {{{"not_slow_protocol", r.not_slow_protocol},
           {"too_short", r.too_short},
           {"bad_tlv_length", r.bad_tlv_length},
           {"loopback", r.loopback},
           {"bond_down", r.bond_down},
           {"not_listening", r.not_listening},
           {"marker_limited", r.marker_limited},
           {"malformed_tail", r.malformed_tail},
           {"unknown_tlvs", r.unknown_tlvs}}};
}

// Only what counted something, but for the first `always`.
template <size_t N>
std::string counted(const std::array<Named, N>& counters, size_t always) {
  std::string out;
  for (size_t i = 0; i < N; ++i) {
    if (i >= always && counters[i].second == 0) continue;
    out += fmt::format("  {} {}", counters[i].first, counters[i].second);
  }
  return out;
}

template <size_t N>
void json_counters(std::string_view name, const std::array<Named, N>& counters, json::Writer& w) {
  w.key(name).begin_object();
  for (const Named& counter : counters) w.member(counter.first, counter.second);
  w.end_object();
}

void show_port(const Member& m, const lacp::PortInfo& port, lacp::Time now, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "    {}: receive {}, periodic {}, mux {}, churn actor {} partner {}\n", m.name,
                 lacp::name(port.receive), lacp::name(port.periodic), lacp::name(port.mux),
                 lacp::name(port.actor_churn), lacp::name(port.partner_churn));
  fmt::format_to(to, "      timers: current_while {}, periodic {}, wait_while {}, actor churn {}, partner churn {}\n",
                 left(port.current_while, now), left(port.periodic_timer, now), left(port.wait_while, now),
                 left(port.actor_churn_timer, now), left(port.partner_churn_timer, now));
  fmt::format_to(to, "      pdus:{}\n", counted(named(port.counters), 2));
  if (const std::string refused = counted(named(port.refused), 0); !refused.empty()) {
    fmt::format_to(to, "      no effect:{}\n", refused);
  }
  history("      ", port.history, now, out);
}

void json_history(const std::vector<lacp::Transition>& transitions, lacp::Time now, json::Writer& w) {
  w.key("history").begin_array();
  for (const lacp::Transition& t : transitions) {
    w.begin_object()
        .member("seconds_ago", now > t.at ? seconds(now - t.at) : 0.0)
        .member("machine", lacp::name(t.machine))
        .member("from", value_text(t.machine, t.from))
        .member("to", value_text(t.machine, t.to))
        .member("reason", lacp::name(t.reason))
        .end_object();
  }
  w.end_array();
}

void json_timer(std::string_view name, lacp::Time deadline, lacp::Time now, json::Writer& w) {
  w.key(name);
  deadline == lacp::kNever ? w.null() : w.value(deadline > now ? seconds(deadline - now) : 0.0);
}

void json_port(const State& state, const Member& m, const lacp::PortInfo& port, lacp::Time now, json::Writer& w) {
  w.begin_object()
      .member("name", m.name)
      .member("lacp_enabled", port.lacp_enabled)
      .member("selected", port.selected)
      .member("collecting", port.collecting)
      .member("distributing", port.distributing);
  json_8023ad_member(state, m, w);
  w.member("receive", lacp::name(port.receive))
      .member("periodic", lacp::name(port.periodic))
      .member("mux", lacp::name(port.mux))
      .member("actor_churn", lacp::name(port.actor_churn))
      .member("partner_churn", lacp::name(port.partner_churn))
      .key("timers")
      .begin_object();
  json_timer("current_while", port.current_while, now, w);
  json_timer("periodic", port.periodic_timer, now, w);
  json_timer("wait_while", port.wait_while, now, w);
  json_timer("actor_churn", port.actor_churn_timer, now, w);
  json_timer("partner_churn", port.partner_churn_timer, now, w);
  w.end_object();
  json_counters("counters", named(port.counters), w);
  json_counters("no_effect", named(port.refused), w);
  json_history(port.history, now, w);
  w.end_object();
}

}  // namespace

std::string lacp_table(const State& state, uint64_t now_ms) {
  if (!state.lacp) return {};
  const lacp::Time now = now_ms * lacp::kMillisecond;
  const lacp::GroupInfo group = state.lacp->group.info();
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{}: {}, system {} priority {}, lacp_rate {}, lacp_active {}, ad_select {}\n", state.name,
                 !group.up       ? "down"
                 : group.carrier ? "up, carrier"
                                 : "up, no carrier",
                 mac_text(group.system), group.system_priority,
                 value_name(OptionId::lacp_rate, static_cast<int64_t>(group.options.lacp_rate)),
                 group.options.lacp_active ? "on" : "off",
                 value_name(OptionId::ad_select, static_cast<int64_t>(group.options.ad_select)));
  for (const lacp::AggregatorInfo& a : group.aggregators) {
    fmt::format_to(to, "  aggregator {}{}: {} port{} with a link, key {}, {}\n", a.id, a.active ? ", active" : "",
                   a.ports, a.ports == 1 ? "" : "s", a.actor_key,
                   a.partner_system == lacp::Mac{}
                       ? std::string("no partner")
                       : fmt::format("partner {} key {}", mac_text(a.partner_system), a.partner_key));
  }
  history("  ", group.history, now, out);
  size_t width = 6;
  for (const Member& m : state.members) width = std::max(width, m.name.size());
  fmt::format_to(to, "\n  {0:<{1}}           {2:<31}   {3}\n", "", width, "actor state", "partner state");
  fmt::format_to(to, "  {:<{}} agg port  {}   {}\n", "member", width, kStateColumns, kStateColumns);
  for (const Member& m : state.members) {
    const auto port = state.lacp->group.port(m.port);
    if (!port) continue;
    fmt::format_to(to, "  {:<{}} {:>3} {:>4}  {}   {}\n", m.name, width,
                   port->aggregator_id == 0 ? std::string("-") : fmt::to_string(port->aggregator_id), port->actor.port,
                   bits(port->actor.state), bits(port->partner.state));
  }
  out += '\n';
  for (const Member& m : state.members) {
    if (const auto port = state.lacp->group.port(m.port)) show_port(m, *port, now, out);
  }
  return out;
}

std::string lacp_json(const State& state, uint64_t now_ms) {
  if (!state.lacp) return {};
  const lacp::Time now = now_ms * lacp::kMillisecond;
  const lacp::GroupInfo group = state.lacp->group.info();
  json::Writer w;
  w.begin_object().member("name", state.name).member("up", group.up).member("carrier", group.carrier);
  json_8023ad(state, w);
  w.key("aggregators").begin_array();
  for (const lacp::AggregatorInfo& a : group.aggregators) {
    w.begin_object()
        .member("id", a.id)
        .member("active", a.active)
        .member("ports", a.ports)
        .member("actor_key", a.actor_key)
        .member("partner_key", a.partner_key)
        .member("partner_system", mac_text(a.partner_system))
        .member("individual", a.individual)
        .end_object();
  }
  w.end_array();
  json_counters("counters", named(group.counters), w);
  json_history(group.history, now, w);
  w.key("members").begin_array();
  for (const Member& m : state.members) {
    if (const auto port = state.lacp->group.port(m.port)) json_port(state, m, *port, now, w);
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace xbond::bond
