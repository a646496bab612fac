// What one worker changes while it runs a program: its own cache lines, read by control.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "bpf_compat/engine/fault.hpp"
#include "bpf_compat/engine/trace_ring.hpp"

namespace xbond::bpf {

struct alignas(128) CpuState {
  std::atomic<uint64_t> faults{0};
  std::atomic<uint64_t> last_fault{0};       // instruction << 8 | Fault
  std::atomic<uint64_t> last_fault_time{0};  // ns, to find the last among workers
  uint64_t random = 0;                       // generator's state, worker only
  std::unique_ptr<TraceRing> trace;          // only where the program calls trace_printk

  void record(Fault fault, uint32_t instruction, uint64_t now_ns) noexcept {
    last_fault.store(uint64_t{instruction} << 8 | static_cast<uint8_t>(fault), std::memory_order_relaxed);
    last_fault_time.store(now_ns, std::memory_order_relaxed);
    faults.store(faults.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

}  // namespace xbond::bpf
