#include <fmt/format.h>

#include <array>
#include <cstring>

#include "bpf_compat/engine/program.hpp"
#include "tests/conformance/bpf/parts.hpp"
#include "tests/conformance/bpf/random.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::conformance {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the instructions' names

constexpr size_t kPairs = 160;

// Packets that hold two operands for each step; a program writes its result over the first.
std::vector<uint8_t> operands() {
  Random random(3);
  std::vector<uint8_t> packet(kPairs * 16);
  for (size_t i = 0; i < kPairs * 2; ++i) {
    const auto value = random.edge();
    std::memcpy(packet.data() + i * 8, &value, 8);
  }
  return packet;
}

// One comparison: load both, run both on `packet`, compare all.
class Side {
 public:
  Side(EngineKind engine, uint32_t cpu) : engine_(engine), cpu_(cpu) {}

  void compare(Tally& tally, const std::string& name, const Code& code, const std::vector<uint8_t>& packet) const {
    std::string why;
    const auto kernel = load_program(code, why);
    Bench ours(code, {}, cpu_ + 1, engine_);
    ++tally.programs;
    if (!ours.program) return differs(tally, fmt::format("{}: ours refuses: {}", name, ours.error.text));
    if (!kernel) return differs(tally, fmt::format("{}: the kernel refuses: {}", name, why));
    ++tally.runs;
    const auto theirs = test_run(kernel.get(), packet);
    Frame frame{std::span<const uint8_t>(packet)};
    const auto outcome = ours.run(frame, cpu_);
    if (theirs.error != 0) return differs(tally, fmt::format("{}: test run: {}", name, std::strerror(theirs.error)));
    if (!outcome.fault.empty()) return differs(tally, fmt::format("{}: {}", name, outcome.fault));
    if (theirs.verdict != outcome.verdict)
      differs(tally, fmt::format("{}: kernel returns {:#x}, ours {:#x}", name, theirs.verdict, outcome.verdict));
    const auto own = frame.packet();
    for (size_t i = 0; i + 8 <= std::min(own.size(), theirs.packet.size()); i += 8) {
      if (std::memcmp(own.data() + i, theirs.packet.data() + i, 8) == 0) continue;
      uint64_t a = 0;
      uint64_t b = 0;
      uint64_t in = 0;
      std::memcpy(&a, theirs.packet.data() + i, 8);
      std::memcpy(&b, own.data() + i, 8);
      std::memcpy(&in, packet.data() + i, 8);
      differs(tally, fmt::format("{} at {} (in {:#x}): kernel {:#x}, ours {:#x}", name, i, in, a, b));
    }
  }

 private:
  EngineKind engine_;
  uint32_t cpu_;
};

// r1 = a, r2 = b, `middle`, a = r1; for each pair. r9 is the packet, checked once.
Code over_pairs(const Code& middle) {
  const auto bytes = static_cast<int>(kPairs * 16);
  Code code = join({load(BPF_W, 9, 1, 0), load(BPF_W, 3, 1, 4), movr(4, 9), alu(BPF_ADD, 4, bytes),
                    jumpr(BPF_JLE, 4, 3, 2), mov(0, XDP_DROP), leave()});
  for (int i = 0; i < static_cast<int>(kPairs); ++i) {
    const auto step =
        join({load(BPF_DW, 1, 9, i * 16), load(BPF_DW, 2, 9, i * 16 + 8), middle, store(BPF_DW, 9, i * 16, 1)});
    code.insert(code.end(), step.begin(), step.end());
  }
  code.push_back(mov(0, XDP_PASS));
  code.push_back(leave());
  return code;
}

struct Named {
  std::string name;
  int op;
  int off = 0;
  bool v4 = false;
};

const std::vector<Named>& alu_operations() {
  static const std::vector<Named> kAll = {
      {"add", BPF_ADD}, {"sub", BPF_SUB},   {"mul", BPF_MUL},           {"div", BPF_DIV},          {"mod", BPF_MOD},
      {"or", BPF_OR},   {"and", BPF_AND},   {"xor", BPF_XOR},           {"lsh", BPF_LSH},          {"rsh", BPF_RSH},
      {"mov", BPF_MOV}, {"arsh", BPF_ARSH}, {"sdiv", BPF_DIV, 1, true}, {"smod", BPF_MOD, 1, true}};
  return kAll;
}

const std::vector<Named>& jumps() {
  static const std::vector<Named> kAll = {{"jeq", BPF_JEQ},   {"jne", BPF_JNE},   {"jgt", BPF_JGT},
                                          {"jge", BPF_JGE},   {"jlt", BPF_JLT},   {"jle", BPF_JLE},
                                          {"jset", BPF_JSET}, {"jsgt", BPF_JSGT}, {"jsge", BPF_JSGE},
                                          {"jslt", BPF_JSLT}, {"jsle", BPF_JSLE}};
  return kAll;
}

constexpr std::array<int32_t, 12> kConstants = {0, 1, 2, 7, 31, 63, -1, -2, 255, 65536, INT32_MIN, INT32_MAX};

bool has_v4() {
  return at_least(6, 6);
}
bool has_acquire() {
  return at_least(6, 15);
}

void compare_alu(Tally& tally, const Side& side) {
  const auto packet = operands();
  for (const auto& op : alu_operations()) {
    if (op.v4 && !has_v4()) continue;
    for (const bool narrow : {false, true}) {
      const int cls = narrow ? BPF_ALU : BPF_ALU64;
      const auto name = op.name + (narrow ? "32" : "64");
      side.compare(tally, name, over_pairs({insn(cls | op.op | BPF_X, 1, 2, op.off, 0)}), packet);
      const bool shift = op.op == BPF_LSH || op.op == BPF_RSH || op.op == BPF_ARSH;
      for (const auto k : kConstants) {
        if ((op.op == BPF_DIV || op.op == BPF_MOD) && k == 0) continue;
        if (shift && (k < 0 || k >= (narrow ? 32 : 64))) continue;
        side.compare(tally, fmt::format("{} constant {}", name, k),
                     over_pairs({insn(cls | op.op | BPF_K, 1, 0, op.off, k)}), packet);
      }
    }
  }
  for (const auto width : {16, 32, 64}) {
    side.compare(tally, fmt::format("le{}", width), over_pairs({insn(BPF_ALU | BPF_END | BPF_TO_LE, 1, 0, 0, width)}),
                 packet);
    side.compare(tally, fmt::format("be{}", width), over_pairs({insn(BPF_ALU | BPF_END | BPF_TO_BE, 1, 0, 0, width)}),
                 packet);
    if (!has_v4()) continue;
    side.compare(tally, fmt::format("bswap{}", width), over_pairs({insn(BPF_ALU64 | BPF_END, 1, 0, 0, width)}), packet);
  }
  for (const bool narrow : {false, true}) {
    const int cls = narrow ? BPF_ALU : BPF_ALU64;
    side.compare(tally, narrow ? "neg32" : "neg64", over_pairs({insn(cls | BPF_NEG, 1, 0, 0, 0)}), packet);
    for (const auto from : {8, 16, 32})
      if (has_v4() && (!narrow || from != 32))
        side.compare(tally, fmt::format("movsx{} from {}", narrow ? 32 : 64, from),
                     over_pairs({insn(cls | BPF_MOV | BPF_X, 1, 2, from, 0)}), packet);
  }
}

void compare_jumps(Tally& tally, const Side& side) {
  const auto packet = operands();
  for (const auto& op : jumps()) {
    for (const bool narrow : {false, true}) {
      const int cls = narrow ? BPF_JMP32 : BPF_JMP;
      const auto name = op.name + (narrow ? "32" : "64");
      const auto taken = [&](bpf_insn branch) { return over_pairs({mov(3, 1), branch, mov(3, 0), movr(1, 3)}); };
      side.compare(tally, name, taken(insn(cls | op.op | BPF_X, 1, 2, 1, 0)), packet);
      for (const auto k : kConstants)
        side.compare(tally, fmt::format("{} constant {}", name, k), taken(insn(cls | op.op | BPF_K, 1, 0, 1, k)),
                     packet);
    }
  }
  if (!has_v4()) return;
  // Reached both ways, as the kernel wants of every instruction
  side.compare(
      tally, "gotol",
      over_pairs({mov(3, 5), jump(BPF_JEQ, 1, 0, 1), insn(BPF_JMP32 | BPF_JA, 0, 0, 0, 1), mov(3, 6), movr(1, 3)}),
      packet);
}

void compare_memory(Tally& tally, const Side& side) {
  const auto packet = operands();
  for (const auto size : {BPF_B, BPF_H, BPF_W, BPF_DW}) {
    // By the stack, so that widths and offsets meet
    side.compare(tally, fmt::format("load and store {}", size),
                 over_pairs({store(BPF_DW, 10, -8, 2), store(size, 10, -8, 1), load(BPF_DW, 1, 10, -8)}), packet);
    side.compare(tally, fmt::format("store constant {}", size),
                 over_pairs({store(BPF_DW, 10, -8, 1), store_imm(size, 10, -8, -2), load(BPF_DW, 1, 10, -8)}), packet);
    side.compare(tally, fmt::format("load {}", size), over_pairs({store(BPF_DW, 10, -8, 1), load(size, 1, 10, -8)}),
                 packet);
    if (size != BPF_DW && has_v4())
      side.compare(tally, fmt::format("load sign-extended {}", size),
                   over_pairs({store(BPF_DW, 10, -8, 1), insn(BPF_LDX | size | 0x80, 1, 10, -8, 0)}), packet);
    if (!has_acquire()) continue;
    side.compare(tally, fmt::format("load-acquire {}", size),
                 over_pairs({store(BPF_DW, 10, -8, 1), insn(BPF_STX | size | BPF_ATOMIC, 1, 10, -8, 0x100)}), packet);
    side.compare(tally, fmt::format("store-release {}", size),
                 over_pairs({store(BPF_DW, 10, -8, 2), atomic(size, 10, -8, 1, 0x110), load(BPF_DW, 1, 10, -8)}),
                 packet);
  }
  for (const auto size : {BPF_W, BPF_DW}) {
    for (const auto op : {BPF_ADD, BPF_AND, BPF_OR, BPF_XOR, BPF_ADD | BPF_FETCH, BPF_AND | BPF_FETCH,
                          BPF_OR | BPF_FETCH, BPF_XOR | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG}) {
      // Memory and register afterwards, folded into one
      side.compare(
          tally, fmt::format("atomic {:#x} size {}", op, size),
          over_pairs({movr(0, 1), store(BPF_DW, 10, -8, 1), atomic(size, 10, -8, 2, op), load(BPF_DW, 1, 10, -8),
                      alu(BPF_MUL, 2, 3), alur(BPF_ADD, 1, 2), alu(BPF_MUL, 0, 5), alur(BPF_XOR, 1, 0)}),
          packet);
      side.compare(
          tally, fmt::format("atomic {:#x} size {}, unlike r0", op, size),
          over_pairs({mov(0, 7), store(BPF_DW, 10, -8, 1), atomic(size, 10, -8, 2, op), load(BPF_DW, 1, 10, -8),
                      alu(BPF_MUL, 2, 3), alur(BPF_ADD, 1, 2), alu(BPF_MUL, 0, 5), alur(BPF_XOR, 1, 0)}),
          packet);
    }
  }
}

// Any instruction on scalars in r0 … r8, jumps forward only.
bpf_insn random_insn(Random& random, int left) {
  const int dst = static_cast<int>(random.below(9));
  const int src = static_cast<int>(random.below(9));
  const bool narrow = random.chance(2);
  if (left > 3 && random.chance(8)) {
    const auto& op = jumps()[random.below(jumps().size())];
    const int cls = narrow ? BPF_JMP32 : BPF_JMP;
    const int off = static_cast<int>(random.below(3)) + 1;
    return random.chance(2) ? insn(cls | op.op | BPF_X, dst, src, off, 0)
                            : insn(cls | op.op | BPF_K, dst, 0, off, static_cast<int32_t>(random.edge()));
  }
  const int cls = narrow ? BPF_ALU : BPF_ALU64;
  if (random.chance(12)) return insn(cls | BPF_NEG, dst, 0, 0, 0);
  if (random.chance(12)) {
    constexpr std::array<int, 3> kWidths = {16, 32, 64};
    return insn(narrow ? BPF_ALU | BPF_END | BPF_TO_BE : BPF_ALU64 | BPF_END, dst, 0, 0, kWidths[random.below(3)]);
  }
  if (random.chance(12)) return insn(cls | BPF_MOV | BPF_X, dst, src, random.chance(2) ? 8 : 16, 0);
  const auto& op = alu_operations()[random.below(alu_operations().size())];
  if (random.chance(2)) return insn(cls | op.op | BPF_X, dst, src, op.off, 0);
  auto k = static_cast<int32_t>(random.edge());
  if (op.op == BPF_LSH || op.op == BPF_RSH || op.op == BPF_ARSH) k &= narrow ? 31 : 63;
  if ((op.op == BPF_DIV || op.op == BPF_MOD) && k == 0) k = 3;
  return insn(cls | op.op | BPF_K, dst, 0, op.off, k);
}

void compare_random(Tally& tally, const Side& side) {
  constexpr int kPrograms = 600;
  constexpr int kLength = 60;
  for (int n = 0; n < kPrograms; ++n) {
    Random random(static_cast<uint64_t>(n) + 1000);
    Code code = join({load(BPF_W, 9, 1, 0), load(BPF_W, 3, 1, 4), movr(4, 9), alu(BPF_ADD, 4, 72),
                      jumpr(BPF_JLE, 4, 3, 2), mov(0, XDP_DROP), leave()});
    for (int reg = 0; reg < 9; ++reg) code.push_back(load(BPF_DW, reg, 9, reg * 8));
    for (int i = 0; i < kLength; ++i) code.push_back(random_insn(random, kLength - i));
    for (int reg = 0; reg < 9; ++reg) code.push_back(store(BPF_DW, 9, reg * 8, reg));
    code.push_back(leave());
    std::vector<uint8_t> packet(72);
    for (size_t i = 0; i < 9; ++i) {
      const auto value = random.edge();
      std::memcpy(packet.data() + i * 8, &value, 8);
    }
    side.compare(tally, fmt::format("random program {}", n), code, packet);
  }
}

}  // namespace

// Versions of the instruction set that the kernel lacks are left out, and said so.
void compare_instructions(std::vector<Tally>& table, uint32_t cpu) {
  for (const auto engine : engines()) {
    const Side side(engine, cpu);
    const auto part = [&](std::string_view what, auto&& compare) {
      Tally tally{.name = fmt::format("{}: {}", engine_name(engine), what)};
      compare(tally, side);
      if (!has_v4()) tally.note = "without instruction set v4, which this kernel lacks";
      table.push_back(tally);
    };
    part("arithmetic", compare_alu);
    part("jumps", compare_jumps);
    part("memory", compare_memory);
    if (has_v4()) part("random instructions", compare_random);
  }
}

}  // namespace xbond::bpf::conformance
