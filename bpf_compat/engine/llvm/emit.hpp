// Shorthands over LLVM's builder: 64-bit numbers, and memory by its address. Thread: control.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "bpf_compat/engine/llvm/handles.hpp"

namespace xbond::bpf::llvm {

using Value = LLVMValueRef;

// LLVM's number for the calling convention that promises tail calls (CallingConv::Tail): its C interface names none.
inline constexpr unsigned kTailConvention = 18;

struct Emit {
  LLVMContextRef context;
  LLVMBuilderRef b;

  [[nodiscard]] LLVMTypeRef type(unsigned bits) const { return LLVMIntTypeInContext(context, bits); }
  [[nodiscard]] LLVMTypeRef i64() const { return type(64); }
  [[nodiscard]] LLVMTypeRef bytes() const { return LLVMPointerType(type(8), 0); }
  [[nodiscard]] LLVMTypeRef nothing() const { return LLVMVoidTypeInContext(context); }
  [[nodiscard]] Value number(uint64_t value, unsigned bits = 64) const { return LLVMConstInt(type(bits), value, 0); }
  [[nodiscard]] Value signed_number(int64_t value) const { return number(static_cast<uint64_t>(value)); }

  [[nodiscard]] Value add(Value a, Value c) const { return LLVMBuildAdd(b, a, c, ""); }
  [[nodiscard]] Value multiply(Value a, uint64_t c) const { return LLVMBuildMul(b, a, number(c), ""); }
  [[nodiscard]] Value cut(Value v, unsigned bits) const {
    return bits == 64 ? v : LLVMBuildTrunc(b, v, type(bits), "");
  }
  [[nodiscard]] Value widen(Value v) const { return LLVMBuildZExt(b, v, i64(), ""); }
  [[nodiscard]] Value extend(Value v) const { return LLVMBuildSExt(b, v, i64(), ""); }
  [[nodiscard]] Value compare(LLVMIntPredicate how, Value a, Value c) const { return LLVMBuildICmp(b, how, a, c, ""); }
  [[nodiscard]] Value choose(Value condition, Value yes, Value no) const {
    return LLVMBuildSelect(b, condition, yes, no, "");
  }
  [[nodiscard]] Value number_of(Value pointer) const { return LLVMBuildPtrToInt(b, pointer, i64(), ""); }
  [[nodiscard]] Value as_pointer(Value address, LLVMTypeRef to) const {
    return LLVMBuildIntToPtr(b, address, LLVMPointerType(to, 0), "");
  }
  // `pointer` is one of bytes.
  [[nodiscard]] Value at(Value pointer, int64_t offset) const {
    auto index = signed_number(offset);
    return LLVMBuildGEP2(b, type(8), pointer, &index, 1, "");
  }
  [[nodiscard]] Value typed(Value pointer, LLVMTypeRef to) const {
    return LLVMBuildBitCast(b, pointer, LLVMPointerType(to, 0), "");
  }
  // Programs align nothing but atomics.
  [[nodiscard]] Value load(Value pointer, unsigned bits) const {
    const auto value = LLVMBuildLoad2(b, type(bits), typed(pointer, type(bits)), "");
    LLVMSetAlignment(value, 1);
    return value;
  }
  void store(Value pointer, Value value) const {
    LLVMSetAlignment(LLVMBuildStore(b, value, typed(pointer, LLVMTypeOf(value))), 1);
  }
  // A field of a structure of ours.
  [[nodiscard]] Value field(Value base, size_t offset, unsigned bits = 64) const {
    return load(at(base, static_cast<int64_t>(offset)), bits);
  }
  void set_field(Value base, size_t offset, Value value) const { store(at(base, static_cast<int64_t>(offset)), value); }

  // A function of ours, at its address in this process.
  [[nodiscard]] Value call(uintptr_t function, LLVMTypeRef returns, std::initializer_list<Value> arguments) const {
    std::array<LLVMTypeRef, 8> types{};
    std::array<Value, 8> values{};
    unsigned count = 0;
    for (const auto argument : arguments) {
      types[count] = LLVMTypeOf(argument);
      values[count++] = argument;
    }
    const auto type_of_function = LLVMFunctionType(returns, types.data(), count, 0);
    return LLVMBuildCall2(b, type_of_function, as_pointer(number(function), type_of_function), values.data(), count,
                          "");
  }
};

}  // namespace xbond::bpf::llvm
