#include "lib/lacp/selection.hpp"

#include <algorithm>
#include <tuple>

namespace xbond::lacp {

namespace {

using namespace state;

bool empty(const Ports& ports, const Aggregator& aggregator) noexcept {
  return std::none_of(ports.begin(), ports.end(),
                      [&aggregator](const auto& port) { return port->aggregator == &aggregator; });
}

void clear(Aggregator& aggregator) noexcept {
  const uint16_t id = aggregator.id;
  aggregator = Aggregator{};
  aggregator.id = id;
}

// A link by itself: LACP can't run, or the partner says that it does not aggregate.
bool individual(const Port& port) noexcept {
  const bool partner_known = port.partner.system != Mac{};
  return !port.lacp_enabled || (partner_known && !port.partner.has(kAggregation));
}

bool suits(const Aggregator& aggregator, const Port& port) noexcept {
  return aggregator.has_partner() && !aggregator.individual && !individual(port) &&
         aggregator.actor_key == port.actor.key && aggregator.speed_mbps == port.link.speed_mbps &&
         aggregator.partner_system == port.partner.system &&
         aggregator.partner_system_priority == port.partner.system_priority &&
         aggregator.partner_key == port.partner.key;
}

void describe(Aggregator& aggregator, const Port& port) noexcept {
  aggregator.individual = individual(port);
  aggregator.actor_key = port.actor.key;
  aggregator.speed_mbps = port.link.speed_mbps;
  aggregator.partner_system = port.partner.system;
  aggregator.partner_system_priority = port.partner.system_priority;
  aggregator.partner_key = port.partner.key;
}

// What the policies weigh, of ports with a working link.
struct Weight {
  unsigned ports = 0;
  uint64_t priority = 0;
  uint64_t bandwidth = 0;
};

Weight weigh(const Ports& ports, const Aggregator& aggregator) noexcept {
  Weight weight;
  for (const auto& port : ports) {
    if (port->aggregator != &aggregator || !port->running()) continue;
    ++weight.ports;
    weight.priority += port->actor.port_priority;
    weight.bandwidth += port->link.speed_mbps;
  }
  return weight;
}

// By policy alone; false when equal.
bool outweighs(const Weight& a, const Weight& b, Select policy) noexcept {
  switch (policy) {
    case Select::actor_port_prio:
      return std::tie(a.priority, a.ports, a.bandwidth) > std::tie(b.priority, b.ports, b.bandwidth);
    case Select::count:
      return std::tie(a.ports, a.bandwidth) > std::tie(b.ports, b.bandwidth);
    case Select::stable:
    case Select::bandwidth:
      break;
  }
  return a.bandwidth > b.bandwidth;
}

bool better(const Ports& ports, const Aggregator& a, const Aggregator& b, Select policy) noexcept {
  if (a.individual != b.individual) return b.individual;
  if (a.has_partner() != b.has_partner()) return a.has_partner();
  return outweighs(weigh(ports, a), weigh(ports, b), policy);
}

// stable: the present one stays while it has a working port and a partner (or nobody has one).
bool stays(const Ports& ports, const Aggregator* present, const Aggregator& best) noexcept {
  return present != nullptr && active_ports(ports, *present) != 0 && (present->has_partner() || !best.has_partner()) &&
         (present->actor_key != 0 || best.actor_key == 0);
}

}  // namespace

unsigned active_ports(const Ports& ports, const Aggregator& aggregator) noexcept {
  return weigh(ports, aggregator).ports;
}

void detach(Ports& ports, Port& port) noexcept {
  Aggregator* const left = port.aggregator;
  port.aggregator = nullptr;
  if (left != nullptr && empty(ports, *left)) clear(*left);
}

void assign(Ports& ports, Port& port, Time now) noexcept {
  if (port.selected) return;
  detach(ports, port);
  Aggregator* free = nullptr;
  for (const auto& other : ports) {
    Aggregator& candidate = other->own;
    if (empty(ports, candidate)) {
      if (free == nullptr) free = &candidate;
    } else if (suits(candidate, port)) {
      port.aggregator = &candidate;
      break;
    }
  }
  if (port.aggregator == nullptr) {
    // There is one: each port brings one along, and this port holds none.
    if (free == nullptr) return;
    describe(*free, port);
    port.aggregator = free;
  }
  port.selected = true;
  port.note(now, Machine::selection, 0, port.aggregator->id, Reason::joined);
}

void hand_over(Ports& ports, Port& leaving, Time now) noexcept {
  if (empty(ports, leaving.own)) return;
  const auto heir = std::find_if(ports.begin(), ports.end(),
                                 [&](const auto& port) { return port.get() != &leaving && empty(ports, port->own); });
  if (heir == ports.end()) return;  // can't be: at most n - 1 ports hold the other n - 1
  Aggregator& to = (*heir)->own;
  const uint16_t id = to.id;
  to = leaving.own;
  to.id = id;
  for (const auto& port : ports) {
    if (port->aggregator != &leaving.own) continue;
    port->note(now, Machine::selection, leaving.own.id, id, Reason::member_left);
    port->aggregator = &to;
  }
  clear(leaving.own);
}

Aggregator* active_aggregator(const Ports& ports) noexcept {
  const auto found = std::find_if(ports.begin(), ports.end(), [](const auto& port) { return port->own.active; });
  return found == ports.end() ? nullptr : &(*found)->own;
}

Aggregator* choose(Ports& ports, Select policy) noexcept {
  Aggregator* const present = active_aggregator(ports);
  Aggregator* best = present != nullptr && active_ports(ports, *present) != 0 ? present : nullptr;
  for (const auto& port : ports) {
    Aggregator& candidate = port->own;
    if (active_ports(ports, candidate) == 0) continue;
    if (best == nullptr || better(ports, candidate, *best, policy)) best = &candidate;
  }
  if (best != nullptr && policy == Select::stable && stays(ports, present, *best)) best = present;
  if (present != nullptr) present->active = false;
  if (best != nullptr) best->active = true;
  return best;
}

}  // namespace xbond::lacp
