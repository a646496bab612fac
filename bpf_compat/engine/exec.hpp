// Raw instructions on a piece of memory, outside any object: for tests of the instruction set. Thread: any.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// Runs `code` with r1 = `memory`, r2 = its length in bytes (both 0 when it is empty). The interpreter checks every
// access; llvm takes what the verifier accepts, and under `automatic` leaves the rest to the interpreter. Gives r0;
// `memory` holds what the program wrote. Errors: EINVAL, ENOTSUP, beginning "instruction N: "; EACCES the verifier's.
Result<uint64_t> execute(std::span<const bpf_insn> code, std::span<std::byte> memory, EngineKind engine);

}  // namespace xbond::bpf
