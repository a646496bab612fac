// Every arithmetic and jump instruction over edge values, in each engine, against a model written from the kernel's
// documentation (Documentation/bpf/standardization) and not from the interpreter.
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

constexpr std::array<uint64_t, 18> kValues = {0,
                                              1,
                                              2,
                                              7,
                                              31,
                                              32,
                                              63,
                                              64,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x100000000,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              0xffffffffffffffff,
                                              0xffffffff80000000,
                                              0x123456789abcdef0,
                                              0xfedcba9876543210};

// The model computes in 128 bits, so that no step can overflow, and cuts at the end.
__extension__ using Wide = __int128;

uint64_t cut(Wide value, bool narrow) {
  return narrow ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
}
Wide as_unsigned(uint64_t value, bool narrow) {
  return narrow ? Wide{static_cast<uint32_t>(value)} : Wide{value};
}
Wide as_signed(uint64_t value, bool narrow) {
  return narrow ? Wide{static_cast<int32_t>(value)} : Wide{static_cast<int64_t>(value)};
}

uint64_t model(int op, bool sign, uint64_t a, uint64_t b, bool narrow) {
  const Wide ua = as_unsigned(a, narrow);
  const Wide ub = as_unsigned(b, narrow);
  const Wide sa = as_signed(a, narrow);
  const Wide sb = as_signed(b, narrow);
  const int shift = static_cast<int>(b & (narrow ? 31 : 63));
  switch (op) {
    case BPF_ADD:
      return cut(ua + ub, narrow);
    case BPF_SUB:
      return cut(ua - ub, narrow);
    case BPF_MUL:
      return narrow ? static_cast<uint32_t>(static_cast<uint64_t>(ua) * static_cast<uint64_t>(ub)) : a * b;
    case BPF_DIV:
      return ub == 0 ? 0 : cut(sign ? sa / sb : ua / ub, narrow);
    case BPF_MOD:
      return ub == 0 ? cut(ua, narrow) : cut(sign ? sa % sb : ua % ub, narrow);
    case BPF_OR:
      return cut(ua | ub, narrow);
    case BPF_AND:
      return cut(ua & ub, narrow);
    case BPF_XOR:
      return cut(ua ^ ub, narrow);
    case BPF_LSH:
      return cut(ua << shift, narrow);
    case BPF_RSH:
      return cut(ua >> shift, narrow);
    case BPF_ARSH:
      return cut(sa >> shift, narrow);
    default:
      return cut(ub, narrow);
  }
}

// Runs `middle` with r1 = a, r2 = b and gives r1 afterwards, all 64 bits: through the map, as verdicts have 32.
class Calculator {
 public:
  Calculator(EngineKind engine, const Code& middle)
      : bench_(join({movr(6, 1), map_value(7, 0, 0), load(BPF_DW, 1, 7, 0), load(BPF_DW, 2, 7, 8), middle,
                     store(BPF_DW, 7, 16, 1), mov(0, XDP_PASS), leave()}),
               {array_spec("cells", 24, 1)}, 2, engine) {}

  uint64_t operator()(uint64_t a, uint64_t b) {
    std::array<uint64_t, 3> cells{a, b, 0xdeadbeefdeadbeef};
    const uint32_t key = 0;
    const auto key_bytes = std::as_bytes(std::span(&key, 1));
    EXPECT_TRUE(bench_.program) << bench_.error.text;
    if (!bench_.program) return 0;
    EXPECT_EQ(bench_.map(0).copy_update(key_bytes, std::as_bytes(std::span(cells)), BPF_ANY), 0);
    const auto outcome = bench_.run();
    EXPECT_EQ(outcome.verdict, XDP_PASS) << outcome.fault;
    EXPECT_EQ(bench_.map(0).copy_lookup(key_bytes, std::as_writable_bytes(std::span(cells))), 0);
    return cells[2];
  }

 private:
  Bench bench_;
};

struct AluCase {
  const char* name;
  int op;
  int off;
};

constexpr std::array kAlu = {AluCase{"add", BPF_ADD, 0},   AluCase{"sub", BPF_SUB, 0}, AluCase{"mul", BPF_MUL, 0},
                             AluCase{"div", BPF_DIV, 0},   AluCase{"mod", BPF_MOD, 0}, AluCase{"sdiv", BPF_DIV, 1},
                             AluCase{"smod", BPF_MOD, 1},  AluCase{"or", BPF_OR, 0},   AluCase{"and", BPF_AND, 0},
                             AluCase{"xor", BPF_XOR, 0},   AluCase{"lsh", BPF_LSH, 0}, AluCase{"rsh", BPF_RSH, 0},
                             AluCase{"arsh", BPF_ARSH, 0}, AluCase{"mov", BPF_MOV, 0}};

class Alu : public testing::TestWithParam<std::tuple<EngineKind, AluCase>> {};

std::string name_of(const testing::TestParamInfo<Alu::ParamType>& info) {
  return std::string(engine_name(std::get<0>(info.param))) + "_" + std::get<1>(info.param).name;
}

TEST_P(Alu, RegistersGiveTheModelsValue) {
  const auto& [engine, c] = GetParam();
  for (const bool narrow : {false, true}) {
    Calculator run(engine, {insn((narrow ? BPF_ALU : BPF_ALU64) | c.op | BPF_X, 1, 2, c.off, 0)});
    for (const auto a : kValues)
      for (const auto b : kValues)
        EXPECT_EQ(run(a, b), model(c.op, c.off == 1, a, b, narrow))
            << c.name << (narrow ? "32 " : "64 ") << std::hex << a << ", " << b;
  }
}

TEST_P(Alu, ConstantsGiveTheModelsValue) {
  const auto& [engine, c] = GetParam();
  const bool shift = c.op == BPF_LSH || c.op == BPF_RSH || c.op == BPF_ARSH;
  const bool division = c.op == BPF_DIV || c.op == BPF_MOD;
  for (const bool narrow : {false, true}) {
    for (const int32_t k : {0, 1, 2, 7, 31, 63, -1, INT32_MIN, INT32_MAX}) {
      if ((shift && (k < 0 || k > (narrow ? 31 : 63))) || (division && k == 0)) continue;
      Calculator run(engine, {insn((narrow ? BPF_ALU : BPF_ALU64) | c.op | BPF_K, 1, 0, c.off, k)});
      for (const auto a : kValues)
        EXPECT_EQ(run(a, 0), model(c.op, c.off == 1, a, static_cast<uint64_t>(int64_t{k}), narrow))
            << c.name << (narrow ? "32 " : "64 ") << std::hex << a << ", constant " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Alu, testing::Combine(testing::ValuesIn(engines()), testing::ValuesIn(kAlu)), name_of);

class Engine : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(All, Engine, testing::ValuesIn(engines()),
                         [](const auto& of) { return std::string(engine_name(of.param)); });

TEST_P(Engine, LeastNumberByMinusOne) {
  Calculator div64(GetParam(), {insn(BPF_ALU64 | BPF_DIV | BPF_X, 1, 2, 1, 0)});
  Calculator mod64(GetParam(), {insn(BPF_ALU64 | BPF_MOD | BPF_X, 1, 2, 1, 0)});
  Calculator div32(GetParam(), {insn(BPF_ALU | BPF_DIV | BPF_X, 1, 2, 1, 0)});
  Calculator mod32(GetParam(), {insn(BPF_ALU | BPF_MOD | BPF_X, 1, 2, 1, 0)});
  EXPECT_EQ(div64(0x8000000000000000, ~uint64_t{0}), 0x8000000000000000);
  EXPECT_EQ(mod64(0x8000000000000000, ~uint64_t{0}), 0U);
  EXPECT_EQ(div32(0x80000000, 0xffffffff), 0x80000000U);
  EXPECT_EQ(mod32(0x80000000, 0xffffffff), 0U);
}

TEST_P(Engine, NegatesSwapsAndExtends) {
  const auto one = [](int code, int off, int64_t imm, uint64_t a) {
    const bool reg = (code & BPF_X) != 0 && BPF_OP(code) == BPF_MOV;
    return Calculator(GetParam(), {insn(code, 1, reg ? 2 : 0, off, imm)})(reg ? 0 : a, reg ? a : 0);
  };
  constexpr uint64_t kX = 0x0123456789abcdef;
  EXPECT_EQ(one(BPF_ALU64 | BPF_NEG, 0, 0, 1), ~uint64_t{0});
  EXPECT_EQ(one(BPF_ALU64 | BPF_NEG, 0, 0, 0x8000000000000000), 0x8000000000000000);
  EXPECT_EQ(one(BPF_ALU | BPF_NEG, 0, 0, kX), 0x76543211U);
  EXPECT_EQ(one(BPF_ALU | BPF_END | BPF_TO_LE, 0, 16, kX), 0xcdefU);
  EXPECT_EQ(one(BPF_ALU | BPF_END | BPF_TO_LE, 0, 32, kX), 0x89abcdefU);
  EXPECT_EQ(one(BPF_ALU | BPF_END | BPF_TO_LE, 0, 64, kX), kX);
  EXPECT_EQ(one(BPF_ALU | BPF_END | BPF_TO_BE, 0, 16, kX), 0xefcdU);
  EXPECT_EQ(one(BPF_ALU | BPF_END | BPF_TO_BE, 0, 32, kX), 0xefcdab89U);
  EXPECT_EQ(one(BPF_ALU | BPF_END | BPF_TO_BE, 0, 64, kX), 0xefcdab8967452301U);
  EXPECT_EQ(one(BPF_ALU64 | BPF_END, 0, 16, kX), 0xefcdU);
  EXPECT_EQ(one(BPF_ALU64 | BPF_END, 0, 32, kX), 0xefcdab89U);
  EXPECT_EQ(one(BPF_ALU64 | BPF_END, 0, 64, kX), 0xefcdab8967452301U);
  EXPECT_EQ(one(BPF_ALU64 | BPF_MOV | BPF_X, 8, 0, 0x1280), 0xffffffffffffff80U);
  EXPECT_EQ(one(BPF_ALU64 | BPF_MOV | BPF_X, 16, 0, 0x128000), 0xffffffffffff8000U);
  EXPECT_EQ(one(BPF_ALU64 | BPF_MOV | BPF_X, 32, 0, 0x1280000000), 0xffffffff80000000U);
  EXPECT_EQ(one(BPF_ALU64 | BPF_MOV | BPF_X, 32, 0, 0x127fffffff), 0x7fffffffU);
  EXPECT_EQ(one(BPF_ALU | BPF_MOV | BPF_X, 8, 0, 0x1280), 0xffffff80U);
  EXPECT_EQ(one(BPF_ALU | BPF_MOV | BPF_X, 16, 0, 0x128000), 0xffff8000U);
}

bool jump_model(int op, uint64_t a, uint64_t b, bool narrow) {
  const Wide ua = as_unsigned(a, narrow);
  const Wide ub = as_unsigned(b, narrow);
  const Wide sa = as_signed(a, narrow);
  const Wide sb = as_signed(b, narrow);
  switch (op) {
    case BPF_JEQ:
      return ua == ub;
    case BPF_JNE:
      return ua != ub;
    case BPF_JGT:
      return ua > ub;
    case BPF_JGE:
      return ua >= ub;
    case BPF_JLT:
      return ua < ub;
    case BPF_JLE:
      return ua <= ub;
    case BPF_JSET:
      return (ua & ub) != 0;
    case BPF_JSGT:
      return sa > sb;
    case BPF_JSGE:
      return sa >= sb;
    case BPF_JSLT:
      return sa < sb;
    default:
      return sa <= sb;
  }
}

constexpr std::array kJumps = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
                               BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};

TEST_P(Engine, JumpsWhereTheModelGoes) {
  for (const auto op : kJumps) {
    for (const bool narrow : {false, true}) {
      const int cls = narrow ? BPF_JMP32 : BPF_JMP;
      Calculator by_register(GetParam(), {mov(3, 1), insn(cls | op | BPF_X, 1, 2, 1, 0), mov(3, 0), movr(1, 3)});
      for (const auto a : kValues)
        for (const auto b : kValues)
          EXPECT_EQ(by_register(a, b), jump_model(op, a, b, narrow))
              << op << " " << narrow << std::hex << a << " " << b;
      for (const int32_t k : {0, 1, -1, 63, INT32_MIN, INT32_MAX}) {
        Calculator by_constant(GetParam(), {mov(3, 1), insn(cls | op | BPF_K, 1, 0, 1, k), mov(3, 0), movr(1, 3)});
        for (const auto a : kValues)
          EXPECT_EQ(by_constant(a, 0), jump_model(op, a, static_cast<uint64_t>(int64_t{k}), narrow))
              << op << " " << narrow << std::hex << a << " constant " << k;
      }
    }
  }
}

TEST_P(Engine, LongFormAndWideConstantsBetween) {
  // A jump over a 64-bit constant counts its two slots. Some way leads to each instruction, as verifiers ask
  Bench over(join({mov(0, XDP_DROP), jump(BPF_JEQ, 0, 99, 1), insn(BPF_JMP32 | BPF_JA, 0, 0, 0, 3), wide(0, 5),
                   mov(0, 6), leave()}),
             {}, 1, GetParam());
  EXPECT_EQ(over.run().verdict, XDP_DROP);
  Bench wide_value(join({wide(1, 0x1122334455667788), alu(BPF_RSH, 1, 32), movr(0, 1), leave()}), {}, 1, GetParam());
  EXPECT_EQ(wide_value.run().verdict, 0x11223344U);
}

}  // namespace
}  // namespace xbond::bpf::test
