// Snapshots of a group for `show`.
#include <algorithm>

#include "lib/lacp/group_state.hpp"
#include "lib/lacp/selection.hpp"

namespace xbond::lacp {

namespace {

std::vector<Transition> copy(const History& history) {
  std::vector<Transition> transitions;
  transitions.reserve(history.size());
  for (std::size_t i = 0; i < history.size(); ++i) transitions.push_back(history[i]);
  return transitions;
}

AggregatorInfo describe(const Ports& ports, const Aggregator& aggregator) {
  AggregatorInfo info;
  info.id = aggregator.id;
  info.ports = active_ports(ports, aggregator);
  info.actor_key = aggregator.actor_key;
  info.partner_key = aggregator.partner_key;
  info.partner_system = aggregator.partner_system;
  info.individual = aggregator.individual;
  info.active = aggregator.active;
  return info;
}

void copy_machines(const Port& port, PortInfo& info) {
  info.receive = port.receive;
  info.periodic = port.periodic;
  info.mux = port.mux;
  info.actor_churn = port.actor_churn;
  info.partner_churn = port.partner_churn;
  info.actor_churned_count = port.actor_churn_count;
  info.partner_churned_count = port.partner_churn_count;
  info.current_while = port.current_while;
  info.periodic_timer = port.periodic_due;
  info.wait_while = port.mux == MuxState::waiting ? port.wait_while : kNever;
  info.actor_churn_timer = port.actor_churn_due;
  info.partner_churn_timer = port.partner_churn_due;
}

}  // namespace

std::vector<uint16_t> Group::ports() const {
  std::vector<uint16_t> ids;
  ids.reserve(state_->ports.size());
  for (const auto& port : state_->ports) ids.push_back(port->id);
  return ids;
}

std::optional<PortInfo> Group::port(uint16_t port) const {
  const Port* const found = state_->find(port);
  if (found == nullptr) return std::nullopt;
  PortInfo info;
  info.id = found->id;
  info.mac = found->permanent_mac;
  info.link = found->link;
  info.lacp_enabled = found->lacp_enabled;
  info.selected = found->selected;
  info.collecting = state_->may_collect(*found);
  info.distributing = state_->may_distribute(*found);
  info.aggregator_id = found->aggregator == nullptr ? uint16_t{0} : found->aggregator->id;
  info.actor = found->actor;
  info.partner = found->partner;
  copy_machines(*found, info);
  if (const Wire* const wire = state_->wires.find(port)) info.next_pdu_from = wire->window.next();
  info.counters = found->counters;
  info.refused = found->refused;
  info.history = copy(found->history);
  return info;
}

GroupInfo Group::info() const {
  GroupInfo info;
  info.options = state_->options;
  info.up = state_->up;
  info.carrier = state_->carrier;
  info.system_priority = state_->options.ad_actor_sys_prio;
  info.system = state_->system();
  info.select_timer = state_->select_due;
  info.counters = state_->departed;
  for (const auto& port : state_->ports) {
    info.counters += port->counters;
    const bool used = std::any_of(state_->ports.begin(), state_->ports.end(),
                                  [&port](const auto& other) { return other->aggregator == &port->own; });
    if (!used) continue;
    info.aggregators.push_back(describe(state_->ports, port->own));
    if (port->own.active) info.active = info.aggregators.back();
  }
  info.history = copy(state_->history);
  return info;
}

}  // namespace xbond::lacp
