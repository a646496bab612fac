// Every access out by one at each end, and all else that a run must not do.
#include "bpf_compat/engine/interpreter.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

constexpr std::array kSizes = {BPF_B, BPF_H, BPF_W, BPF_DW};

int bytes_of(int size) {
  return size == BPF_B ? 1 : size == BPF_H ? 2 : size == BPF_W ? 4 : 8;
}

// r2 = data + off, then one access of each kind there.
Bench packet_access(int size, int64_t off, bool write, int field = offsetof(xdp_md, data)) {
  return Bench({load(BPF_W, 2, 1, field), alu(BPF_ADD, 2, off), mov(3, 0x5a),
                write ? store(size, 2, 0, 3) : load(size, 3, 2, 0), mov(0, XDP_PASS), leave()});
}

TEST(Access, PacketEndsAreExact) {
  for (const auto size : kSizes) {
    for (const bool write : {false, true}) {
      const int last = 64 - bytes_of(size);
      EXPECT_EQ(packet_access(size, 0, write).run().verdict, XDP_PASS) << size;
      EXPECT_EQ(packet_access(size, last, write).run().verdict, XDP_PASS) << size;
      const auto* words = write ? "instruction 3: write outside stack, packet and map values"
                                : "instruction 3: read outside stack, packet and map values";
      for (const int64_t off : {-1, last + 1, 64, -bytes_of(size), -8, 1 << 30}) {
        const auto outcome = packet_access(size, off, write).run();
        EXPECT_EQ(outcome.verdict, XDP_ABORTED) << size << " at " << off;
        EXPECT_EQ(outcome.fault, words);
      }
    }
  }
}

TEST(Access, ShortFramesAreExactToo) {
  for (size_t length = 0; length < 10; ++length) {
    for (const auto size : kSizes) {
      for (int off = -9; off < 12; ++off) {
        auto bench = packet_access(size, off, false);
        Frame frame(length);
        const bool inside = off >= 0 && off + bytes_of(size) <= static_cast<int>(length);
        EXPECT_EQ(bench.run(frame).verdict, inside ? XDP_PASS : XDP_ABORTED) << length << " " << size << " " << off;
      }
    }
  }
}

TEST(Access, MetadataIsPartOfThePacket) {
  for (const int64_t off : {0, 7, 8, -1}) {
    auto bench = packet_access(BPF_B, off, true, offsetof(xdp_md, data_meta));
    Frame frame;
    frame.view.data_meta -= 8;
    EXPECT_EQ(bench.run(frame).verdict, off >= 0 ? XDP_PASS : XDP_ABORTED) << off;
  }
}

TEST(Access, DataIsReadAndWrittenInItsWidth) {
  Bench bench({load(BPF_W, 2, 1, 0), load(BPF_DW, 3, 2, 8), store(BPF_H, 2, 0, 3), store(BPF_W, 2, 4, 3),
               load(BPF_H, 0, 2, 20), leave()});
  Frame frame;
  EXPECT_EQ(bench.run(frame).verdict, 0x1514U);
  const auto packet = frame.packet();
  EXPECT_EQ(packet[0], 8);
  EXPECT_EQ(packet[1], 9);
  EXPECT_EQ(packet[2], 2);
  EXPECT_EQ(packet[4], 8);
  EXPECT_EQ(packet[7], 11);
  EXPECT_EQ(packet[8], 8);
}

TEST(Access, SignExtendingLoads) {
  const auto run = [](int size, std::vector<uint8_t> bytes) {
    Bench bench(join({load(BPF_W, 2, 1, 0), insn(BPF_LDX | size | 0x80, 3, 2, 0, 0), mov(0, 0), jump(BPF_JSGE, 3, 0, 2),
                      alu(BPF_RSH, 3, 32), movr(0, 3), leave()}));
    bytes.resize(64);
    Frame frame(bytes);
    return bench.run(frame).verdict;
  };
  EXPECT_EQ(run(BPF_B, {0x80}), 0xffffffffU);
  EXPECT_EQ(run(BPF_B, {0x7f}), 0U);
  EXPECT_EQ(run(BPF_H, {0x00, 0x80}), 0xffffffffU);
  EXPECT_EQ(run(BPF_H, {0xff, 0x7f}), 0U);
  EXPECT_EQ(run(BPF_W, {0, 0, 0, 0x80}), 0xffffffffU);
  EXPECT_EQ(run(BPF_W, {0xff, 0xff, 0xff, 0x7f}), 0U);
}

// By r10 the bounds are known before a run, by any other register only then.
TEST(Access, StackEndsAreExact) {
  for (const auto size : kSizes) {
    for (const int off : {-512, -bytes_of(size)}) {
      EXPECT_EQ(Bench({mov(2, 1), store(size, 10, off, 2), load(size, 0, 10, off), leave()}).run().verdict, 1U);
      EXPECT_EQ(Bench({movr(3, 10), mov(2, 1), store(size, 3, off, 2), load(size, 0, 3, off), leave()}).run().verdict,
                1U);
    }
    for (const int off : {-513, -bytes_of(size) + 1, 0, 8}) {
      const Bench refused({mov(2, 1), store(size, 10, off, 2), mov(0, 0), leave()});
      EXPECT_FALSE(refused.program);
      EXPECT_NE(refused.error.text.find("instruction 1: access to"), std::string::npos) << refused.error.text;
      const auto outcome = Bench({movr(3, 10), mov(2, 1), store(size, 3, off, 2), mov(0, 2), leave()}).run();
      EXPECT_EQ(outcome.verdict, XDP_ABORTED) << off;
      EXPECT_EQ(outcome.fault, "instruction 2: write outside stack, packet and map values");
    }
  }
}

TEST(Access, StackStartsZeroedInEachBurst) {
  Bench bench({load(BPF_DW, 0, 10, -512), mov(2, 77), store(BPF_DW, 10, -512, 2), leave()});
  EXPECT_EQ(bench.run().verdict, 0U);
  EXPECT_EQ(bench.run().verdict, 0U);
}

TEST(Access, ContextFieldsAndNothingElse) {
  const auto field = [](int off) {
    Bench bench({load(BPF_W, 0, 1, off), leave()});
    Frame frame;
    frame.view.egress_ifindex = 9;
    return bench.run(frame).verdict;
  };
  EXPECT_EQ(field(offsetof(xdp_md, ingress_ifindex)), 7U);
  EXPECT_EQ(field(offsetof(xdp_md, rx_queue_index)), 3U);
  EXPECT_EQ(field(offsetof(xdp_md, egress_ifindex)), 9U);
  Bench length({load(BPF_W, 0, 1, 4), load(BPF_W, 2, 1, 0), alur(BPF_SUB, 0, 2), leave()});
  EXPECT_EQ(length.run().verdict, 64U);

  const auto fault = [](bpf_insn access) { return Bench({access, mov(0, XDP_PASS), leave()}).run().fault; };
  EXPECT_EQ(fault(load(BPF_W, 2, 1, 1)), "instruction 0: context access that is not an aligned 32-bit read of a field");
  EXPECT_EQ(fault(load(BPF_H, 2, 1, 0)), "instruction 0: context access that is not an aligned 32-bit read of a field");
  EXPECT_EQ(fault(load(BPF_DW, 2, 1, 0)),
            "instruction 0: context access that is not an aligned 32-bit read of a field");
  EXPECT_EQ(fault(load(BPF_W, 2, 1, 24)), "instruction 0: read outside stack, packet and map values");
  EXPECT_EQ(fault(load(BPF_W, 2, 1, -4)), "instruction 0: read outside stack, packet and map values");
  EXPECT_EQ(fault(store(BPF_W, 1, 16, 10)), "instruction 0: write to the context");
}

TEST(Access, ValuesEndAtTheirSizeNotAtTheirPadding) {
  // Three bytes of value in eight of space, and a second value behind
  for (const int off : {-1, 0, 2, 3, 7, 8}) {
    Bench bench(join({store_imm(BPF_W, 10, -4, 1), movr(2, 10), alu(BPF_ADD, 2, -4), map_pointer(1, 0),
                      call(BPF_FUNC_map_lookup_elem), jump(BPF_JEQ, 0, 0, 2), load(BPF_B, 3, 0, off), mov(0, XDP_PASS),
                      leave()}),
                {array_spec("small", 3, 3)});
    const bool own = off >= 0 && off < 3;
    const bool next = off == 8;  // value 2's first byte: inside one value, as the check has it
    EXPECT_EQ(bench.run().verdict, own || next ? XDP_PASS : XDP_ABORTED) << off;
  }
}

TEST(Access, NoAccessSpansTwoValues) {
  Bench bench(
      join({store_imm(BPF_W, 10, -4, 0), movr(2, 10), alu(BPF_ADD, 2, -4), map_pointer(1, 0),
            call(BPF_FUNC_map_lookup_elem), jump(BPF_JEQ, 0, 0, 1), load(BPF_DW, 3, 0, 4), mov(0, XDP_PASS), leave()}),
      {array_spec("words", 8, 2)});
  const auto outcome = bench.run();
  EXPECT_EQ(outcome.verdict, XDP_ABORTED);
  EXPECT_EQ(outcome.fault, "instruction 7: read outside stack, packet and map values");
}

TEST(Access, AnotherWorkersValuesAreOutOfReach) {
  const auto code = join({store_imm(BPF_W, 10, -4, 0), movr(2, 10), alu(BPF_ADD, 2, -4), map_pointer(1, 0),
                          call(BPF_FUNC_map_lookup_elem), jump(BPF_JEQ, 0, 0, 2), load(BPF_B, 3, 0, 4096),
                          mov(0, XDP_PASS), leave()});
  Bench bench(code, {percpu_spec("counts", 8, 1)});
  EXPECT_EQ(bench.run(0).verdict, XDP_ABORTED);
}

TEST(Access, MapFlagsHold) {
  const auto code = [](bool write) {
    return join({map_value(2, 0, 0), write ? store(BPF_B, 2, 0, 2) : load(BPF_B, 3, 2, 0), mov(0, XDP_PASS), leave()});
  };
  Bench read_only_read(code(false), {array_spec("m", 8, 1, BPF_F_RDONLY_PROG)});
  EXPECT_EQ(read_only_read.run().verdict, XDP_PASS);
  Bench read_only_write(code(true), {array_spec("m", 8, 1, BPF_F_RDONLY_PROG)});
  EXPECT_EQ(read_only_write.run().fault, "instruction 2: write to a map that programs may only read");
  Bench write_only_read(code(false), {array_spec("m", 8, 1, BPF_F_WRONLY_PROG)});
  EXPECT_EQ(write_only_read.run().fault, "instruction 2: read from a map that programs may only write");
  Bench write_only_write(code(true), {array_spec("m", 8, 1, BPF_F_WRONLY_PROG)});
  EXPECT_EQ(write_only_write.run().verdict, XDP_PASS);
  auto frozen = array_spec(".rodata", 8, 1);
  frozen.frozen = true;
  Bench constants(code(true), {frozen});
  EXPECT_EQ(constants.run().fault, "instruction 2: write to a map that programs may only read");
}

TEST(Access, MapPointersAreNotMemory) {
  Bench bench(join({map_pointer(2, 0), load(BPF_DW, 0, 2, 0), leave()}), {array_spec("m", 8, 1)});
  EXPECT_EQ(bench.run().verdict, XDP_ABORTED);
}

TEST(Access, ZeroAndWildAddresses) {
  for (const uint64_t address : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, ~uint64_t{7}, uint64_t{1} << 63}) {
    EXPECT_EQ(Bench(join({wide(2, address), load(BPF_DW, 0, 2, 0), leave()})).run().verdict, XDP_ABORTED);
    EXPECT_EQ(Bench(join({wide(2, address), store(BPF_B, 2, 0, 2), mov(0, 2), leave()})).run().verdict, XDP_ABORTED);
  }
}

TEST(Budget, EndlessLoopsAreAborted) {
  Bench bench({mov(0, XDP_PASS), go(-1), leave()});
  const auto outcome = bench.run();
  EXPECT_EQ(outcome.verdict, XDP_ABORTED);
  EXPECT_EQ(outcome.fault, "instruction 1: instruction budget used up");
}

TEST(Budget, CountsExecutedInstructions) {
  // Three a round: just below the budget passes, just above does not
  const auto rounds = [](int64_t n) {
    return Bench({mov(0, XDP_PASS), mov(1, n), alu(BPF_SUB, 1, 1), jump(BPF_JEQ, 1, 0, 1), go(-3), leave()})
        .run()
        .verdict;
  };
  EXPECT_EQ(rounds(kInstructionBudget / 3 - 2), XDP_PASS);
  EXPECT_EQ(rounds(kInstructionBudget / 3 + 2), XDP_ABORTED);
}

TEST(Budget, IsAnewForEachFrame) {
  Bench bench({mov(0, XDP_PASS), mov(1, 200'000), alu(BPF_SUB, 1, 1), jump(BPF_JNE, 1, 0, -2), leave()});
  ASSERT_TRUE(bench.program);
  std::vector<Frame> frames(8);
  std::vector<XdpFrame> views;
  for (auto& frame : frames) views.push_back(frame.view);
  std::vector<uint32_t> verdicts(views.size());
  bench.program->run_burst(views, verdicts.data(), 0);
  EXPECT_EQ(verdicts, std::vector<uint32_t>(8, XDP_PASS));
}

TEST(Calls, KeepRegistersAndHaveOwnFrames) {
  // main writes its stack, calls twice; the callee writes its own and r6 … r9
  Bench bench(join({mov(6, 1), mov(7, 2), mov(8, 4), mov(9, 8), store_imm(BPF_DW, 10, -8, 16), mov(1, 100),
                    call_local(9), movr(1, 0), call_local(7), load(BPF_DW, 2, 10, -8), alur(BPF_ADD, 0, 6),
                    alur(BPF_ADD, 0, 7), alur(BPF_ADD, 0, 8), alur(BPF_ADD, 0, 9), alur(BPF_ADD, 0, 2), leave(),
                    // callee: r0 = r1 + 1000
                    mov(6, 0), mov(7, 0), mov(8, 0), mov(9, 0), store_imm(BPF_DW, 10, -8, 0), movr(0, 1),
                    alu(BPF_ADD, 0, 1000), leave()}));
  EXPECT_EQ(bench.run().verdict, 100U + 2000 + 1 + 2 + 4 + 8 + 16);
}

TEST(Calls, CalleeReachesItsCallersFrameNotADeadOne) {
  Bench up(join({store_imm(BPF_DW, 10, -8, 5), movr(1, 10), call_local(1), leave(), load(BPF_DW, 0, 1, -8), leave()}));
  EXPECT_EQ(up.run().verdict, 5U);
  Bench dead(join({call_local(2), load(BPF_DW, 0, 0, -8), leave(), movr(0, 10), leave()}));
  EXPECT_EQ(dead.run().fault, "instruction 1: read outside stack, packet and map values");
}

// n functions, each calls the next.
Code chain(int n) {
  Code code;
  for (int i = 0; i + 1 < n; ++i) {
    code.push_back(call_local(1));
    code.push_back(leave());
  }
  code.push_back(mov(0, XDP_PASS));
  code.push_back(leave());
  return code;
}

TEST(Calls, EightFramesAndNoMore) {
  EXPECT_EQ(Bench(chain(8)).run().verdict, XDP_PASS);
  const Bench deep(chain(9));
  EXPECT_FALSE(deep.program);
  EXPECT_NE(deep.error.text.find("more than 8 deep, or in a circle"), std::string::npos) << deep.error.text;
  const Bench recursive({call_local(-1), leave()});
  EXPECT_FALSE(recursive.program);
}

TEST(Calls, LoopsOfCallsSpendTheBudgetToo) {
  Bench bench({call_local(1), go(-2), mov(0, 2), leave()});
  const auto outcome = bench.run();
  EXPECT_EQ(outcome.verdict, XDP_ABORTED) << bench.error.text;
  EXPECT_NE(outcome.fault.find("instruction budget used up"), std::string::npos);
}

struct AtomicCase {
  int op;
  uint64_t before, operand, r0;
  uint64_t memory, source, r0_after;
};

// 64-bit; the 32-bit form of each must give the low halves, and zero-extend what it fetches.
constexpr uint64_t kBefore = 0xf0f0f0f0'80000001;
constexpr uint64_t kOperand = 0x0ff00ff0'ffffffff;
constexpr std::array kAtomics = {
    AtomicCase{BPF_ADD, kBefore, kOperand, 9, kBefore + kOperand, kOperand, 9},
    AtomicCase{BPF_ADD | BPF_FETCH, kBefore, kOperand, 9, kBefore + kOperand, kBefore, 9},
    AtomicCase{BPF_AND, kBefore, kOperand, 9, kBefore& kOperand, kOperand, 9},
    AtomicCase{BPF_AND | BPF_FETCH, kBefore, kOperand, 9, kBefore& kOperand, kBefore, 9},
    AtomicCase{BPF_OR, kBefore, kOperand, 9, kBefore | kOperand, kOperand, 9},
    AtomicCase{BPF_OR | BPF_FETCH, kBefore, kOperand, 9, kBefore | kOperand, kBefore, 9},
    AtomicCase{BPF_XOR, kBefore, kOperand, 9, kBefore ^ kOperand, kOperand, 9},
    AtomicCase{BPF_XOR | BPF_FETCH, kBefore, kOperand, 9, kBefore ^ kOperand, kBefore, 9},
    AtomicCase{BPF_XCHG, kBefore, kOperand, 9, kOperand, kBefore, 9},
    AtomicCase{BPF_CMPXCHG, kBefore, kOperand, kBefore, kOperand, kOperand, kBefore},
    AtomicCase{BPF_CMPXCHG, kBefore, kOperand, 9, kBefore, kOperand, kBefore},
};

TEST(Atomics, DoWhatTheySay) {
  for (const auto& c : kAtomics) {
    for (const bool narrow : {false, true}) {
      const int size = narrow ? BPF_W : BPF_DW;
      Bench bench(join({map_value(7, 0, 0), wide(2, c.operand), wide(0, c.r0), atomic(size, 7, 0, 2, c.op),
                        store(BPF_DW, 7, 8, 2), store(BPF_DW, 7, 16, 0), mov(0, XDP_PASS), leave()}),
                  {array_spec("cells", 24, 1)});
      ASSERT_TRUE(bench.program) << bench.error.text;
      std::array<uint64_t, 3> cells{c.before, 0, 0};
      const uint32_t key = 0;
      const auto key_bytes = std::as_bytes(std::span(&key, 1));
      ASSERT_EQ(bench.map(0).copy_update(key_bytes, std::as_bytes(std::span(cells)), 0), 0);
      ASSERT_EQ(bench.run().verdict, XDP_PASS);
      ASSERT_EQ(bench.map(0).copy_lookup(key_bytes, std::as_writable_bytes(std::span(cells))), 0);
      const bool fetches = (c.op & BPF_FETCH) != 0 && c.op != BPF_CMPXCHG;
      const uint64_t mask = narrow ? 0xffffffff : ~uint64_t{0};
      EXPECT_EQ(cells[0], (c.before & ~mask) | (c.memory & mask)) << c.op << narrow;
      EXPECT_EQ(cells[1], fetches ? c.source & mask : c.source) << c.op << narrow;
      EXPECT_EQ(cells[2], c.op == BPF_CMPXCHG ? c.r0_after & mask : c.r0_after) << c.op << narrow;
    }
  }
}

TEST(Atomics, LoadAcquireAndStoreRelease) {
  for (const auto size : kSizes) {
    Bench bench({store_imm(BPF_DW, 10, -8, -1), mov(2, 0x11), atomic(size, 10, -8, 2, 0x110),
                 insn(BPF_STX | size | BPF_ATOMIC, 0, 10, -8, 0x100), leave()});
    EXPECT_EQ(bench.run().verdict, 0x11U) << size << bench.error.text;
  }
}

TEST(Atomics, NeedAlignmentAndOwnMemory) {
  constexpr auto kWhy = "atomic access that is unaligned or outside stack and map values";
  const auto fault = [](Code code) { return Bench(std::move(code)).run().fault; };
  EXPECT_NE(fault({mov(2, 1), atomic(BPF_DW, 10, -12, 2, BPF_ADD), mov(0, 2), leave()}).find(kWhy), std::string::npos);
  EXPECT_NE(fault({mov(2, 1), atomic(BPF_W, 10, -6, 2, BPF_XCHG), mov(0, 2), leave()}).find(kWhy), std::string::npos);
  // The kernel allows none on packets
  EXPECT_NE(fault({load(BPF_W, 3, 1, 0), mov(2, 1), atomic(BPF_W, 3, 0, 2, BPF_ADD), mov(0, 2), leave()}).find(kWhy),
            std::string::npos);
  EXPECT_NE(fault({mov(3, 0), mov(2, 1), atomic(BPF_W, 3, 0, 2, BPF_ADD), mov(0, 2), leave()}).find("write outside"),
            std::string::npos);
}

}  // namespace
}  // namespace xbond::bpf::test
