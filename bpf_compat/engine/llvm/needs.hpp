// What a program asks of the engine that runs it natively. Thread: control.
#pragma once

#include <cstdint>

#include "bpf_compat/engine/bound_map.hpp"
#include "bpf_compat/engine/llvm/code.hpp"

namespace xbond::bpf::llvm {

struct Needs {
  bool run = false;         // helpers that want a Run
  bool stack_seen = false;  // … and may look at the stack
  bool grace = false;       // something that a map may take back
  bool tail_calls = false;  //
  uint32_t frames = 1;      // most stack frames at once
};

// Precondition: check_code accepted the program.
Needs needs_of(const Source& source, uint32_t frames);

// The map of a look-up at instruction `at` that becomes instructions, or a direct call, of native code. Null: the
// helper does it.
const BoundMap* direct_look_up(const Source& source, uint32_t at);

// Helpers that become an instruction.
bool is_inlined(uint32_t helper);

}  // namespace xbond::bpf::llvm
