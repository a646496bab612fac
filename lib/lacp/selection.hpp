// The selection logic (802.1AX 6.4.14): which aggregator a port belongs to, and which one carries the traffic.
#pragma once

#include "lib/lacp/port.hpp"
#include "lib/lacp/selection_policy.hpp"

namespace xbond::lacp {

// Ports of the aggregator that have a working link.
unsigned active_ports(const Ports& ports, const Aggregator& aggregator) noexcept;

// Gives an unselected port an aggregator: one whose ports agree with it, else a free one.
void assign(Ports& ports, Port& port, Time now) noexcept;

// Takes the port out of its aggregator; one without ports left is cleared.
void detach(Ports& ports, Port& port) noexcept;

// A leaving port's own aggregator may serve others: moves them and what it stands for to a free one. The leaving port
// itself must be detached.
void hand_over(Ports& ports, Port& leaving, Time now) noexcept;

Aggregator* active_aggregator(const Ports& ports) noexcept;

// Chooses the aggregator that carries the traffic and marks it; nullptr: none has a working link.
Aggregator* choose(Ports& ports, Select policy) noexcept;

}  // namespace xbond::lacp
