// Instruction fields that this system's linux/bpf.h does not name yet (instruction set v4), and shorthands.
#pragma once

#include <linux/bpf.h>

#include <cstdint>

namespace xbond::bpf::isa {

inline constexpr uint8_t kModeSignExtend = 0x80;   // BPF_MEMSX
inline constexpr uint8_t kJumpConditional = 0xe0;  // BPF_JCOND: may_goto, not of the instruction set proper
inline constexpr int32_t kLoadAcquire = 0x100;
inline constexpr int32_t kStoreRelease = 0x110;

// The helper number of calls that stand where a CO-RE relocation found nothing, or a weak kernel function is not there
// (libbpf's number): such code is for other kernels, and no run may reach it.
inline constexpr int32_t kUnresolvedCall = 0xbad2310;

inline constexpr uint8_t kFramePointer = BPF_REG_10;
inline constexpr int kFrameBytes = 512;
inline constexpr uint32_t kMaxFrames = 8;
inline constexpr uint32_t kMaxTailCalls = 33;
inline constexpr uint32_t kMaxInstructions = 1'000'000;

constexpr uint8_t code_class(uint8_t code) {
  return code & 0x07;
}
constexpr uint8_t code_op(uint8_t code) {
  return code & 0xf0;
}
constexpr uint8_t code_mode(uint8_t code) {
  return code & 0xe0;
}
constexpr uint8_t code_size(uint8_t code) {
  return code & 0x18;
}
constexpr bool from_register(uint8_t code) {
  return (code & 0x08) != 0;
}
constexpr int access_bytes(uint8_t code) {
  switch (code_size(code)) {
    case BPF_B:
      return 1;
    case BPF_H:
      return 2;
    case BPF_W:
      return 4;
    default:
      return 8;
  }
}
constexpr bool is_wide(const bpf_insn& insn) {
  return insn.code == (BPF_LD | BPF_IMM | BPF_DW);
}
constexpr bool is_local_call(const bpf_insn& insn) {
  return insn.code == (BPF_JMP | BPF_CALL) && insn.src_reg == BPF_PSEUDO_CALL;
}
constexpr bool is_jump(const bpf_insn& insn) {
  const auto cls = code_class(insn.code);
  return (cls == BPF_JMP || cls == BPF_JMP32) && code_op(insn.code) != BPF_CALL && code_op(insn.code) != BPF_EXIT;
}
// Distance from the next instruction to a jump's target, in instruction slots.
constexpr int64_t jump_distance(const bpf_insn& insn) {
  return insn.code == (BPF_JMP32 | BPF_JA) ? insn.imm : insn.off;
}
// Where a jump that stands `at` leads, in code that check_code() has accepted.
constexpr uint32_t jump_target(uint32_t at, const bpf_insn& insn) {
  return static_cast<uint32_t>(int64_t{at} + 1 + jump_distance(insn));
}
// Likewise: the first instruction of the function that a local call, or an address of a function, names.
constexpr uint32_t call_target(uint32_t at, const bpf_insn& insn) {
  return static_cast<uint32_t>(int64_t{at} + 1 + insn.imm);
}

}  // namespace xbond::bpf::isa
