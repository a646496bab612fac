// What must hold of a program's instructions before any engine takes them: known instructions in the kernel's form,
// registers, jumps and calls that land on instructions of their function, no way off its end. Thread: control.
#pragma once

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

struct CodeShape {
  std::vector<uint32_t> functions;  // first instruction of each, ascending; functions[0] is 0
  uint32_t frames = 1;              // most stack frames in use at once
};

// The error of one instruction.
inline Error at(size_t index, std::string_view text, int code = EINVAL) {
  return fail(code, fmt::format("instruction {}: {}", index, text));
}

// Errors: EINVAL or ENOTSUP, beginning "instruction N: ".
Result<CodeShape> check_code(std::span<const bpf_insn> code);

}  // namespace xbond::bpf
