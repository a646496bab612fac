#include "bpf_compat/verifier/flow.hpp"

#include <algorithm>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf::verifier {
namespace {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

bool is_call(const bpf_insn& insn) {
  return insn.code == (BPF_JMP | BPF_CALL);
}

bool unconditional(const bpf_insn& insn) {
  return insn.code == (BPF_JMP | BPF_JA) || insn.code == (BPF_JMP32 | BPF_JA);
}

void mark_meetings(std::span<const bpf_insn> code, Flow& flow) {
  for (uint32_t i = 0; i < code.size(); ++i) {
    const auto& insn = code[i];
    if (is_wide(insn)) {
      ++i;
    } else if (is_jump(insn)) {
      flow.meets[jump_target(i, insn)] = true;
      if (!unconditional(insn)) flow.meets[i] = true;
    } else if (is_call(insn) && is_local_call(insn)) {
      flow.meets[i + 1] = true;
    } else if (is_call(insn) && helper_calls_back(static_cast<uint32_t>(insn.imm))) {
      flow.meets[i] = flow.always[i] = true;
      flow.meets[i + 1] = true;
    }
  }
}

// Instructions that a way leads to, by jumps and calls as they stand.
std::vector<bool> find_reached(std::span<const bpf_insn> code) {
  std::vector<bool> reached(code.size(), false);
  std::vector<uint32_t> open{0};
  while (!open.empty()) {
    const auto i = open.back();
    open.pop_back();
    if (reached[i]) continue;
    reached[i] = true;
    const auto& insn = code[i];
    if (insn.code == (BPF_JMP | BPF_EXIT)) continue;
    if (is_jump(insn)) open.push_back(jump_target(i, insn));
    if (is_local_call(insn) || (is_wide(insn) && insn.src_reg == BPF_PSEUDO_FUNC)) open.push_back(call_target(i, insn));
    if (unconditional(insn)) continue;
    if (is_wide(insn)) reached[i + 1] = true;
    open.push_back(i + (is_wide(insn) ? 2 : 1));
  }
  return reached;
}

}  // namespace

Result<Flow> analyse(std::span<const bpf_insn> code) {
  const auto shape = check_code(code);
  if (!shape) return shape.error();
  const auto reached = find_reached(code);
  for (size_t i = 0; i < code.size(); ++i)
    if (!reached[i]) return at(i, "unreachable instruction");
  Flow flow{.functions = shape->functions, .function_of = {}, .meets = {}, .always = {}};
  flow.meets.resize(code.size(), false);
  flow.always.resize(code.size(), false);
  for (size_t i = 0, f = 0; i < code.size(); ++i) {
    if (f + 1 < flow.functions.size() && flow.functions[f + 1] == i) ++f;
    flow.function_of.push_back(static_cast<uint32_t>(f));
  }
  mark_meetings(code, flow);
  return flow;
}

}  // namespace xbond::bpf::verifier
