// Which worker sends a frame that came from the host: the same one for all frames of a flow, so that they stay in
// order.
#pragma once

#include <cstdint>
#include <span>

namespace xbond::host {

// `head`: the frame's first bytes, from the destination MAC, any length. Result below `workers` (at least 1).
// Not the bond's transmit hash: that one picks the member later, from whichever worker.
[[nodiscard]] uint16_t pick_worker(std::span<const uint8_t> head, uint16_t workers) noexcept;

}  // namespace xbond::host
