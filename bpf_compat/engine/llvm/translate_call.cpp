// Calls: of helpers, by the functions that the interpreter calls too, of the program's own functions, and tail calls.
#include <array>
#include <cstddef>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/llvm/translate.hpp"
#include "bpf_compat/helper/helper.hpp"
#include "bpf_compat/verifier/contract.hpp"

namespace xbond::bpf::llvm {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

// Where helpers find which memory is the program's stack.
Value Translator::region() const {
  return e_.as_pointer(e_.field(native_, offsetof(Native, stack)), e_.type(8));
}

// Tells helpers which memory is the program's stack: all frames, used or not.
void Translator::set_stack(Value low) const {
  const auto stack = region();
  e_.set_field(stack, offsetof(Region, low), low);
  e_.set_field(stack, offsetof(Region, size), e_.number(uint64_t{needs_.frames} * kFrameBytes));
}

// The function ends where a rule was broken; its caller sees it likewise. `note`: says where.
void Translator::leave_when_broken(bool note) {
  const auto fault = e_.as_pointer(e_.field(native_, offsetof(Native, fault)), e_.type(8));
  const auto broken = block();
  const auto whole = block();
  LLVMBuildCondBr(e_.b, e_.compare(LLVMIntEQ, e_.load(fault, 8), e_.number(0, 8)), whole, broken);
  LLVMPositionBuilderAtEnd(e_.b, broken);
  if (note) e_.set_field(native_, offsetof(Native, fault_at), e_.number(at_, 32));
  LLVMBuildRet(e_.b, e_.number(XDP_ABORTED));
  LLVMPositionBuilderAtEnd(e_.b, whole);
}

void Translator::forget_arguments() {
  for (unsigned r = 1; r <= 5; ++r) set(r, e_.number(0));
}

Status Translator::helper() {
  const auto number = static_cast<uint32_t>(insn().imm);
  if (number == BPF_FUNC_get_smp_processor_id) {
    set(0, e_.field(native_, offsetof(Native, cpu)));
    forget_arguments();
    return {};
  }
  if (number == BPF_FUNC_tail_call) {
    tail_call();
    return {};
  }
  if (look_up()) return {};
  const auto function = find_helper(number);
  if (!function) return at(at_, "a helper that native code can't call", ENOTSUP);
  checked_helper(reinterpret_cast<uintptr_t>(function), number);
  return {};
}

void Translator::checked_helper(uintptr_t function, uint32_t number) {
  const auto* contract = verifier::find_contract(number);
  const auto base = e_.typed(arguments_, e_.type(8));
  // Of what a trace line shows, the contract says nothing
  const bool all = helper_traces(number);
  for (unsigned i = 0; contract && i < contract->arguments.size(); ++i)
    if (all || contract->arguments[i] != verifier::Argument::none)
      e_.set_field(base, (i + 1) * sizeof(uint64_t), reg(i + 1));
  const bool calls_back = helper_calls_back(number);
  if (calls_back) {
    e_.set_field(native_, offsetof(Native, callback_stack), e_.number_of(e_.at(top_, -kFrameBytes)));
    // What the function breaks it notes itself
    e_.set_field(native_, offsetof(Native, fault_at), e_.number(at_, 32));
  }
  const auto run = e_.field(native_, offsetof(Native, run));
  set(0, e_.call(function, e_.i64(), {run, base}));
  forget_arguments();
  leave_when_broken(!calls_back);
}

void Translator::tail_call() {
  const auto none = block();
  const auto other = block();
  const auto native = block();
  const auto interpreted = block();
  const auto entry = e_.call(reinterpret_cast<uintptr_t>(source_.hooks.tail), e_.i64(), {native_, reg(2), reg(3)});
  LLVMBuildCondBr(e_.b, e_.compare(LLVMIntEQ, entry, e_.number(kNoTail)), none, other);
  LLVMPositionBuilderAtEnd(e_.b, other);
  LLVMBuildCondBr(e_.b, e_.compare(LLVMIntEQ, entry, e_.number(kInterpreted)), interpreted, native);
  LLVMPositionBuilderAtEnd(e_.b, interpreted);
  LLVMBuildRet(e_.b, e_.call(reinterpret_cast<uintptr_t>(source_.hooks.interpret), e_.i64(), {native_}));
  LLVMPositionBuilderAtEnd(e_.b, native);
  std::array<Value, 2> arguments{native_, frame()};
  const auto call = LLVMBuildCall2(e_.b, functions_.program_type, e_.as_pointer(entry, functions_.program_type),
                                   arguments.data(), arguments.size(), "");
  LLVMSetInstructionCallConv(call, kTailConvention);
  LLVMSetTailCall(call, 1);
  LLVMBuildRet(e_.b, call);
  LLVMPositionBuilderAtEnd(e_.b, none);
  // r0 is what the kernel leaves there: unknown
  set(0, e_.number(0));
  forget_arguments();
}

void Translator::call_function() {
  const auto target = call_target(at_, insn());
  std::array<Value, 7> arguments{native_, e_.at(top_, -kFrameBytes)};
  for (unsigned r = 1; r <= 5; ++r) arguments[r + 1] = reg(r);
  Value unit = nullptr;
  Value low = nullptr;
  if (needs_.tail_calls) {
    unit = e_.field(native_, offsetof(Native, unit));
    low = e_.field(region(), offsetof(Region, low));
  }
  const auto call =
      LLVMBuildCall2(e_.b, functions_.type, functions_.by_start.at(target), arguments.data(), arguments.size(), "");
  if (needs_.tail_calls) {
    LLVMSetInstructionCallConv(call, kTailConvention);
    back_from(unit, low);
  }
  set(0, call);
  forget_arguments();
  if (needs_.run) leave_when_broken(false);
}

// The function may have ended in another program, with other maps and another stack.
void Translator::back_from(Value unit, Value low) {
  const auto away = block();
  const auto here = block();
  const auto now = e_.field(native_, offsetof(Native, unit));
  LLVMBuildCondBr(e_.b, e_.compare(LLVMIntEQ, now, unit), here, away);
  LLVMPositionBuilderAtEnd(e_.b, away);
  (void)e_.call(reinterpret_cast<uintptr_t>(source_.hooks.back), e_.nothing(), {native_, unit});
  set_stack(low);
  LLVMBuildBr(e_.b, here);
  LLVMPositionBuilderAtEnd(e_.b, here);
}

}  // namespace xbond::bpf::llvm
