#include "bpf_compat/engine/disassemble.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

// By operation >> 4; empty where it is none.
constexpr std::array<std::string_view, 16> kAlu = {
    "+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "", "%=", "^=", "=", "s>>=", "", "", ""};
constexpr std::array<std::string_view, 16> kJumps = {
    "", "==", ">", ">=", "&", "!=", "s>", "s>=", "", "", "<", "<=", "s<", "s<=", "", ""};

std::string unknown(const bpf_insn& insn) {
  return fmt::format("unknown instruction {:#04x}", insn.code);
}

std::string alu(const bpf_insn& insn) {
  const bool wide = code_class(insn.code) == BPF_ALU64;
  const char kind = wide ? 'r' : 'w';
  const auto op = code_op(insn.code);
  if (op == BPF_NEG) return fmt::format("{0}{1} = -{0}{1}", kind, insn.dst_reg);
  if (op == BPF_END) {
    const auto* order = wide ? "bswap" : from_register(insn.code) ? "be" : "le";
    return fmt::format("r{0} = {1}{2} r{0}", insn.dst_reg, order, insn.imm);
  }
  const auto sign = kAlu[op >> 4];
  if (sign.empty()) return unknown(insn);
  if (op == BPF_MOV && from_register(insn.code) && insn.off != 0)
    return fmt::format("{0}{1} = (s{2}){0}{3}", kind, insn.dst_reg, insn.off, insn.src_reg);
  const auto* is_signed = (op == BPF_DIV || op == BPF_MOD) && insn.off == 1 ? "s" : "";
  if (from_register(insn.code))
    return fmt::format("{0}{1} {2}{3} {0}{4}", kind, insn.dst_reg, is_signed, sign, insn.src_reg);
  return fmt::format("{}{} {}{} {}", kind, insn.dst_reg, is_signed, sign, insn.imm);
}

std::string memory(const bpf_insn& insn, int base, char sign = 'u') {
  return fmt::format("({}{} *)(r{} {:+})", sign, access_bytes(insn.code) * 8, base, insn.off);
}

std::string atomic(const bpf_insn& insn) {
  const auto where = memory(insn, insn.dst_reg);
  const int bits = access_bytes(insn.code) * 8;
  switch (insn.imm) {
    case BPF_CMPXCHG:
      return fmt::format("r0 = atomic{}_cmpxchg({}, r0, r{})", bits, where, insn.src_reg);
    case BPF_XCHG:
      return fmt::format("r{0} = atomic{1}_xchg({2}, r{0})", insn.src_reg, bits, where);
    case kLoadAcquire:
      return fmt::format("r{} = load_acquire({})", insn.dst_reg, memory(insn, insn.src_reg));
    case kStoreRelease:
      return fmt::format("store_release({}, r{})", where, insn.src_reg);
    default:
      break;
  }
  const auto name = [&]() -> std::string_view {
    switch (insn.imm & ~BPF_FETCH) {
      case BPF_ADD:
        return "add";
      case BPF_AND:
        return "and";
      case BPF_OR:
        return "or";
      case BPF_XOR:
        return "xor";
      default:
        return "";
    }
  }();
  if (name.empty()) return unknown(insn);
  if ((insn.imm & BPF_FETCH) != 0)
    return fmt::format("r{0} = atomic{1}_fetch_{2}({3}, r{0})", insn.src_reg, bits, name, where);
  return fmt::format("lock *{} {} r{}", where, kAlu[(insn.imm & 0xf0) >> 4], insn.src_reg);
}

std::string call(const bpf_insn& insn) {
  if (insn.src_reg == BPF_PSEUDO_CALL) return fmt::format("call pc{:+}", insn.imm);
  if (insn.src_reg == BPF_PSEUDO_KFUNC_CALL) return fmt::format("call kernel-function#{}", insn.imm);
  const auto name = helper_name(static_cast<uint32_t>(insn.imm));
  return name.empty() ? fmt::format("call unknown#{}", insn.imm) : fmt::format("call {}#{}", name, insn.imm);
}

std::string jump(const bpf_insn& insn) {
  const bool wide = code_class(insn.code) == BPF_JMP;
  const auto op = code_op(insn.code);
  if (op == BPF_CALL) return call(insn);
  if (op == BPF_EXIT) return "exit";
  if (op == BPF_JA) return fmt::format("{} pc{:+}", wide ? "goto" : "gotol", jump_distance(insn));
  if (op == kJumpConditional) return fmt::format("may_goto pc{:+}", insn.off);
  const auto sign = kJumps[op >> 4];
  if (sign.empty()) return unknown(insn);
  const char kind = wide ? 'r' : 'w';
  if (from_register(insn.code))
    return fmt::format("if {0}{1} {2} {0}{3} goto pc{4:+}", kind, insn.dst_reg, sign, insn.src_reg, insn.off);
  return fmt::format("if {}{} {} {:#x} goto pc{:+}", kind, insn.dst_reg, sign, static_cast<uint32_t>(insn.imm),
                     insn.off);
}

std::string wide_load(std::span<const bpf_insn> code, size_t index, const MapNamer& map_name) {
  const auto& insn = code[index];
  if (insn.code != (BPF_LD | BPF_IMM | BPF_DW) || index + 1 == code.size()) return unknown(insn);
  const auto low = static_cast<uint32_t>(insn.imm);
  const auto high = static_cast<uint32_t>(code[index + 1].imm);
  switch (insn.src_reg) {
    case 0:
      return fmt::format("r{} = {:#x}", insn.dst_reg, uint64_t{high} << 32 | low);
    case BPF_PSEUDO_MAP_IDX:
      return fmt::format("r{} = map[{}]", insn.dst_reg, map_name(low));
    case BPF_PSEUDO_MAP_IDX_VALUE:
      return fmt::format("r{} = map[{}][0]+{}", insn.dst_reg, map_name(low), high);
    case BPF_PSEUDO_FUNC:
      return fmt::format("r{} = subprog[{:+}]", insn.dst_reg, insn.imm);
    default:
      return unknown(insn);
  }
}

std::string text(std::span<const bpf_insn> code, size_t index, const MapNamer& map_name) {
  const auto& insn = code[index];
  switch (code_class(insn.code)) {
    case BPF_LD:
      return wide_load(code, index, map_name);
    case BPF_LDX: {
      const bool extends = code_mode(insn.code) == kModeSignExtend;
      if (!extends && code_mode(insn.code) != BPF_MEM) return unknown(insn);
      return fmt::format("r{} = *{}", insn.dst_reg, memory(insn, insn.src_reg, extends ? 's' : 'u'));
    }
    case BPF_ST:
      return fmt::format("*{} = {}", memory(insn, insn.dst_reg), insn.imm);
    case BPF_STX:
      if (code_mode(insn.code) == BPF_ATOMIC) return atomic(insn);
      return fmt::format("*{} = r{}", memory(insn, insn.dst_reg), insn.src_reg);
    case BPF_JMP:
    case BPF_JMP32:
      return jump(insn);
    default:
      return alu(insn);
  }
}

}  // namespace

std::string disassemble(std::span<const bpf_insn> code, size_t index, const MapNamer& map_name) {
  return fmt::format("({:02x}) {}", code[index].code, text(code, index, map_name));
}

}  // namespace xbond::bpf
