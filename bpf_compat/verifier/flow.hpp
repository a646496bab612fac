// What follows from a program's form alone: its functions, and where ways meet. Thread: any.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::bpf::verifier {

struct Flow {
  std::vector<uint32_t> functions;    // first instruction of each, ascending
  std::vector<uint32_t> function_of;  // by instruction: index into `functions`
  std::vector<bool> meets;            // by instruction: worth comparing states at
  std::vector<bool> always;           // … and keeping one at each visit (loops by callbacks)
};

// Errors: as check_code() gives them; an instruction that no way leads to (as the kernel refuses).
Result<Flow> analyse(std::span<const bpf_insn> code);

}  // namespace xbond::bpf::verifier
