// Instructions by name, and a bench that runs them on one frame. For tests.
#pragma once

#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/object.hpp"

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

// Joins parts; a part may be one instruction or several.
struct Part {
  Part(bpf_insn one) : code{one} {}           // NOLINT(google-explicit-constructor)
  Part(Code many) : code(std::move(many)) {}  // NOLINT(google-explicit-constructor)
  Code code;
};
inline Code join(std::initializer_list<Part> parts) {
  Code all;
  for (const auto& part : parts) all.insert(all.end(), part.code.begin(), part.code.end());
  return all;
}

// An object of test maps, which Object itself only makes from files.
inline MapSpec array_spec(std::string name, uint32_t value_size, uint32_t entries, uint32_t flags = 0) {
  return {.name = std::move(name),
          .type = BPF_MAP_TYPE_ARRAY,
          .key_size = 4,
          .value_size = value_size,
          .max_entries = entries,
          .flags = flags};
}
inline MapSpec percpu_spec(std::string name, uint32_t value_size, uint32_t entries) {
  auto spec = array_spec(std::move(name), value_size, entries);
  spec.type = BPF_MAP_TYPE_PERCPU_ARRAY;
  return spec;
}

// A frame with the kernel's room around it.
class Frame {
 public:
  static constexpr size_t kBuffer = 4096;
  static constexpr size_t kHeadroom = 256 - 40;

  explicit Frame(std::span<const uint8_t> packet) : buffer_(kBuffer, 0xee) {
    std::copy(packet.begin(), packet.end(), buffer_.begin() + kHeadroom);
    auto* data = buffer_.data() + kHeadroom;
    view = {data, data + packet.size(), data, buffer_.data(), buffer_.data() + 4096 - 40 - 320, 7, 3, 0};
  }
  explicit Frame(size_t length = 64) : Frame(counting(length)) {}

  static std::vector<uint8_t> counting(size_t length) {
    std::vector<uint8_t> bytes(length);
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    return bytes;
  }
  [[nodiscard]] std::vector<uint8_t> packet() const { return {view.data, view.data_end}; }

  XdpFrame view;

 private:
  std::vector<uint8_t> buffer_;
};

struct Outcome {
  uint32_t verdict;
  std::string fault;  // empty: none
};

// A program and what it runs on.
class Bench {
 public:
  explicit Bench(Code code, std::vector<MapSpec> maps = {}, uint32_t cpus = 2) {
    ProgramSpec spec{.name = "test", .section = "xdp", .insns = std::move(code)};
    const auto object = Object::of("test.o", std::move(maps), {spec});
    auto loaded = Program::load(object, object.programs().front(), {.engine = EngineKind::automatic, .cpus = cpus});
    if (loaded)
      program = *loaded;
    else
      error = loaded.error();
  }

  Outcome run(Frame& frame, uint32_t cpu = 0) {
    if (!program) return {0xffffffff, "not loaded: " + error.text};
    const auto before = program->faults().count;
    uint32_t verdict = 0;
    program->run_burst({&frame.view, 1}, &verdict, cpu);
    const auto after = program->faults();
    return {verdict, after.count != before ? after.last : ""};
  }
  Outcome run(uint32_t cpu = 0) {
    Frame frame;
    return run(frame, cpu);
  }
  [[nodiscard]] Map& map(size_t index) const { return *program->maps()[index]; }

  std::shared_ptr<Program> program;
  Error error;
};

}  // namespace xbond::bpf::test
