// Arithmetic and jumps, and the walk over a function.
#include "bpf_compat/engine/llvm/translate.hpp"

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/isa.hpp"

namespace xbond::bpf::llvm {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

namespace {

// What stands for the context where nobody asks what it is; any number but 0.
constexpr uint64_t kNoContext = 64;

LLVMIntPredicate predicate(uint8_t op) {
  switch (op) {
    case BPF_JEQ:
      return LLVMIntEQ;
    case BPF_JGT:
      return LLVMIntUGT;
    case BPF_JGE:
      return LLVMIntUGE;
    case BPF_JLT:
      return LLVMIntULT;
    case BPF_JLE:
      return LLVMIntULE;
    case BPF_JSGT:
      return LLVMIntSGT;
    case BPF_JSGE:
      return LLVMIntSGE;
    case BPF_JSLT:
      return LLVMIntSLT;
    case BPF_JSLE:
      return LLVMIntSLE;
    default:  // BPF_JNE, and BPF_JSET of the two operands' common bits
      return LLVMIntNE;
  }
}

}  // namespace

void Translator::make_blocks(uint32_t first, uint32_t end) {
  first_ = first;
  blocks_.assign(end - first, nullptr);
  const auto need = [&](uint32_t at) {
    if (!blocks_[at - first]) blocks_[at - first] = block();
  };
  for (uint32_t i = first; i < end; ++i) {
    const auto& one = source_.program->insns[i];
    if (is_wide(one)) {
      ++i;
    } else if (is_jump(one)) {
      need(jump_target(i, one));
      if (i + 1 < end) need(i + 1);
    } else if (one.code == (BPF_JMP | BPF_EXIT) && i + 1 < end) {
      need(i + 1);
    }
  }
}

void Translator::begin_function(uint32_t first) {
  self_ = functions_.by_start.at(first);
  LLVMPositionBuilderAtEnd(e_.b, block());
  native_ = LLVMGetParam(self_, 0);
  for (auto& one : registers_) one = LLVMBuildAlloca(e_.b, e_.i64(), "");
  arguments_ = LLVMBuildAlloca(e_.b, LLVMArrayType(e_.i64(), 6), "");
  for (unsigned r = 0; r < registers_.size(); ++r) set(r, e_.number(0));
  if (first != 0) {
    frame_ = nullptr;
    top_ = LLVMGetParam(self_, 1);
    for (unsigned r = 1; r <= 5; ++r) set(r, LLVMGetParam(self_, r + 1));
    return;
  }
  frame_ = LLVMGetParam(self_, 1);
  const auto bytes = needs_.frames * static_cast<unsigned>(kFrameBytes);
  const auto stack = LLVMBuildAlloca(e_.b, LLVMArrayType(e_.type(8), bytes), "");
  LLVMSetAlignment(stack, 16);
  top_ = e_.at(LLVMBuildBitCast(e_.b, stack, e_.bytes(), ""), bytes);
  set(BPF_REG_1, needs_.run ? e_.field(native_, offsetof(Native, context)) : e_.number(kNoContext));
  if (needs_.stack_seen) set_stack(e_.number_of(stack));
}

Status Translator::function(uint32_t first, uint32_t end) {
  begin_function(first);
  note_stores(first, end);
  make_blocks(first, end);
  for (at_ = first; at_ < end; ++at_) {
    if (const auto next = blocks_[at_ - first]) {
      if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e_.b))) LLVMBuildBr(e_.b, next);
      LLVMPositionBuilderAtEnd(e_.b, next);
    }
    if (!source_.facts->reached[at_]) {
      // No run comes here: there is no proof of it either
      if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e_.b))) LLVMBuildRet(e_.b, e_.number(XDP_ABORTED));
      if (is_wide(insn())) ++at_;
      continue;
    }
    if (auto status = one(); !status) return status;
  }
  return {};
}

Status Translator::one() {
  switch (code_class(insn().code)) {
    case BPF_LD:
      wide();
      ++at_;
      return {};
    case BPF_ALU:
    case BPF_ALU64:
      alu();
      return {};
    case BPF_LDX:
      load();
      return {};
    case BPF_ST:
      store();
      return {};
    case BPF_STX:
      if (code_mode(insn().code) == BPF_ATOMIC)
        atomic();
      else
        store();
      return {};
    default:
      return jump();
  }
}

Value Translator::division(Value a, Value c, unsigned bits, bool is_signed, bool modulo) const {
  const auto zero = e_.number(0, bits);
  const auto is_zero = e_.compare(LLVMIntEQ, c, zero);
  if (!is_signed) {
    const auto safe = e_.choose(is_zero, e_.number(1, bits), c);
    if (modulo) return e_.choose(is_zero, a, LLVMBuildURem(e_.b, a, safe, ""));
    return e_.choose(is_zero, zero, LLVMBuildUDiv(e_.b, a, safe, ""));
  }
  // By -1 the machine's division would trap on the least number
  const auto minus_one = LLVMConstAllOnes(e_.type(bits));
  const auto is_minus = e_.compare(LLVMIntEQ, c, minus_one);
  const auto safe = e_.choose(LLVMBuildOr(e_.b, is_zero, is_minus, ""), e_.number(1, bits), c);
  if (modulo) return e_.choose(is_zero, a, e_.choose(is_minus, zero, LLVMBuildSRem(e_.b, a, safe, "")));
  const auto negative = LLVMBuildSub(e_.b, zero, a, "");
  return e_.choose(is_zero, zero, e_.choose(is_minus, negative, LLVMBuildSDiv(e_.b, a, safe, "")));
}

Value Translator::arithmetic(Value a, Value c, unsigned bits) const {
  const auto count = [&] { return LLVMBuildAnd(e_.b, c, e_.number(bits - 1, bits), ""); };
  switch (code_op(insn().code)) {
    case BPF_ADD:
      return e_.add(a, c);
    case BPF_SUB:
      return LLVMBuildSub(e_.b, a, c, "");
    case BPF_MUL:
      return LLVMBuildMul(e_.b, a, c, "");
    case BPF_DIV:
      return division(a, c, bits, insn().off == 1, false);
    case BPF_MOD:
      return division(a, c, bits, insn().off == 1, true);
    case BPF_OR:
      return LLVMBuildOr(e_.b, a, c, "");
    case BPF_AND:
      return LLVMBuildAnd(e_.b, a, c, "");
    case BPF_XOR:
      return LLVMBuildXor(e_.b, a, c, "");
    case BPF_LSH:
      return LLVMBuildShl(e_.b, a, count(), "");
    case BPF_RSH:
      return LLVMBuildLShr(e_.b, a, count(), "");
    case BPF_ARSH:
      return LLVMBuildAShr(e_.b, a, count(), "");
    case BPF_NEG:
      return LLVMBuildSub(e_.b, e_.number(0, bits), a, "");
    default: {  // BPF_MOV, which may extend the sign of a part
      const auto from = static_cast<unsigned>(insn().off);
      if (from == 0) return c;
      return LLVMBuildSExt(e_.b, e_.cut(c, from), e_.type(bits), "");
    }
  }
}

// On this little-endian machine "to little" only cuts, and "to big" is a swap as bswap is.
Value Translator::byte_order(Value v) const {
  const auto bits = static_cast<unsigned>(insn().imm);
  const bool swap = code_class(insn().code) == BPF_ALU64 || from_register(insn().code);
  auto part = e_.cut(v, bits);
  if (swap) {
    auto type = e_.type(bits);
    const auto id = LLVMLookupIntrinsicID("llvm.bswap", 10);
    const auto function = LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(self_), id, &type, 1);
    part = LLVMBuildCall2(e_.b, LLVMIntrinsicGetType(e_.context, id, &type, 1), function, &part, 1, "");
  }
  return bits == 64 ? part : e_.widen(part);
}

void Translator::alu() {
  const auto dst = insn().dst_reg;
  if (code_op(insn().code) == BPF_END) return set(dst, byte_order(reg(dst)));
  const unsigned bits = code_class(insn().code) == BPF_ALU64 ? 64 : 32;
  const auto a = e_.cut(reg(dst), bits);
  const auto c = from_register(insn().code) ? e_.cut(reg(insn().src_reg), bits)
                                            : e_.number(static_cast<uint64_t>(int64_t{insn().imm}), bits);
  const auto result = arithmetic(a, c, bits);
  set(dst, bits == 64 ? result : e_.widen(result));
}

void Translator::conditional() {
  const auto op = code_op(insn().code);
  const unsigned bits = code_class(insn().code) == BPF_JMP ? 64 : 32;
  auto a = e_.cut(reg(insn().dst_reg), bits);
  auto c = from_register(insn().code) ? e_.cut(reg(insn().src_reg), bits)
                                      : e_.number(static_cast<uint64_t>(int64_t{insn().imm}), bits);
  if (op == BPF_JSET) {
    a = LLVMBuildAnd(e_.b, a, c, "");
    c = e_.number(0, bits);
  }
  LLVMBuildCondBr(e_.b, e_.compare(predicate(op), a, c), blocks_[jump_target(at_, insn()) - first_],
                  blocks_[at_ + 1 - first_]);
}

Status Translator::jump() {
  const auto op = code_op(insn().code);
  if (op == BPF_EXIT) {
    LLVMBuildRet(e_.b, reg(0));
  } else if (op == BPF_CALL) {
    if (!is_local_call(insn())) return helper();
    call_function();
  } else if (op == BPF_JA) {
    LLVMBuildBr(e_.b, blocks_[jump_target(at_, insn()) - first_]);
  } else {
    conditional();
  }
  return {};
}

}  // namespace xbond::bpf::llvm
