// Loads, stores, atomics, and 64-bit constants.
#include <cstddef>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/llvm/translate.hpp"
#include "bpf_compat/object/constant.hpp"

namespace xbond::bpf::llvm {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file
using verifier::Memory;

void Translator::wide() {
  const auto high = static_cast<uint32_t>(source_.program->insns[at_ + 1].imm);
  const auto low = static_cast<uint32_t>(insn().imm);
  switch (insn().src_reg) {
    case BPF_PSEUDO_MAP_IDX:
      return set(insn().dst_reg, e_.number(reinterpret_cast<uintptr_t>(source_.bound[low])));
    case BPF_PSEUDO_MAP_IDX_VALUE:
      return set(insn().dst_reg, e_.number(reinterpret_cast<uintptr_t>(source_.bound[low]->base) + high));
    case BPF_PSEUDO_FUNC: {
      const auto target = call_target(at_, insn());
      return set(insn().dst_reg, e_.number_of(functions_.callbacks.at(target)));
    }
    default:
      return set(insn().dst_reg, e_.number(uint64_t{high} << 32 | low));
  }
}

// Where the instruction's memory is, as a pointer to bytes. A fixed place of the function's own frame is named as such,
// so that LLVM sees what else can't be there.
Value Translator::pointer(unsigned base) const {
  const auto& to = access();
  if (to.memory == Memory::stack && to.own_frame && to.fixed && to.low == to.high) return e_.at(top_, to.low);
  return e_.as_pointer(e_.add(reg(base), e_.signed_number(insn().off)), e_.type(8));
}

// The XdpFrame: at hand in the program itself, other functions fetch it.
Value Translator::frame() const {
  return frame_ ? frame_ : e_.as_pointer(e_.field(native_, offsetof(Native, frame)), e_.type(8));
}

// A field of struct xdp_md as the kernel loads it: positions are pointers, 64 bits wide.
Value Translator::context_field() const {
  const auto from = frame();
  switch (insn().off) {
    case offsetof(xdp_md, data):
      return e_.field(from, offsetof(XdpFrame, data));
    case offsetof(xdp_md, data_end):
      return e_.field(from, offsetof(XdpFrame, data_end));
    case offsetof(xdp_md, data_meta):
      return e_.field(from, offsetof(XdpFrame, data_meta));
    case offsetof(xdp_md, ingress_ifindex):
      return e_.widen(e_.field(from, offsetof(XdpFrame, ingress_ifindex), 32));
    case offsetof(xdp_md, rx_queue_index):
      return e_.widen(e_.field(from, offsetof(XdpFrame, rx_queue_index), 32));
    default:
      return e_.widen(e_.field(from, offsetof(XdpFrame, egress_ifindex), 32));
  }
}

// Bytes of a read-only data section are what the object says: branches on them fold away.
std::optional<uint64_t> Translator::constant() const {
  const auto& from = access();
  if (from.memory != Memory::map_value || !from.fixed || from.low != from.high) return std::nullopt;
  return constant_at(source_.specs[from.map], from.low, static_cast<size_t>(access_bytes(insn().code)));
}

void Translator::load() {
  const auto memory = access().memory;
  if (memory == Memory::context) return set(insn().dst_reg, context_field());
  const auto bits = static_cast<unsigned>(access_bytes(insn().code)) * 8;
  const auto known = constant();
  auto value = known ? e_.number(*known, bits) : e_.load(pointer(insn().src_reg), bits);
  // Others may write there meanwhile: whatever was read is one number from here on
  if (memory == Memory::map_value || memory == Memory::mixed) value = LLVMBuildFreeze(e_.b, value, "");
  if (bits != 64) value = code_mode(insn().code) == kModeSignExtend ? e_.extend(value) : e_.widen(value);
  set(insn().dst_reg, value);
}

void Translator::store() {
  const auto bits = static_cast<unsigned>(access_bytes(insn().code)) * 8;
  const auto value = code_class(insn().code) == BPF_ST ? e_.number(static_cast<uint64_t>(int64_t{insn().imm}), bits)
                                                       : e_.cut(reg(insn().src_reg), bits);
  e_.store(pointer(insn().dst_reg), value);
}

namespace {

LLVMAtomicRMWBinOp operation(int32_t imm) {
  switch (imm & ~BPF_FETCH) {
    case BPF_ADD:
      return LLVMAtomicRMWBinOpAdd;
    case BPF_AND:
      return LLVMAtomicRMWBinOpAnd;
    case BPF_OR:
      return LLVMAtomicRMWBinOpOr;
    case BPF_XOR:
      return LLVMAtomicRMWBinOpXor;
    default:
      return LLVMAtomicRMWBinOpXchg;
  }
}

}  // namespace

void Translator::atomic() {
  const auto bytes = static_cast<unsigned>(access_bytes(insn().code));
  const unsigned bits = bytes * 8;
  const auto widened = [&](Value v) { return bits == 64 ? v : e_.widen(v); };
  const bool is_load = insn().imm == kLoadAcquire;
  const auto cell = e_.typed(pointer(is_load ? insn().src_reg : insn().dst_reg), e_.type(bits));
  constexpr auto kOrder = LLVMAtomicOrderingSequentiallyConsistent;
  if (is_load) {
    const auto value = LLVMBuildLoad2(e_.b, e_.type(bits), cell, "");
    LLVMSetOrdering(value, LLVMAtomicOrderingAcquire);
    LLVMSetAlignment(value, bytes);
    return set(insn().dst_reg, widened(value));
  }
  const auto operand = e_.cut(reg(insn().src_reg), bits);
  if (insn().imm == kStoreRelease) {
    const auto made = LLVMBuildStore(e_.b, operand, cell);
    LLVMSetOrdering(made, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(made, bytes);
    return;
  }
  if (insn().imm == BPF_CMPXCHG) {
    const auto both = LLVMBuildAtomicCmpXchg(e_.b, cell, e_.cut(reg(0), bits), operand, kOrder, kOrder, 0);
    return set(0, widened(LLVMBuildExtractValue(e_.b, both, 0, "")));
  }
  const auto before = LLVMBuildAtomicRMW(e_.b, operation(insn().imm), cell, operand, kOrder, 0);
  if ((insn().imm & BPF_FETCH) != 0) set(insn().src_reg, widened(before));
}

}  // namespace xbond::bpf::llvm
