// Instructions by name. For tests.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

namespace xbond::bpf::test {

using Code = std::vector<bpf_insn>;

constexpr bpf_insn insn(int code, int dst, int src, int off, int64_t imm) {
  return bpf_insn{.code = static_cast<uint8_t>(code),
                  .dst_reg = static_cast<uint8_t>(dst),
                  .src_reg = static_cast<uint8_t>(src),
                  .off = static_cast<int16_t>(off),
                  .imm = static_cast<int32_t>(imm)};
}
constexpr bpf_insn mov(int dst, int64_t imm) {
  return insn(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}
constexpr bpf_insn movr(int dst, int src) {
  return insn(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}
constexpr bpf_insn alu(int op, int dst, int64_t imm, int off = 0) {
  return insn(BPF_ALU64 | op | BPF_K, dst, 0, off, imm);
}
constexpr bpf_insn alur(int op, int dst, int src, int off = 0) {
  return insn(BPF_ALU64 | op | BPF_X, dst, src, off, 0);
}
constexpr bpf_insn load(int size, int dst, int src, int off) {
  return insn(BPF_LDX | size | BPF_MEM, dst, src, off, 0);
}
constexpr bpf_insn store(int size, int dst, int off, int src) {
  return insn(BPF_STX | size | BPF_MEM, dst, src, off, 0);
}
constexpr bpf_insn store_imm(int size, int dst, int off, int64_t imm) {
  return insn(BPF_ST | size | BPF_MEM, dst, 0, off, imm);
}
constexpr bpf_insn atomic(int size, int dst, int off, int src, int op) {
  return insn(BPF_STX | size | BPF_ATOMIC, dst, src, off, op);
}
constexpr bpf_insn jump(int op, int dst, int64_t imm, int off) {
  return insn(BPF_JMP | op | BPF_K, dst, 0, off, imm);
}
constexpr bpf_insn jumpr(int op, int dst, int src, int off) {
  return insn(BPF_JMP | op | BPF_X, dst, src, off, 0);
}
constexpr bpf_insn go(int off) {
  return insn(BPF_JMP | BPF_JA, 0, 0, off, 0);
}
constexpr bpf_insn call(int helper) {
  return insn(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}
constexpr bpf_insn call_local(int distance) {
  return insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, distance);
}
constexpr bpf_insn leave() {
  return insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}
// Two slots each
inline Code wide(int dst, uint64_t value, int src = 0) {
  return {insn(BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, static_cast<int32_t>(static_cast<uint32_t>(value))),
          insn(0, 0, 0, 0, static_cast<int32_t>(static_cast<uint32_t>(value >> 32)))};
}
inline Code map_pointer(int dst, uint32_t index) {
  return wide(dst, index, BPF_PSEUDO_MAP_IDX);
}
inline Code map_value(int dst, uint32_t index, uint32_t offset) {
  return wide(dst, uint64_t{offset} << 32 | index, BPF_PSEUDO_MAP_IDX_VALUE);
}

}  // namespace xbond::bpf::test
