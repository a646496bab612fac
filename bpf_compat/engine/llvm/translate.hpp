// One function of a program as LLVM's: r0 … r9 are local variables, which LLVM makes values of; the stack is local
// memory of the program's first function, and what helpers do not see of it becomes values too. The verifier has proven
// every access: none is checked here. Thread: control.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bpf_compat/engine/llvm/code.hpp"
#include "bpf_compat/engine/llvm/emit.hpp"
#include "bpf_compat/engine/llvm/needs.hpp"

namespace xbond::bpf::llvm {

// The functions of the module. The program itself is i64 (Native*, XdpFrame*), all others i64 (Native*, r10, r1 … r5),
// and those that helpers call back i64 (Native*, r10, r1 … r4).
struct Functions {
  LLVMTypeRef program_type;
  LLVMTypeRef type;
  LLVMTypeRef callback_type;
  std::map<uint32_t, LLVMValueRef> by_start;   // by the first instruction
  std::map<uint32_t, LLVMValueRef> callbacks;  // likewise: those whose address the program takes
};

class Translator {
 public:
  Translator(const Source& source, const Needs& needs, Emit emit, const Functions& functions)
      : source_(source), needs_(needs), e_(emit), functions_(functions) {}

  // The instructions [first, end), which are one function.
  Status function(uint32_t first, uint32_t end);

 private:
  [[nodiscard]] const bpf_insn& insn() const { return source_.program->insns[at_]; }
  [[nodiscard]] const verifier::Access& access() const { return source_.facts->access[at_]; }

  // --- translate.cpp
  void begin_function(uint32_t first);
  void make_blocks(uint32_t first, uint32_t end);
  Status one();
  void alu();
  [[nodiscard]] Value arithmetic(Value a, Value c, unsigned bits) const;
  [[nodiscard]] Value division(Value a, Value c, unsigned bits, bool is_signed, bool modulo) const;
  [[nodiscard]] Value byte_order(Value v) const;
  Status jump();
  void conditional();
  [[nodiscard]] LLVMBasicBlockRef block() const { return LLVMAppendBasicBlockInContext(e_.context, self_, ""); }

  // --- translate_memory.cpp
  void wide();
  void load();
  void store();
  void atomic();
  [[nodiscard]] Value frame() const;
  [[nodiscard]] Value context_field() const;
  [[nodiscard]] Value pointer(unsigned base) const;
  [[nodiscard]] std::optional<uint64_t> constant() const;

  // --- translate_call.cpp
  Status helper();
  void checked_helper(uintptr_t function, uint32_t number);
  void tail_call();
  void call_function();
  void back_from(Value unit, Value low);
  void leave_when_broken(bool note);
  [[nodiscard]] Value region() const;
  void set_stack(Value low) const;
  void forget_arguments();

  // --- translate_look_up.cpp
  bool look_up();
  void look_up_index(const BoundMap& map);
  void look_up_hash(const BoundMap& map);
  [[nodiscard]] Value key_part(int64_t offset, unsigned bytes) const;
  [[nodiscard]] Value key_word(uint32_t begin, uint32_t end) const;
  void note_stores(uint32_t first, uint32_t end);

  [[nodiscard]] Value reg(unsigned number) const {
    return number == BPF_REG_10 ? e_.number_of(top_) : LLVMBuildLoad2(e_.b, e_.i64(), registers_[number], "");
  }
  void set(unsigned number, Value value) const { LLVMBuildStore(e_.b, value, registers_[number]); }

  const Source& source_;
  const Needs& needs_;
  Emit e_;
  const Functions& functions_;
  LLVMValueRef self_ = nullptr;
  std::array<Value, 10> registers_{};
  Value arguments_ = nullptr;  // what helpers get: r0 … r5 in memory
  Value native_ = nullptr;
  Value frame_ = nullptr;  // the XdpFrame, in the program itself; null in other functions
  Value top_ = nullptr;    // where the function's own stack frame ends
  // Where a store to a fixed place of the own frame begins or ends (offset from top_), ascending
  std::vector<int64_t> seams_;
  std::vector<LLVMBasicBlockRef> blocks_;  // by instruction - first; null where no jump leads to
  uint32_t first_ = 0;
  uint32_t at_ = 0;
};

}  // namespace xbond::bpf::llvm
