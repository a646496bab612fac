// ad_select: what makes an aggregator the one that carries the traffic.
#pragma once

#include <cstdint>

namespace xbond::lacp {

// Numbers are Linux's.
enum class Select : uint8_t { stable = 0, bandwidth = 1, count = 2, actor_port_prio = 3 };

}  // namespace xbond::lacp
