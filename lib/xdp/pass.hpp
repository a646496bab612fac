// XDP_PASS: the bond's receive rules, then the host. Thread: worker.
#pragma once

#include "lib/xdp/receive.hpp"

namespace xbond::xdp {

// bond_handle_frame and the stack behind it. Takes the frames, which `view` received.
void pass(WorkerContext& worker, const PortView& view, rte_mbuf** pkts, uint16_t n) noexcept;

}  // namespace xbond::xdp
