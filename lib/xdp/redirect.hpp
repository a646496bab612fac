// XDP_REDIRECT: where frames go (xdp_do_redirect in net/core/filter.c, kernel/bpf/devmap.c). Thread: worker.
//
// Frames of one target go as one batch as long as no frame of another lies between them, so that none overtakes.
#pragma once

#include "lib/xdp/batch.hpp"
#include "lib/xdp/receive.hpp"

namespace xbond::xdp {

// Takes the frames whose verdict is XDP_REDIRECT out of a burst: the first n of worker.verdicts and worker.frames, and
// their mbufs in worker.bins[XDP_REDIRECT]. `view` received them.
void redirect(WorkerContext& worker, const PortView& view, uint16_t n) noexcept;

// To every valid entry of a DEVMAP or DEVMAP_HASH (dev_map_enqueue_multi): there, up, sending XDP frames, with an MTU
// that the frame fits, and with `exclude_ingress` neither the receiving interface nor a bond above it. Takes the
// frames.
void broadcast(WorkerContext& worker, const PortView& view, const bpf::Map& map, bool exclude_ingress,
               const Batch& batch) noexcept;

// Sends by a device that is up: after the entry's program, if it has one, by the port or by a member that the bond
// picks. Takes the frames, which fit its MTU.
void leave_by(WorkerContext& worker, const PortView& view, const DeviceView& device, const bpf::Program* program,
              Batch batch) noexcept;

}  // namespace xbond::xdp
