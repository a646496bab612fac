// The periodic transmission machine (802.1AX 6.4.13), on deadlines instead of Linux's counted ticks: fast PDUs are due
// each 1.00 s, slow ones each 30 s, however late the calls are.
#pragma once

#include "lib/lacp/port.hpp"

namespace xbond::lacp {

// Sets ntt when a PDU is due. Each tick, and at port.periodic_due.
void periodic_step(Port& port, Time now) noexcept;

}  // namespace xbond::lacp
