// 802.3ad in `show bond`: the lines of bond_info_show_master() and bond_info_show_slave() as root reads them.
#include <fmt/format.h>

#include <iterator>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

std::string_view on_off(bool on) {
  return on ? "on" : "off";
}

std::string_view rate_name(lacp::Rate rate) {
  return value_name(OptionId::lacp_rate, static_cast<int64_t>(rate));
}

std::string_view select_name(lacp::Select select) {
  return value_name(OptionId::ad_select, static_cast<int64_t>(select));
}

void json_info(std::string_view name, const lacp::Info& info, json::Writer& w) {
  w.key(name)
      .begin_object()
      .member("system_priority", info.system_priority)
      .member("system", mac_text(info.system))
      .member("key", info.key)
      .member("port_priority", info.port_priority)
      .member("port", info.port)
      .key("state")
      .begin_array();
  for (size_t bit = 0; bit < lacp::state::kNames.size(); ++bit) {
    if ((info.state >> bit & 1U) != 0) w.value(lacp::state::kNames[bit]);
  }
  w.end_array().end_object();
}

}  // namespace

void show_8023ad(const State& state, std::string& out) {
  const lacp::Options& o = state.params.lacp;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n802.3ad info\nLACP active: {}\nLACP rate: {}\nMin links: {}\n", on_off(o.lacp_active),
                 rate_name(o.lacp_rate), o.min_links);
  fmt::format_to(to, "Aggregator selection policy (ad_select): {}\n", select_name(o.ad_select));
  if (!state.lacp) return;
  const lacp::GroupInfo group = state.lacp->group.info();
  fmt::format_to(to, "System priority: {}\nSystem MAC address: {}\n", group.system_priority, mac_text(group.system));
  if (!group.active) {
    fmt::format_to(to, "bond {} has no active aggregator\n", state.name);
    return;
  }
  fmt::format_to(to, "Active Aggregator Info:\n\tAggregator ID: {}\n\tNumber of ports: {}\n", group.active->id,
                 group.active->ports);
  fmt::format_to(to, "\tActor Key: {}\n\tPartner Key: {}\n\tPartner Mac Address: {}\n", group.active->actor_key,
                 group.active->partner_key, mac_text(group.active->partner_system));
}

void show_8023ad_member(const State& state, const Member& m, std::string& out) {
  const auto port = state.lacp ? state.lacp->group.port(m.port) : std::nullopt;
  auto to = std::back_inserter(out);
  if (!port || port->aggregator_id == 0) {
    out += "Aggregator ID: N/A\n";
    return;
  }
  fmt::format_to(to, "Aggregator ID: {}\nActor Churn State: {}\nPartner Churn State: {}\n", port->aggregator_id,
                 lacp::name(port->actor_churn), lacp::name(port->partner_churn));
  fmt::format_to(to, "Actor Churned Count: {}\nPartner Churned Count: {}\n", port->actor_churned_count,
                 port->partner_churned_count);
  const auto details = [&](std::string_view side, std::string_view key_name, const lacp::Info& info) {
    fmt::format_to(to, "details {} lacp pdu:\n    system priority: {}\n    system mac address: {}\n", side,
                   info.system_priority, mac_text(info.system));
    fmt::format_to(to, "    {}: {}\n    port priority: {}\n    port number: {}\n    port state: {}\n", key_name,
                   info.key, info.port_priority, info.port, info.state);
  };
  details("actor", "port key", port->actor);
  details("partner", "oper key", port->partner);
}

void json_8023ad(const State& state, json::Writer& w) {
  const lacp::Options& o = state.params.lacp;
  w.key("ad_info");
  if (!state.lacp) {
    w.null();
    return;
  }
  const lacp::GroupInfo group = state.lacp->group.info();
  w.begin_object()
      .member("lacp_active", o.lacp_active)
      .member("lacp_rate", rate_name(o.lacp_rate))
      .member("ad_select", select_name(o.ad_select))
      .member("min_links", o.min_links)
      .member("coupled_control", o.coupled_control)
      .member("ad_user_port_key", o.ad_user_port_key)
      .member("system_priority", group.system_priority)
      .member("system", mac_text(group.system))
      .key("aggregator");
  if (!group.active) {
    w.null().end_object();
    return;
  }
  w.begin_object()
      .member("id", group.active->id)
      .member("ports", group.active->ports)
      .member("actor_key", group.active->actor_key)
      .member("partner_key", group.active->partner_key)
      .member("partner_system", mac_text(group.active->partner_system))
      .end_object()
      .end_object();
}

void json_8023ad_member(const State& state, const Member& m, json::Writer& w) {
  const auto port = state.lacp ? state.lacp->group.port(m.port) : std::nullopt;
  if (!port) return;
  w.key("aggregator");
  port->aggregator_id != 0 ? w.value(port->aggregator_id) : w.null();
  json_info("actor", port->actor, w);
  json_info("partner", port->partner, w);
}

}  // namespace xbond::bond
