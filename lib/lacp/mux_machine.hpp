// The mux machine (802.1AX 6.4.15): when a port collects and distributes. Coupled control as Linux's default,
// independent control with coupled_control off.
#pragma once

#include "lib/lacp/port.hpp"

namespace xbond::lacp {

struct MuxControl {
  bool coupled = true;
  bool hold = false;  // the aggregator-select timer runs: nobody goes beyond ATTACHED
};

// At most one transition. Once a tick, after the port's selection.
void mux_step(Port& port, const Ports& ports, const MuxControl& control, Time now) noexcept;

}  // namespace xbond::lacp
