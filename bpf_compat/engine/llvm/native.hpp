// What native code and the engine agree on. Plain data: the code reaches the fields by their offsets.
#pragma once

#include <cstdint>

#include "bpf_compat/engine/bound_map.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/engine/run.hpp"

namespace xbond::bpf::llvm {

// Of one burst. On the worker's stack. All but `frame` and `cpu` is there only for code that needs a Run.
struct Native {
  XdpFrame* frame = nullptr;  // the one that the program runs on
  uint64_t cpu = 0;
  Run* run = nullptr;
  const Fault* fault = nullptr;
  Region* stack = nullptr;      // run's
  const Unit* unit = nullptr;   // whose code runs: another program's after a tail call
  uint64_t context = 0;         // the number that stands for the context
  uint64_t callback_stack = 0;  // where the frame of a function that a helper calls back ends
  uint64_t callbacks = 0;       // so far in this run
  uint32_t fault_at = 0;        // instruction that broke a rule, while *fault says so
};

// Runs the program on each frame. `verdicts` are 32 bits each, or 64 where Source::whole_r0 says so.
using Burst = void (*)(Native* native, XdpFrame* frames, uint64_t count, void* verdicts);

// What native code calls. All are given when the code is made.
struct Hooks {
  // Before and after each frame, where the program needs a Run. end() gives the result: `r0`, or XDP_ABORTED where the
  // run broke a rule.
  void (*begin)(Native* native) noexcept = nullptr;
  uint64_t (*end)(Native* native, uint64_t r0) noexcept = nullptr;
  // A tail call: the address of the other program's entry, kNoTail where the call does nothing, or kInterpreted.
  uint64_t (*tail)(Native* native, const BoundMap* map, uint64_t index) noexcept = nullptr;
  uint64_t (*interpret)(Native* native) noexcept = nullptr;
  // After a function that ended in another program: `unit` is the caller's.
  void (*back)(Native* native, const Unit* unit) noexcept = nullptr;
};

inline constexpr uint64_t kNoTail = 0;
inline constexpr uint64_t kInterpreted = 1;  // the other program has no native code: Hooks::interpret runs it

}  // namespace xbond::bpf::llvm
