// The churn detection machines (802.1AX 6.4.17): has a side failed to get in sync within 60 s?
#pragma once

#include "lib/lacp/port.hpp"

namespace xbond::lacp {

// Both machines, actor's and partner's. Once a tick.
void churn_step(Port& port, Time now) noexcept;

}  // namespace xbond::lacp
