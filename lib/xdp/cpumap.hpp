// CPU maps (kernel/bpf/cpumap.c): frames that one worker hands to another one. Thread: worker.
#pragma once

#include "lib/xdp/batch.hpp"
#include "lib/xdp/receive.hpp"

namespace xbond::xdp {

// The sending end: by the entry's queue of `target`. What does not fit is dropped and counted. Takes the frames.
void to_cpu(WorkerContext& worker, const PortView& view, const bpf::RedirectTarget& target,
            const Batch& batch) noexcept;

// The receiving end, once a round: all that waited when it was called. The entry's program runs; what it passes goes
// the way of frames that the port received (PASS). `ports`: by ethdev id.
void receive_from_cpus(WorkerContext& worker, std::span<const PortView> ports) noexcept;

// After every worker has stopped (control): what still waits is dropped and counted.
void discard_from_cpus(WorkerContext& worker) noexcept;

}  // namespace xbond::xdp
