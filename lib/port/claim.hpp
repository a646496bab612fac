// One Port per ethdev port. Internal to the room. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "bpf_compat/result.hpp"

namespace xbond::port {

// Errors: EBUSY open already in this process, or owned by another part of DPDK (a bonding or failsafe device).
// ethdev's own ownership would hide our ports from everyone who walks the list of ports.
Status claim(uint16_t id, const std::string& name);
void unclaim(uint16_t id) noexcept;

}  // namespace xbond::port
