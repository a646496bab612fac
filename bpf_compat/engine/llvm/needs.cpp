#include "bpf_compat/engine/llvm/needs.hpp"

#include <algorithm>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/verifier/contract.hpp"

namespace xbond::bpf::llvm {
namespace {

bool is_helper_call(const bpf_insn& insn) {
  return insn.code == (BPF_JMP | BPF_CALL) && insn.src_reg == 0;
}

// Whether one of the helper's arguments may point at the stack.
bool takes_memory(uint32_t helper) {
  using verifier::Argument;
  const auto* contract = verifier::find_contract(helper);
  return contract && std::ranges::any_of(contract->arguments, [](Argument argument) {
           switch (argument) {
             case Argument::none:
             case Argument::anything:
             case Argument::context:
             case Argument::map:
             case Argument::size:
             case Argument::size_or_zero:
             case Argument::record:
             case Argument::record_size:
               return false;
             default:
               return true;
           }
         });
}

}  // namespace

const BoundMap* direct_look_up(const Source& source, uint32_t at) {
  const auto& insn = source.program->insns[at];
  const auto map = source.facts->call_map[at];
  if (!is_helper_call(insn) || insn.imm != BPF_FUNC_map_lookup_elem || map < 0) return nullptr;
  const auto* bound = source.bound[static_cast<size_t>(map)];
  return bound->kind <= MapKind::hash ? bound : nullptr;
}

bool is_inlined(uint32_t helper) {
  return helper == BPF_FUNC_get_smp_processor_id;
}

Needs needs_of(const Source& source, uint32_t frames) {
  Needs needs{.frames = frames};
  const auto& code = source.program->insns;
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (isa::is_wide(code[i])) {
      const bool map = code[i].src_reg == BPF_PSEUDO_MAP_IDX;
      needs.grace = needs.grace || (map && !source.bound[static_cast<uint32_t>(code[i].imm)]->is_array());
      ++i;
      continue;
    }
    const auto number = static_cast<uint32_t>(code[i].imm);
    if (!is_helper_call(code[i]) || !source.facts->reached[i] || is_inlined(number) || direct_look_up(source, i))
      continue;
    needs.run = true;
    needs.stack_seen = needs.stack_seen || takes_memory(number);
    needs.tail_calls = needs.tail_calls || number == BPF_FUNC_tail_call;
  }
  return needs;
}

}  // namespace xbond::bpf::llvm
