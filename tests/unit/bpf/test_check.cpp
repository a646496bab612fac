// What is refused before anything runs, and that the error says where.
#include "bpf_compat/engine/check.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

struct BadCode {
  const char* name;
  Code code;
  const char* error;
};

std::vector<BadCode> bad_codes() {
  const auto end = [](std::initializer_list<Part> parts) { return join({join(parts), mov(0, 0), leave()}); };
  const auto one = [&](bpf_insn bad) { return end({bad}); };
  constexpr auto kReserved = "instruction 0: a field that the instruction does not use is not 0";
  return {
      {"Empty", {}, "it has no instructions"},
      {"FallsOff", {mov(0, 0)}, "instruction 0: the function goes on behind its last instruction"},
      {"FallsOffAfterBranch", {mov(0, 0), jump(BPF_JEQ, 0, 0, -1)}, "instruction 1: the function goes on behind"},
      {"FunctionFallsIntoNext", {call_local(0), leave()}, "instruction 0: the function goes on behind"},
      {"NoSuchRegister", one(mov(11, 0)), "instruction 0: there are registers r0 to r10"},
      {"NoSuchSource", one(movr(1, 15)), "instruction 0: there are registers r0 to r10"},
      {"FramePointerMov", one(mov(10, 0)), "instruction 0: the frame pointer r10 is read only"},
      {"FramePointerLoad", one(load(BPF_DW, 10, 1, 0)), "instruction 0: the frame pointer r10 is read only"},
      {"FramePointerFetch", one(atomic(BPF_DW, 1, 0, 10, BPF_XCHG)),
       "instruction 0: the frame pointer r10 is read only"},
      {"FramePointerWide", end({wide(10, 0)}), "instruction 0: the frame pointer r10 is read only"},
      {"UnknownAlu", one(insn(BPF_ALU64 | 0xe0, 1, 0, 0, 0)), "instruction 0: unknown instruction 0xe7"},
      {"UnknownJump", one(insn(BPF_JMP | 0xf0, 1, 0, 0, 0)), "instruction 0: unknown instruction 0xf5"},
      {"MayGoto", one(insn(BPF_JMP | 0xe0, 0, 0, 0, 0)), "instruction 0: may_goto is not supported"},
      {"UnknownLoad", one(insn(BPF_LDX | BPF_DW | 0x80, 1, 1, 0, 0)), "instruction 0: unknown instruction 0x99"},
      {"UnknownStore", one(insn(BPF_ST | BPF_DW | BPF_ATOMIC, 1, 0, 0, 0)), "instruction 0: unknown instruction"},
      {"Absolute", one(insn(BPF_LD | BPF_ABS | BPF_B, 0, 0, 0, 0)), "instruction 0: legacy packet access"},
      {"Indirect", one(insn(BPF_LD | BPF_IND | BPF_W, 0, 1, 0, 0)), "instruction 0: legacy packet access"},
      {"DivideByZero", one(alu(BPF_DIV, 1, 0)), "instruction 0: division by the constant 0"},
      {"ModuloZero", one(alu(BPF_MOD, 1, 0)), "instruction 0: division by the constant 0"},
      {"Shift64", one(alu(BPF_LSH, 1, 64)), "instruction 0: shift by 64"},
      {"Shift32", one(insn(BPF_ALU | BPF_RSH | BPF_K, 1, 0, 0, 32)), "instruction 0: shift by 32"},
      {"ShiftNegative", one(alu(BPF_ARSH, 1, -1)), "instruction 0: shift by -1"},
      {"SwapWidth", one(insn(BPF_ALU | BPF_END | BPF_TO_BE, 1, 0, 0, 8)), "instruction 0: byte swap"},
      {"SwapReserved", one(insn(BPF_ALU64 | BPF_END | BPF_X, 1, 0, 0, 16)), kReserved},
      {"AluReservedSource", one(insn(BPF_ALU64 | BPF_ADD | BPF_K, 1, 2, 0, 0)), kReserved},
      {"AluReservedImm", one(insn(BPF_ALU64 | BPF_ADD | BPF_X, 1, 2, 0, 4)), kReserved},
      {"AluReservedOff", one(insn(BPF_ALU64 | BPF_ADD | BPF_X, 1, 2, 1, 0)), kReserved},
      {"SignedDivOff2", one(insn(BPF_ALU64 | BPF_DIV | BPF_X, 1, 2, 2, 0)), kReserved},
      {"MovExtend24", one(insn(BPF_ALU64 | BPF_MOV | BPF_X, 1, 2, 24, 0)), kReserved},
      {"Mov32Extend32", one(insn(BPF_ALU | BPF_MOV | BPF_X, 1, 2, 32, 0)), kReserved},
      {"NegReserved", one(insn(BPF_ALU64 | BPF_NEG, 1, 0, 0, 1)), kReserved},
      {"ExitReserved", one(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 1)), kReserved},
      {"CallReserved", one(insn(BPF_JMP | BPF_CALL, 1, 0, 0, 1)), kReserved},
      {"JumpReserved", one(insn(BPF_JMP | BPF_JA, 1, 0, 0, 0)), kReserved},
      {"JumpFormsDiffer", one(insn(BPF_JMP32 | BPF_JA, 0, 0, 1, 0)), kReserved},
      {"BranchReserved", one(insn(BPF_JMP | BPF_JEQ | BPF_X, 1, 2, 0, 1)), kReserved},
      {"LoadReserved", one(insn(BPF_LDX | BPF_W | BPF_MEM, 1, 2, 0, 1)), kReserved},
      {"StoreReserved", one(insn(BPF_STX | BPF_W | BPF_MEM, 1, 2, 0, 1)), kReserved},
      {"StoreImmReserved", one(insn(BPF_ST | BPF_W | BPF_MEM, 1, 2, 0, 1)), kReserved},
      {"Exit32", one(insn(BPF_JMP32 | BPF_EXIT, 0, 0, 0, 0)), "instruction 0: unknown instruction 0x96"},
      {"KernelFunction", one(insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1)),
       "instruction 0: kernel functions"},
      {"AtomicUnknown", one(atomic(BPF_DW, 1, 0, 2, 0x22)), "instruction 0: unknown atomic operation 0x22"},
      {"AtomicByte", one(atomic(BPF_B, 1, 0, 2, BPF_ADD)), "instruction 0: atomic operation on 1 bytes"},
      {"JumpBefore", one(go(-2)), "instruction 0: jump to -1, outside its function"},
      {"JumpBehind", {mov(0, 0), go(1), leave()}, "instruction 1: jump to 3, outside its function"},
      {"JumpFar", one(insn(BPF_JMP32 | BPF_JA, 0, 0, 0, INT32_MAX)), "instruction 0: jump to 2147483648, outside"},
      {"JumpIntoWide", join({go(1), wide(0, 0), leave()}), "instruction 0: jump into the 64-bit constant at 1"},
      {"JumpToOtherFunction", {call_local(2), go(2), leave(), mov(0, 0), leave()}, "instruction 1: jump to 4, outside"},
      {"CallOutside", one(call_local(5)), "instruction 0: call to 6, where no instruction begins"},
      {"CallBefore", one(call_local(-9)), "instruction 0: call to -8, where no instruction begins"},
      {"CallIntoWide", join({call_local(1), wide(0, 0), leave()}), "instruction 0: call to 2, where no instruction"},
      {"WideCut",
       {insn(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0)},
       "instruction 0: 64-bit constant lacks its second half"},
      {"WideMalformed", join({insn(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0), mov(0, 0), leave()}),
       "instruction 0: 64-bit constant is malformed"},
      {"WideMapFd", end({wide(1, 0, BPF_PSEUDO_MAP_FD)}), "instruction 0: a map that was not relocated"},
      {"WideCallback", end({wide(1, 100, BPF_PSEUDO_FUNC)}), "instruction 0: call to 101, where no instruction begins"},
      {"WideCallbackIntoWide", end({wide(1, 0, BPF_PSEUDO_FUNC)}), "instruction 0: call to 1, where no instruction"},
      {"WideKernelVariable", end({wide(1, 0, BPF_PSEUDO_BTF_ID)}), "instruction 0: a kernel variable"},
      {"NoSuchMap", end({map_pointer(1, 7)}), "instruction 0: there is no map number 7"},
      {"ValueBehindMap", end({map_value(1, 0, 8)}), "instruction 0: reference behind the 8 bytes of a value"},
      {"ValueOfMany", end({map_value(1, 1, 0)}), "instruction 0: a direct reference to a value needs an array of one"},
      {"SocketHelper", one(call(BPF_FUNC_sk_lookup_tcp)), "instruction 0: helper bpf_sk_lookup_tcp is not supported"},
      {"UnknownHelper", one(call(123456789)), "instruction 0: there is no helper number 123456789"},
      {"HelperZero", one(call(0)), "instruction 0: there is no helper number 0"},
      {"SecondOfTwo", {mov(0, 0), mov(11, 0), leave()}, "instruction 1: there are registers"},
  };
}

TEST(Check, RefusesAndSaysWhere) {
  for (const auto& bad : bad_codes()) {
    const Bench bench(bad.code, {array_spec("one", 8, 1), array_spec("two", 8, 2)});
    EXPECT_FALSE(bench.program) << bad.name;
    EXPECT_NE(bench.error.text.find(std::string("object test.o: program test: ") + bad.error), std::string::npos)
        << bad.name << ": " << bench.error.text;
    EXPECT_EQ(bench.error.text.find('\n'), std::string::npos);
  }
}

TEST(Check, RefusesWhatHasNoMeaningHereAsUnsupported) {
  EXPECT_EQ(Bench({call(BPF_FUNC_sk_lookup_tcp), leave()}).error.code, ENOTSUP);
  EXPECT_EQ(Bench({mov(11, 0), leave()}).error.code, EINVAL);
}

TEST(Check, FindsFunctionsAndFrames) {
  const auto shape =
      check_code(Code{call_local(3), call_local(2), mov(0, 0), leave(), call_local(1), leave(), leave()});
  ASSERT_TRUE(shape) << shape.error().text;
  EXPECT_EQ(shape->functions, (std::vector<uint32_t>{0, 4, 6}));
  EXPECT_EQ(shape->frames, 3U);
}

TEST(Check, TakesAFunctionThatEndsInAJump) {
  EXPECT_TRUE(check_code(Code{go(1), leave(), go(-2)}));
  EXPECT_TRUE(check_code(Code{go(1), leave(), insn(BPF_JMP32 | BPF_JA, 0, 0, 0, -2)}));
}

TEST(Check, ManyFunctionsTakeNoTime) {
  // 20,000 functions, each called twice: counting the paths would never end
  Code code;
  constexpr int kFunctions = 20'000;
  for (int i = 0; i < kFunctions; ++i) {
    code.push_back(call_local(kFunctions * 2 - i));
    code.push_back(call_local(kFunctions * 2 - i - 1));
  }
  code.push_back(leave());
  for (int i = 0; i < kFunctions; ++i) code.push_back(leave());
  EXPECT_TRUE(check_code(code));
  EXPECT_FALSE(check_code(Code(1'000'001, mov(0, 0))));
}

// Whatever the bytes, a program is refused or runs to a verdict: no crash, no escape. (The sanitizers watch.)
TEST(Check, RandomCodeIsRefusedOrHarmless) {
  uint64_t state = 42;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  int ran = 0;
  for (int round = 0; round < 20'000; ++round) {
    Code code;
    const auto length = 2 + next() % 12;
    for (uint64_t i = 0; i < length; ++i) {
      const auto bits = next();
      auto one =
          insn(static_cast<int>(bits & 0xff), static_cast<int>(bits >> 8) % 11, static_cast<int>(bits >> 16) % 11,
               static_cast<int>(bits >> 24) % 16 - 8, static_cast<int64_t>(bits >> 32) % 8);
      // Half of them plausible, or hardly any program would load
      if (bits >> 63 != 0) one = alur(BPF_ADD, one.dst_reg % 10, one.src_reg);
      code.push_back(one);
    }
    code.push_back(leave());
    Bench bench(code, {array_spec("one", 8, 1), percpu_spec("two", 12, 2)});
    if (!bench.program) continue;
    ++ran;
    bench.run();
  }
  EXPECT_GT(ran, 20);
}

}  // namespace
}  // namespace xbond::bpf::test
