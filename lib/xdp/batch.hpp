// Frames on their way to one target. Thread: worker.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "lib/xdp/receive.hpp"

namespace xbond::xdp {

// Owns [0, n) of `pkts`. Beside each frame stands where it is described in WorkerContext::frames.
struct Batch {
  rte_mbuf** pkts;
  uint8_t* at;
  uint16_t n;

  // Bytes of metadata that the program which redirected the frame left in front of it.
  [[nodiscard]] uint32_t meta(const WorkerContext& worker, uint16_t i) const noexcept {
    const bpf::XdpFrame& frame = worker.frames[at[i]];
    return static_cast<uint32_t>(frame.data - frame.data_meta);
  }
};
static_assert(port::kMaxBurst <= 256, "Batch::at");

// Drops and counts the frames that are longer, keeps the order of the rest.
void without_longer(PortCounters& counters, uint32_t longest, Batch& batch) noexcept;

}  // namespace xbond::xdp
