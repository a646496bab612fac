// Programs that break a rule on some run are refused, by what they do; their sound twins are accepted.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <chrono>

#include "bpf_compat/verifier/verifier.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

constexpr int kData = 0, kDataEnd = 4, kMeta = 8;

std::vector<MapSpec> maps() {
  auto lock = array_spec("locked", 16, 1);
  lock.spin_lock = 0;
  auto constants = array_spec(".rodata", 8, 1, BPF_F_RDONLY_PROG);
  constants.frozen = true;
  constants.initial.assign(8, std::byte{7});
  return {array_spec("values", 16, 4),
          lock,
          {.name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .key_size = 0, .value_size = 0, .max_entries = 4096},
          constants,
          array_spec("read_only", 16, 4, BPF_F_RDONLY_PROG),
          {.name = "jumps", .type = BPF_MAP_TYPE_PROG_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 4}};
}

verifier::Report judge(Code code, const std::string& section = "xdp") {
  const auto object = Object::of("test.o", maps(), {{.name = "test", .section = section, .insns = std::move(code)}});
  return verifier::verify(object, object.programs().front());
}

void accepts(const Code& code, const std::string& section = "xdp") {
  const auto report = judge(code, section);
  EXPECT_FALSE(report.refusal) << report.refusal->line() << "\n" << report.refusal->state;
}

void refuses(const Code& code, std::string_view why, const std::string& section = "xdp") {
  const auto report = judge(code, section);
  ASSERT_TRUE(report.refusal) << "accepted; expected: " << why;
  EXPECT_NE(report.refusal->line().find(why), std::string::npos) << report.refusal->line();
}

const Code kPass = join({mov(0, XDP_PASS), leave()});

// r2 = data, r3 = data_end
const Code kEnds = join({load(BPF_W, 2, 1, kData), load(BPF_W, 3, 1, kDataEnd)});

// r0 = a value of map `index`, or leaves
Code look_up(uint32_t index) {
  return join({store_imm(BPF_W, 10, -4, 0), movr(2, 10), alu(BPF_ADD, 2, -4), map_pointer(1, index),
               call(BPF_FUNC_map_lookup_elem), jump(BPF_JNE, 0, 0, 2), mov(0, XDP_PASS), leave()});
}

// Reads `size` at r2 + `at`, after the check that `checked` bytes are there
Code packet_read(int size, int at, int checked) {
  return join({kEnds, movr(4, 2), alu(BPF_ADD, 4, checked), jumpr(BPF_JGT, 4, 3, 1), load(size, 5, 2, at), kPass});
}

TEST(VerifierPacket, BoundsAreExact) {
  accepts(packet_read(BPF_W, 10, 14));
  refuses(packet_read(BPF_W, 11, 14), "invalid access to packet");
  refuses(packet_read(BPF_B, -1, 14), "invalid access to packet");
  refuses(packet_read(BPF_DW, 7, 14), "invalid access to packet");
  refuses(join({kEnds, load(BPF_B, 4, 2, 0), kPass}), "compare a pointer behind the last byte with data_end");
}

// Each form of the comparison, on the side where the bytes are there and on the other one.
TEST(VerifierPacket, LearnsFromEveryComparison) {
  struct Form {
    int op;
    bool end_first, taken;
    int bytes;
  };
  for (const auto& form : {Form{BPF_JGT, false, false, 8},
                           {BPF_JGE, false, false, 9},
                           {BPF_JLT, false, true, 9},
                           {BPF_JLE, false, true, 8},
                           {BPF_JLT, true, false, 8},
                           {BPF_JLE, true, false, 9},
                           {BPF_JGT, true, true, 9},
                           {BPF_JGE, true, true, 8}}) {
    const auto program = [&](bool taken, int bytes) {
      const auto compare = form.end_first ? jumpr(form.op, 3, 4, taken ? 2 : 1) : jumpr(form.op, 4, 3, taken ? 2 : 1);
      const auto read = load(BPF_B, 5, 2, bytes - 1);
      return taken ? join({kEnds, movr(4, 2), alu(BPF_ADD, 4, 8), compare, mov(0, 1), leave(), read, kPass})
                   : join({kEnds, movr(4, 2), alu(BPF_ADD, 4, 8), compare, read, kPass});
    };
    accepts(program(form.taken, form.bytes));
    refuses(program(form.taken, form.bytes + 1), "invalid access to packet");
    refuses(program(!form.taken, 1), "invalid access to packet");
  }
}

TEST(VerifierPacket, MetadataEndsAtData) {
  const auto program = [](int at) {
    return join({load(BPF_W, 2, 1, kMeta), load(BPF_W, 3, 1, kData), movr(4, 2), alu(BPF_ADD, 4, 4),
                 jumpr(BPF_JGT, 4, 3, 1), load(BPF_W, 5, 2, at), kPass});
  };
  accepts(program(0));
  refuses(program(1), "invalid access to packet");
}

TEST(VerifierPacket, PointersAreVoidAfterTheFrameMoved) {
  for (const auto helper : {BPF_FUNC_xdp_adjust_head, BPF_FUNC_xdp_adjust_tail, BPF_FUNC_xdp_adjust_meta})
    refuses(join({movr(6, 1), load(BPF_W, 7, 1, kData), load(BPF_W, 3, 1, kDataEnd), movr(4, 7), alu(BPF_ADD, 4, 4),
                  jumpr(BPF_JGT, 4, 3, 5), store(BPF_DW, 10, -8, 7), mov(2, 4), call(helper), load(BPF_DW, 7, 10, -8),
                  load(BPF_B, 0, 7, 0), kPass}),
            "invalid mem access 'scalar'");
}

TEST(VerifierPacket, VariableOffsetsNeedBounds) {
  const auto program = [](const Code& bound) {
    return join({kEnds, movr(4, 2), alu(BPF_ADD, 4, 1), jumpr(BPF_JGT, 4, 3, 100), load(BPF_B, 5, 2, 0), bound,
                 alur(BPF_ADD, 2, 5), movr(4, 2), alu(BPF_ADD, 4, 4), jumpr(BPF_JGT, 4, 3, 1), load(BPF_W, 0, 2, 0),
                 kPass});
  };
  auto good = program({alu(BPF_AND, 5, 60)});
  good[4].off = static_cast<int16_t>(good.size() - 7);
  accepts(good);
  auto negative = program({alu(BPF_SUB, 5, 300)});
  negative[4].off = static_cast<int16_t>(negative.size() - 7);
  refuses(negative, "");
}

TEST(VerifierValue, NullAndBounds) {
  accepts(join({look_up(0), load(BPF_DW, 1, 0, 8), kPass}));
  refuses(join({look_up(0), load(BPF_DW, 1, 0, 9), kPass}), "invalid access to map value");
  refuses(join({look_up(0), load(BPF_B, 1, 0, -1), kPass}), "invalid access to map value");
  refuses(join({look_up(4), store_imm(BPF_W, 0, 0, 1), kPass}), "write into map forbidden");
  refuses(join({store_imm(BPF_W, 10, -4, 0), movr(2, 10), alu(BPF_ADD, 2, -4), map_pointer(1, 0),
                call(BPF_FUNC_map_lookup_elem), load(BPF_W, 0, 0, 0), leave()}),
          "NULL");
}

// r6 = a number of the packet's, below 256; then `bound`, then the value at r0 + r6
Code indexed(const Code& bound) {
  return join({look_up(0), movr(7, 0), load(BPF_DW, 6, 7, 0), bound, alur(BPF_ADD, 7, 6), load(BPF_B, 0, 7, 0), kPass});
}

// The classes of faults that range tracking has had elsewhere: each would let an offset out of its bounds.
TEST(VerifierRanges, NoOffsetLeavesItsBounds) {
  accepts(indexed({alu(BPF_AND, 6, 15)}));
  accepts(indexed(join({jump(BPF_JLT, 6, 16, 2), kPass})));
  accepts(indexed(join({insn(BPF_ALU | BPF_AND | BPF_K, 6, 0, 0, 15)})));
  refuses(indexed({alu(BPF_AND, 6, 16)}), "");
  refuses(indexed(join({jump(BPF_JLE, 6, 16, 2), kPass})), "");
  // signed comparison alone; comparison of the lower half alone
  refuses(indexed(join({jump(BPF_JSLT, 6, 16, 2), kPass})), "");
  refuses(indexed(join({insn(BPF_JMP32 | BPF_JLT | BPF_K, 6, 0, 2, 16), kPass})), "");
  // wrapping: a bounded number, shifted or multiplied out of its bounds
  refuses(indexed(join({alu(BPF_AND, 6, 15), alu(BPF_LSH, 6, 1)})), "");
  refuses(indexed(join({alu(BPF_AND, 6, 15), alu(BPF_MUL, 6, 3)})), "");
  refuses(indexed(join({alu(BPF_AND, 6, 15), alu(BPF_SUB, 6, 1)})), "");
  refuses(indexed(join({alu(BPF_AND, 6, 15), insn(BPF_ALU | BPF_SUB | BPF_K, 6, 0, 0, 1)})), "");
  refuses(indexed(join({alu(BPF_OR, 6, 16), alu(BPF_AND, 6, 31)})), "");
  const Code negate{insn(BPF_ALU64 | BPF_NEG, 6, 0, 0, 0)};
  refuses(indexed(join({alu(BPF_AND, 6, 15), negate})), "");
  accepts(indexed(join({alu(BPF_AND, 6, 15), negate, negate})));
  refuses(indexed(join({alu(BPF_AND, 6, 15), insn(BPF_ALU | BPF_NEG, 6, 0, 0, 0)})), "");
  accepts(indexed(join({alu(BPF_AND, 6, 15), alu(BPF_XOR, 6, 9)})));
  refuses(indexed(join({alu(BPF_AND, 6, 15), alu(BPF_XOR, 6, 16)})), "");
  refuses(indexed(join({alu(BPF_AND, 6, 15), alu(BPF_XOR, 6, -1)})), "");
  refuses(indexed(join({alu(BPF_AND, 6, 255), alu(BPF_DIV, 6, 8)})), "");
  refuses(indexed(join({alu(BPF_AND, 6, 255), alu(BPF_MOD, 6, 17)})), "");
  // division by zero gives 0, modulo by zero leaves what was there
  refuses(indexed(join({mov(5, 0), movr(4, 6), alur(BPF_MOD, 4, 5), alu(BPF_RSH, 4, 1), movr(6, 4)})), "");
  // sign extension of the lower half, shift of an unknown count, signed division
  refuses(indexed(join({alu(BPF_LSH, 6, 60), alu(BPF_ARSH, 6, 60)})), "");
  refuses(indexed(join({mov(5, 1), alur(BPF_LSH, 5, 6), movr(6, 5), alu(BPF_AND, 6, 31)})), "");
  refuses(indexed(join({alu(BPF_DIV, 6, 2, 1), jump(BPF_JSLT, 6, 16, 2), kPass})), "");
  // signed comparisons bound on their side alone
  accepts(indexed(join({jump(BPF_JSGT, 6, 15, 1), jump(BPF_JSGE, 6, 0, 2), kPass})));
  refuses(indexed(join({jump(BPF_JSGE, 6, 0, 2), kPass})), "");
  // x != 16 is no bound, nor is what holds of another copy before it changed
  refuses(indexed(join({alu(BPF_AND, 6, 31), jump(BPF_JNE, 6, 16, 2), kPass})), "");
  refuses(indexed(join({movr(5, 6), alu(BPF_ADD, 6, 1), jump(BPF_JLT, 5, 16, 2), kPass})), "");
  accepts(indexed(join({movr(5, 6), jump(BPF_JLT, 5, 16, 2), kPass})));
  // 32-bit moves cut: their copies are not the same number
  refuses(indexed(join({insn(BPF_ALU | BPF_MOV | BPF_X, 5, 6, 0, 0), jump(BPF_JLT, 5, 16, 2), kPass})), "");
}

// Also of the jump that a program begins with
TEST(VerifierBranches, BothSidesAreWalked) {
  for (const bool fault_taken : {false, true}) {
    const Code fault = join({load(BPF_DW, 0, 10, -8), leave()});
    refuses(fault_taken ? join({jump(BPF_JEQ, 1, 5, 2), kPass, fault}) : join({jump(BPF_JEQ, 1, 5, 2), fault, kPass}),
            "invalid read from stack");
  }
}

TEST(VerifierStack, HoldsWhatWasWritten) {
  accepts(join({mov(1, 3), store(BPF_DW, 10, -8, 1), load(BPF_DW, 0, 10, -8), leave()}));
  refuses(join({load(BPF_DW, 0, 10, -8), leave()}), "invalid read from stack");
  refuses(join({store_imm(BPF_W, 10, -8, 0), load(BPF_DW, 0, 10, -8), leave()}), "invalid read from stack");
  refuses(join({movr(2, 10), alu(BPF_ADD, 2, -513), store_imm(BPF_B, 2, 0, 1), kPass}), "invalid access to stack");
  refuses(join({movr(2, 10), store_imm(BPF_B, 2, 0, 1), kPass}), "invalid access to stack");
  refuses(join({store_imm(BPF_DW, 10, -8, 0), movr(2, 10), alu(BPF_ADD, 2, -7), load(BPF_W, 0, 2, 0), leave()}),
          "misaligned stack access");
  // A spilled pointer comes back whole or not at all
  refuses(join({store(BPF_DW, 10, -8, 1), load(BPF_W, 0, 10, -8), leave()}), "corrupted spill");
  refuses(join({store(BPF_DW, 10, -8, 1), store_imm(BPF_B, 10, -8, 0), load(BPF_DW, 1, 10, -8), load(BPF_W, 0, 1, 0),
                leave()}),
          "invalid mem access 'scalar'");
}

TEST(VerifierRegisters, HaveToBeWritten) {
  refuses({leave()}, "R0 !read_ok");
  refuses(join({movr(0, 2), leave()}), "R2 !read_ok");
  refuses(join({mov(1, 0), call(BPF_FUNC_ktime_get_ns), movr(0, 1), leave()}), "R1 !read_ok");
}

// However large the number, and wherever the access lies from it
TEST(VerifierPointers, NumbersAreNone) {
  const Code unknown{call(BPF_FUNC_ktime_get_ns)};
  const Code greatest = join({mov(0, -1), alu(BPF_RSH, 0, 1)});
  const Code least = join({mov(0, 1), alu(BPF_LSH, 0, 63)});
  const Code halves = join({unknown, alu(BPF_RSH, 0, 1)});
  const Code negative = join({unknown, alu(BPF_ARSH, 0, 1)});
  for (const auto& number : {Code{mov(0, 0)}, Code{mov(0, -1)}, unknown, greatest, least, halves, negative})
    for (const int at : {0, 1, -1, INT16_MAX, INT16_MIN}) {
      const auto exchange = insn(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, static_cast<int16_t>(at), BPF_ADD);
      for (const auto& access : {load(BPF_B, 1, 0, at), store_imm(BPF_B, 0, at, 1), store(BPF_DW, 0, at, 0)})
        refuses(join({number, access, kPass}), "invalid mem access 'scalar'");
      refuses(join({number, mov(1, 1), exchange, kPass}), "invalid mem access 'scalar'");
    }
}

TEST(VerifierPointers, NeitherLeakNorCompute) {
  refuses(join({movr(0, 1), leave()}), "leaks addr");
  refuses(join({movr(0, 10), leave()}), "leaks addr");
  refuses(join({alu(BPF_MUL, 1, 2), kPass}), "prohibited");
  refuses(join({kEnds, alur(BPF_ADD, 2, 3), kPass}), "prohibited");
  refuses(join({kEnds, insn(BPF_ALU | BPF_ADD | BPF_K, 2, 0, 0, 1), kPass}), "32-bit pointer arithmetic");
  refuses(join({kEnds, alu(BPF_ADD, 3, 1), kPass}), "prohibited");
  refuses(join({mov(4, 5), alur(BPF_SUB, 4, 1), kPass}), "subtract pointer from scalar");
  refuses(join({alu(BPF_ADD, 1, 4), load(BPF_W, 2, 1, 0), kPass}), "modified ctx");
}

TEST(VerifierContext, FieldsAsTheKernelsPrograms) {
  accepts(join({load(BPF_W, 0, 1, 12), leave()}));
  refuses(join({load(BPF_H, 0, 1, 12), leave()}), "invalid bpf_context access");
  refuses(join({load(BPF_W, 0, 1, 24), leave()}), "invalid bpf_context access");
  refuses(join({load(BPF_W, 0, 1, 2), leave()}), "invalid bpf_context access");
  refuses(join({store_imm(BPF_W, 1, 12, 0), kPass}), "invalid bpf_context access");
  refuses(join({load(BPF_W, 0, 1, 20), leave()}), "invalid bpf_context access");
  accepts(join({load(BPF_W, 0, 1, 20), leave()}), "xdp/devmap");
}

TEST(VerifierLoops, EndOrAreRefused) {
  accepts(join({mov(0, 0), alu(BPF_ADD, 0, 1), jump(BPF_JLT, 0, 1000, -2), leave()}));
  refuses(join({mov(0, 0), go(-1), leave()}), "unreachable");
  refuses(join({mov(0, 0), mov(1, 0), jump(BPF_JEQ, 1, 0, -1), leave()}), "infinite loop");
  refuses(join({call(BPF_FUNC_get_prandom_u32), jump(BPF_JNE, 0, 0, -2), leave()}), "infinite loop");
  // Bounded, but by far too much
  refuses(join({mov(0, 0), alu(BPF_ADD, 0, 1), jump(BPF_JLT, 0, 1'000'000, -2), leave()}), "too large");
}

TEST(VerifierHelpers, ArgumentsAreChecked) {
  const auto update = [](int value_at) {
    return join({store_imm(BPF_W, 10, -4, 0), store_imm(BPF_DW, 10, -16, 0), store_imm(BPF_DW, 10, -24, 0), movr(2, 10),
                 alu(BPF_ADD, 2, -4), movr(3, 10), alu(BPF_ADD, 3, value_at), mov(4, 0), map_pointer(1, 0),
                 call(BPF_FUNC_map_update_elem), kPass});
  };
  accepts(update(-24));
  refuses(update(-32), "invalid read from stack");
  refuses(update(-8), "stack");
  refuses(join({mov(1, 0), movr(2, 10), call(BPF_FUNC_map_lookup_elem), kPass}), "expected=map_ptr");
  refuses(join({mov(2, 4), mov(1, 0), call(BPF_FUNC_xdp_adjust_head), kPass}), "expected=ctx");
  refuses(join({map_pointer(2, 0), mov(3, 0), call(BPF_FUNC_tail_call), kPass}), "cannot pass map_type");
  refuses(join({call(BPF_FUNC_get_current_task), kPass}), "cannot use helper");
  refuses(join({mov(2, 0), movr(3, 10), alu(BPF_ADD, 3, -8), mov(4, 9), call(BPF_FUNC_xdp_load_bytes), kPass}),
          "stack");
  refuses(join({mov(2, 0), movr(3, 10), alu(BPF_ADD, 3, -8), mov(4, 0), call(BPF_FUNC_xdp_load_bytes), kPass}),
          "zero-sized");
}

TEST(VerifierJoins, TypesMayNotBeConfused) {
  // r6 is a number on one way and a pointer on the other
  refuses(join({movr(6, 10), mov(7, 5), call(BPF_FUNC_get_prandom_u32), jump(BPF_JEQ, 0, 1, 1), movr(6, 7),
                store_imm(BPF_B, 6, -8, 1), kPass}),
          "invalid mem access 'scalar'");
}

// What a way that ended well did not read is free on the next one that meets it: but a value that changes unread, by
// what is learned or lost elsewhere, was read if it is read afterwards.
TEST(VerifierJoins, WhatChangesUnreadStillMatters) {
  struct Meeting {
    Code sound, broken, behind;
    const char* why;
  };
  const auto fault = join({load(BPF_DW, 0, 10, -16), leave()});
  const auto found = join({store_imm(BPF_W, 10, -4, 0), movr(2, 10), alu(BPF_ADD, 2, -4), map_pointer(1, 0),
                           call(BPF_FUNC_map_lookup_elem)});
  const auto record = join({map_pointer(1, 2), mov(2, 16), mov(3, 0), call(BPF_FUNC_ringbuf_reserve),
                            jump(BPF_JNE, 0, 0, 2), mov(0, 0), leave(), movr(7, 0)});
  const auto number = join({call(BPF_FUNC_ktime_get_ns), movr(7, 0)});
  const Meeting meetings[] = {
      {join({number, movr(8, 7)}), join({number, mov(8, 92)}),
       join({jump(BPF_JSGT, 7, -64, 3), jump(BPF_JSLT, 8, 0, 2), fault, kPass}), "invalid read from stack"},
      {join({found, movr(8, 0)}), join({found, mov(8, 5)}),
       join({jump(BPF_JNE, 0, 0, 3), jump(BPF_JEQ, 8, 0, 2), fault, kPass}), "invalid read from stack"},
      {{load(BPF_W, 8, 6, kData)},
       {mov(7, 0)},
       join({movr(1, 6), mov(2, 0), call(BPF_FUNC_xdp_adjust_head), movr(0, 8), leave()}),
       "R8 !read_ok"},
      {join({record, movr(8, 7)}), record,
       join({movr(1, 7), mov(2, 0), call(BPF_FUNC_ringbuf_submit), movr(0, 8), leave()}), "R8 !read_ok"},
      {join({mov(7, 3), store(BPF_DW, 10, -8, 7)}),
       {store(BPF_DW, 10, -8, 6)},
       join({load(BPF_B, 0, 10, -7), leave()}),
       "corrupted spill"},
  };
  // The jump's own way is walked last
  const auto meet = [](const Code& first, const Code& second, const Code& behind) {
    const auto skip = [](const Code& code) { return static_cast<int>(code.size()); };
    return join({movr(6, 1), mov(9, 0), mov(9, 1), mov(9, 2), mov(9, 3), call(BPF_FUNC_get_prandom_u32),
                 jump(BPF_JEQ, 0, 1, skip(first) + 1), first, jump(BPF_JA, 0, 0, skip(second)), second, behind});
  };
  for (const auto& [sound, broken, behind, why] : meetings) {
    accepts(meet(sound, sound, behind));
    refuses(meet(sound, broken, behind), why);
  }
}

TEST(VerifierReferences, AreGivenBackOnce) {
  const auto reserve = join({map_pointer(1, 2), mov(2, 16), mov(3, 0), call(BPF_FUNC_ringbuf_reserve),
                             jump(BPF_JNE, 0, 0, 2), mov(0, 0), leave(), movr(6, 0)});
  const auto submit = join({movr(1, 6), mov(2, 0), call(BPF_FUNC_ringbuf_submit)});
  accepts(join({reserve, store_imm(BPF_DW, 6, 8, 1), submit, kPass}));
  refuses(join({reserve, store_imm(BPF_DW, 6, 9, 1), submit, kPass}), "invalid access to memory");
  refuses(join({reserve, kPass}), "Unreleased reference");
  refuses(join({reserve, submit, submit, kPass}), "expected=ringbuf_mem");
  refuses(join({reserve, submit, store_imm(BPF_DW, 6, 0, 1), kPass}), "invalid mem access 'scalar'");
}

TEST(VerifierLocks, AreHeldAlone) {
  const auto lock = join({look_up(1), movr(6, 0), movr(1, 6), call(BPF_FUNC_spin_lock)});
  const auto unlock = join({movr(1, 6), call(BPF_FUNC_spin_unlock)});
  accepts(join({lock, store_imm(BPF_W, 6, 4, 1), unlock, kPass}));
  refuses(join({lock, store_imm(BPF_W, 6, 0, 1), unlock, kPass}), "bpf_spin_lock cannot be accessed");
  refuses(join({lock, kPass}), "while holding a lock");
  refuses(join({lock, call(BPF_FUNC_ktime_get_ns), unlock, kPass}), "while holding a lock");
  refuses(join({look_up(1), movr(6, 0), unlock, kPass}), "without taking");
}

TEST(VerifierCalls, FramesShareTheStack) {
  const auto program = [](int outer, int inner) {
    return join({store_imm(BPF_DW, 10, outer, 0), call_local(2), mov(0, 2), leave(), store_imm(BPF_DW, 10, inner, 0),
                 mov(0, 0), leave()});
  };
  accepts(program(-256, -256));
  refuses(program(-264, -256), "combined stack size");
  // A callee's frame is gone afterwards
  refuses(join({call_local(2), store_imm(BPF_B, 0, 0, 1), leave(), movr(0, 10), alu(BPF_ADD, 0, -8), leave()}),
          "cannot return stack pointer");
}

TEST(VerifierAtomics, WorkOnValuesAlone) {
  accepts(join({look_up(0), mov(1, 1), atomic(BPF_DW, 0, 8, 1, BPF_ADD), kPass}));
  refuses(join({look_up(0), mov(1, 1), atomic(BPF_DW, 0, 4, 1, BPF_ADD), kPass}), "misaligned");
  refuses(join({look_up(0), mov(1, 1), atomic(BPF_DW, 0, 16, 1, BPF_ADD), kPass}), "invalid access to map value");
  refuses(join({kEnds, movr(4, 2), alu(BPF_ADD, 4, 8), jumpr(BPF_JGT, 4, 3, 2), mov(5, 1),
                atomic(BPF_DW, 2, 0, 5, BPF_ADD), kPass}),
          "BPF_ATOMIC stores into");
}

TEST(VerifierConstants, AreFoldedFromReadOnlyData) {
  // 0x07 chooses the way that is sound; the other is dead
  const auto report =
      judge(join({map_value(1, 3, 0), load(BPF_B, 2, 1, 0), jump(BPF_JEQ, 2, 7, 1), load(BPF_B, 0, 2, 0), kPass}));
  ASSERT_FALSE(report.refusal) << report.refusal->line();
  EXPECT_FALSE(report.facts.reached[4]);
  EXPECT_TRUE(report.facts.reached[5]);
  EXPECT_EQ(report.facts.access[2].memory, verifier::Memory::map_value);
  EXPECT_EQ(report.facts.access[2].map, 3U);
}

TEST(VerifierFacts, OfCallsSayWhichMapAndWhereTheKeyIs) {
  const auto call_of = [](const Code& code) {
    return static_cast<size_t>(std::ranges::find(code, call(BPF_FUNC_map_lookup_elem).code, &bpf_insn::code) -
                               code.begin());
  };
  const auto code = join({store_imm(BPF_W, 10, -12, 0), movr(2, 10), alu(BPF_ADD, 2, -12), map_pointer(1, 0),
                          call(BPF_FUNC_map_lookup_elem), kPass});
  auto report = judge(code);
  ASSERT_FALSE(report.refusal) << report.refusal->line();
  EXPECT_EQ(report.facts.call_map[call_of(code)], 0);
  const auto& key = report.facts.access[call_of(code)];
  EXPECT_EQ(key.memory, verifier::Memory::stack);
  EXPECT_TRUE(key.own_frame && key.fixed);
  EXPECT_EQ(key.low, -12);
  EXPECT_EQ(key.high, -12);
  // One map or another, one key or another, by the way to the call
  const auto either = join({load(BPF_W, 6, 1, 12), store_imm(BPF_W, 10, -12, 0), store_imm(BPF_W, 10, -4, 0),
                            movr(2, 10), map_pointer(1, 0), alu(BPF_ADD, 2, -12), jump(BPF_JEQ, 6, 0, 3),
                            map_pointer(1, 3), alu(BPF_ADD, 2, 8), call(BPF_FUNC_map_lookup_elem), kPass});
  report = judge(either);
  ASSERT_FALSE(report.refusal) << report.refusal->line();
  EXPECT_EQ(report.facts.call_map[call_of(either)], verifier::kAnyMap);
  EXPECT_EQ(report.facts.access[call_of(either)].low, -12);
  EXPECT_EQ(report.facts.access[call_of(either)].high, -4);
}

TEST(VerifierSpeed, ManyBranchesMeet) {
  Code code = {mov(7, 0)};
  for (int i = 0; i < 1024; ++i)
    code = join({code, call(BPF_FUNC_get_prandom_u32), jump(BPF_JSET, 0, 1, 1), alu(BPF_ADD, 7, 1), movr(8, 7)});
  code = join({code, kPass});
  const auto start = std::chrono::steady_clock::now();
  accepts(code);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(VerifierMessages, SayWhereAndWhatToDo) {
  const auto report = judge(packet_read(BPF_W, 11, 14));
  ASSERT_TRUE(report.refusal);
  EXPECT_EQ(report.refusal->line(),
            "instruction 5: invalid access to packet, off=11 size=4, R2(id=0,off=0,r=14): R2 offset is outside of the "
            "packet: compare a pointer behind the last byte with data_end first, on every way to this access");
  EXPECT_NE(report.refusal->state.find("R2=pkt(r=14)"), std::string::npos) << report.refusal->state;
}

}  // namespace
}  // namespace xbond::bpf::test
