#include "bpf_compat/engine/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bpf_compat/engine/isa.hpp"

namespace xbond::bpf {
namespace {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

Error reserved(size_t index) {
  return at(index, "a field that the instruction does not use is not 0");
}

Status check_alu(const bpf_insn& insn, size_t index) {
  const bool wide = code_class(insn.code) == BPF_ALU64;
  const auto op = code_op(insn.code);
  if (op > BPF_END) return at(index, fmt::format("unknown instruction {:#04x}", insn.code));
  if (insn.dst_reg == kFramePointer) return at(index, "the frame pointer r10 is read only");
  if (op == BPF_NEG) {
    if (from_register(insn.code) || insn.src_reg != 0 || insn.off != 0 || insn.imm != 0) return reserved(index);
    return {};
  }
  if (op == BPF_END) {
    if (insn.src_reg != 0 || insn.off != 0 || (wide && from_register(insn.code))) return reserved(index);
    if (insn.imm != 16 && insn.imm != 32 && insn.imm != 64) return at(index, "byte swap of an unknown width");
    return {};
  }
  const bool is_signed = (op == BPF_DIV || op == BPF_MOD) && insn.off == 1;
  if (from_register(insn.code)) {
    const bool extends = op == BPF_MOV && (insn.off == 8 || insn.off == 16 || (wide && insn.off == 32));
    if (insn.imm != 0 || (insn.off != 0 && !is_signed && !extends)) return reserved(index);
    return {};
  }
  if (insn.src_reg != 0 || (insn.off != 0 && !is_signed)) return reserved(index);
  if ((op == BPF_DIV || op == BPF_MOD) && insn.imm == 0) return at(index, "division by the constant 0");
  if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && (insn.imm < 0 || insn.imm >= (wide ? 64 : 32)))
    return at(index, fmt::format("shift by {}", insn.imm));
  return {};
}

Status check_jump(const bpf_insn& insn, size_t index) {
  const bool short_form = code_class(insn.code) == BPF_JMP;
  const auto op = code_op(insn.code);
  if (op == BPF_CALL || op == BPF_EXIT) {
    if (!short_form || from_register(insn.code))
      return at(index, fmt::format("unknown instruction {:#04x}", insn.code));
    if (insn.dst_reg != 0 || insn.off != 0) return reserved(index);
    if (op == BPF_EXIT) return insn.src_reg != 0 || insn.imm != 0 ? Status(reserved(index)) : Status();
    if (insn.src_reg == BPF_PSEUDO_KFUNC_CALL) return at(index, "kernel functions can't be called here", ENOTSUP);
    if (insn.src_reg != 0 && insn.src_reg != BPF_PSEUDO_CALL) return reserved(index);
    return {};
  }
  if (op == BPF_JA) {
    if (from_register(insn.code) || insn.dst_reg != 0 || insn.src_reg != 0 || (short_form ? insn.imm : insn.off) != 0)
      return reserved(index);
    return {};
  }
  if (op == kJumpConditional) return at(index, "may_goto is not supported by this version", ENOTSUP);
  if (op > BPF_JSLE) return at(index, fmt::format("unknown instruction {:#04x}", insn.code));
  if (from_register(insn.code) ? insn.imm != 0 : insn.src_reg != 0) return reserved(index);
  return {};
}

Status check_atomic(const bpf_insn& insn, size_t index) {
  const int bytes = access_bytes(insn.code);
  switch (insn.imm) {
    case BPF_ADD:
    case BPF_AND:
    case BPF_OR:
    case BPF_XOR:
      break;
    case BPF_ADD | BPF_FETCH:
    case BPF_AND | BPF_FETCH:
    case BPF_OR | BPF_FETCH:
    case BPF_XOR | BPF_FETCH:
    case BPF_XCHG:
      if (insn.src_reg == kFramePointer) return at(index, "the frame pointer r10 is read only");
      break;
    case BPF_CMPXCHG:
      break;
    case kLoadAcquire:
      if (insn.dst_reg == kFramePointer) return at(index, "the frame pointer r10 is read only");
      return {};
    case kStoreRelease:
      return {};
    default:
      return at(index, fmt::format("unknown atomic operation {:#x}", insn.imm));
  }
  if (bytes != 4 && bytes != 8) return at(index, fmt::format("atomic operation on {} bytes", bytes));
  return {};
}

Status check_stack(const bpf_insn& insn, uint8_t base, size_t index) {
  const int bytes = access_bytes(insn.code);
  if (base == kFramePointer && (insn.off < -kFrameBytes || insn.off > -bytes))
    return at(index, fmt::format("access to {} bytes at r10{:+} is outside the stack frame", bytes, insn.off));
  return {};
}

Status check_memory(const bpf_insn& insn, size_t index) {
  const auto cls = code_class(insn.code);
  const auto mode = code_mode(insn.code);
  const bool is_load = cls == BPF_LDX;
  if (is_load && (mode == BPF_MEM || (mode == kModeSignExtend && code_size(insn.code) != BPF_DW))) {
    if (insn.imm != 0) return reserved(index);
    if (insn.dst_reg == kFramePointer) return at(index, "the frame pointer r10 is read only");
    return check_stack(insn, insn.src_reg, index);
  }
  if (cls == BPF_STX && mode == BPF_ATOMIC) {
    if (auto status = check_atomic(insn, index); !status) return status;
    return check_stack(insn, insn.imm == kLoadAcquire ? insn.src_reg : insn.dst_reg, index);
  }
  if (!is_load && mode == BPF_MEM) {
    if (cls == BPF_STX ? insn.imm != 0 : insn.src_reg != 0) return reserved(index);
    return check_stack(insn, insn.dst_reg, index);
  }
  return at(index, fmt::format("unknown instruction {:#04x}", insn.code));
}

Status check_wide(std::span<const bpf_insn> code, size_t index) {
  const auto& insn = code[index];
  const auto mode = code_mode(insn.code);
  if (mode == BPF_ABS || mode == BPF_IND) return at(index, "legacy packet access (LD_ABS, LD_IND) is not for XDP");
  if (!is_wide(insn)) return at(index, fmt::format("unknown instruction {:#04x}", insn.code));
  if (index + 1 == code.size()) return at(index, "64-bit constant lacks its second half");
  const auto& second = code[index + 1];
  if (second.code != 0 || second.dst_reg != 0 || second.src_reg != 0 || second.off != 0 || insn.off != 0)
    return at(index, "64-bit constant is malformed");
  if (insn.dst_reg == kFramePointer) return at(index, "the frame pointer r10 is read only");
  switch (insn.src_reg) {
    case 0:
    case BPF_PSEUDO_MAP_IDX:
    case BPF_PSEUDO_MAP_IDX_VALUE:
      return {};
    case BPF_PSEUDO_FUNC:
      return {};
    case BPF_PSEUDO_BTF_ID:
      return at(index, "a kernel variable has no meaning here", ENOTSUP);
    default:
      return at(index, "a map that was not relocated");
  }
}

Status check_one(std::span<const bpf_insn> code, size_t index) {
  const auto& insn = code[index];
  if (insn.dst_reg > kFramePointer || insn.src_reg > kFramePointer) return at(index, "there are registers r0 to r10");
  switch (code_class(insn.code)) {
    case BPF_LD:
      return check_wide(code, index);
    case BPF_ALU:
    case BPF_ALU64:
      return check_alu(insn, index);
    case BPF_JMP:
    case BPF_JMP32:
      return check_jump(insn, index);
    default:
      return check_memory(insn, index);
  }
}

// Which slots begin an instruction: a 64-bit constant's second half does not.
Result<std::vector<bool>> find_starts(std::span<const bpf_insn> code) {
  std::vector<bool> starts(code.size(), false);
  for (size_t i = 0; i < code.size(); ++i) {
    if (auto status = check_one(code, i); !status) return status.error();
    starts[i] = true;
    if (is_wide(code[i])) ++i;
  }
  return starts;
}

// A call, or the address of a function for a helper that calls it back.
bool names_function(const bpf_insn& insn) {
  return is_local_call(insn) || (is_wide(insn) && insn.src_reg == BPF_PSEUDO_FUNC);
}

Result<std::vector<uint32_t>> find_functions(std::span<const bpf_insn> code, const std::vector<bool>& starts) {
  std::vector<uint32_t> functions{0};
  for (size_t i = 0; i < code.size(); ++i) {
    if (!starts[i] || !names_function(code[i])) continue;
    const int64_t target = static_cast<int64_t>(i) + 1 + code[i].imm;
    if (target < 0 || target >= static_cast<int64_t>(code.size()) || !starts[static_cast<size_t>(target)])
      return at(i, fmt::format("call to {}, where no instruction begins", target));
    functions.push_back(static_cast<uint32_t>(target));
  }
  std::ranges::sort(functions);
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  return functions;
}

// Jumps stay within [first, end), which ends where nothing falls through.
Status check_function(std::span<const bpf_insn> code, const std::vector<bool>& starts, size_t first, size_t end) {
  size_t last = first;
  for (size_t i = first; i < end; ++i) {
    if (!starts[i]) continue;
    last = i;
    if (!is_jump(code[i])) continue;
    const int64_t target = static_cast<int64_t>(i) + 1 + jump_distance(code[i]);
    if (target < static_cast<int64_t>(first) || target >= static_cast<int64_t>(end))
      return at(i, fmt::format("jump to {}, outside its function", target));
    if (!starts[static_cast<size_t>(target)])
      return at(i, fmt::format("jump into the 64-bit constant at {}", target - 1));
  }
  const auto& insn = code[last];
  const bool ends =
      insn.code == (BPF_JMP | BPF_EXIT) || insn.code == (BPF_JMP | BPF_JA) || insn.code == (BPF_JMP32 | BPF_JA);
  return ends ? Status() : Status(at(last, "the function goes on behind its last instruction"));
}

// Calls by function, as indices into `functions`.
std::vector<std::vector<uint32_t>> call_graph(std::span<const bpf_insn> code, const std::vector<bool>& starts,
                                              const std::vector<uint32_t>& functions) {
  std::vector<std::vector<uint32_t>> calls(functions.size());
  size_t current = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (current + 1 < functions.size() && functions[current + 1] == i) ++current;
    if (!starts[i] || !names_function(code[i])) continue;
    const auto target = static_cast<uint32_t>(static_cast<int64_t>(i) + 1 + code[i].imm);
    const auto it = std::ranges::lower_bound(functions, target);
    calls[current].push_back(static_cast<uint32_t>(it - functions.begin()));
  }
  return calls;
}

// Most frames at once from function 0: which functions can run at each depth, until none calls on. Calls that still go
// deeper after kMaxFrames rounds are too deep, or go in a circle.
Result<uint32_t> count_frames(const std::vector<std::vector<uint32_t>>& calls) {
  std::vector<bool> live(calls.size(), false);
  live[0] = true;
  for (uint32_t frames = 1; frames <= kMaxFrames; ++frames) {
    std::vector<bool> next(calls.size(), false);
    bool any = false;
    for (size_t f = 0; f < calls.size(); ++f) {
      if (!live[f]) continue;
      for (const auto callee : calls[f]) {
        next[callee] = true;
        any = true;
      }
    }
    if (!any) return frames;
    live = std::move(next);
  }
  return fail(EINVAL, fmt::format("functions call each other more than {} deep, or in a circle", kMaxFrames));
}

}  // namespace

Result<CodeShape> check_code(std::span<const bpf_insn> code) {
  if (code.empty()) return fail(EINVAL, "it has no instructions");
  if (code.size() > kMaxInstructions)
    return fail(E2BIG, fmt::format("it has more than {} instructions", kMaxInstructions));
  const auto starts = find_starts(code);
  if (!starts) return starts.error();
  auto functions = find_functions(code, *starts);
  if (!functions) return functions.error();
  for (size_t f = 0; f < functions->size(); ++f) {
    const size_t end = f + 1 < functions->size() ? (*functions)[f + 1] : code.size();
    if (auto status = check_function(code, *starts, (*functions)[f], end); !status) return status.error();
  }
  const auto frames = count_frames(call_graph(code, *starts, *functions));
  if (!frames) return frames.error();
  return CodeShape{std::move(*functions), *frames};
}

}  // namespace xbond::bpf
