// What the engine llvm does beyond running instructions: which programs it takes, keys out of the stack, and programs
// of both engines that go on with each other. Skipped where it is not in the build.
#include <fmt/format.h>

#include <cstring>

#include "bpf_compat/engine/listing.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

class Llvm : public testing::Test {
 protected:
  void SetUp() override {
    if (!engine_available(EngineKind::llvm)) GTEST_SKIP() << "llvm is not in this build";
  }
};

const Code kUnsafe = join({load(BPF_W, 1, 1, 0), load(BPF_B, 0, 1, 0), leave()});
constexpr std::string_view kReason = "the verifier refuses it: instruction 1: invalid access to packet, off=0 size=1";

TEST_F(Llvm, TakesWhatTheVerifierAcceptsAndSaysWhyNot) {
  const Bench good({mov(0, XDP_PASS), leave()}, {}, 1, EngineKind::llvm);
  ASSERT_TRUE(good.program) << good.error.text;
  EXPECT_EQ(good.program->engine(), EngineKind::llvm);
  EXPECT_EQ(good.program->why_engine(), "");
  const Bench bad(kUnsafe, {}, 1, EngineKind::llvm);
  ASSERT_FALSE(bad.program);
  EXPECT_EQ(bad.error.code, EACCES);
  const auto text = fmt::format("object test.o: program test: engine llvm can't take it: {}", kReason);
  EXPECT_EQ(bad.error.text.substr(0, text.size()), text);
  const Bench left(kUnsafe, {}, 1, EngineKind::automatic);
  ASSERT_TRUE(left.program) << left.error.text;
  EXPECT_EQ(left.program->engine(), EngineKind::interpreter);
  const auto why = fmt::format("rte_bpf: not in this build; llvm: {}", kReason);
  EXPECT_EQ(left.program->why_engine().substr(0, why.size()), why);
  EXPECT_EQ(left.program->why_engine().find('\n'), std::string::npos);
}

// The frame's first bytes are the key: copied to the stack in pieces of `width` bytes, from the frame's byte 1 on where
// they would not be aligned otherwise. Gives the value, or 0.
Code look_up_from_frame(uint32_t key_size, uint32_t width) {
  Code code = join({load(BPF_W, 7, 1, 0), load(BPF_W, 8, 1, 4), movr(2, 7), alu(BPF_ADD, 2, 64),
                    jumpr(BPF_JLE, 2, 8, 2), mov(0, 1), leave()});
  const auto bottom = -static_cast<int>((key_size + 7) / 8 * 8);
  for (uint32_t at = 0; at < key_size;) {
    auto bytes = width;
    while (bytes > key_size - at || at % bytes != 0) bytes /= 2;
    const int size = bytes == 8 ? BPF_DW : bytes == 4 ? BPF_W : bytes == 2 ? BPF_H : BPF_B;
    code.push_back(load(size, 3, 7, static_cast<int>(at)));
    code.push_back(store(size, 10, bottom + static_cast<int>(at), 3));
    at += bytes;
  }
  const auto rest = join({movr(2, 10), alu(BPF_ADD, 2, bottom), map_pointer(1, 0), call(BPF_FUNC_map_lookup_elem),
                          jump(BPF_JEQ, 0, 0, 1), load(BPF_W, 0, 0, 0), leave()});
  code.insert(code.end(), rest.begin(), rest.end());
  return code;
}

TEST_F(Llvm, FindsKeysOfAllSizesInWhateverWidthsTheyWereStored) {
  for (const auto type : {BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH, BPF_MAP_TYPE_PERCPU_HASH}) {
    for (const uint32_t key_size : {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 16, 17, 20, 24, 31, 32, 33, 40, 64}) {
      for (const uint32_t width : {1, 2, 4, 8}) {
        MapSpec spec{.name = "m", .type = type, .key_size = key_size, .value_size = 4, .max_entries = 8};
        Bench bench(look_up_from_frame(key_size, width), {spec}, 1, EngineKind::llvm);
        ASSERT_TRUE(bench.program) << bench.error.text;
        ASSERT_EQ(bench.run().verdict, 0U);
        const auto key = Frame::counting(key_size);
        std::vector<std::byte> value(bench.map(0).control_value_size());
        value[1] = std::byte{7};
        ASSERT_EQ(bench.map(0).copy_update(std::as_bytes(std::span(key)), value, BPF_ANY), 0);
        EXPECT_EQ(bench.run().verdict, 0x700U) << "type " << type << ", key " << key_size << " in widths " << width;
        // Any other byte is another key
        for (uint32_t at = 0; at < key_size; ++at) {
          Frame frame;
          frame.view.data[at] ^= 0x80;
          EXPECT_EQ(bench.run(frame).verdict, 0U) << "byte " << at << " of " << key_size;
        }
      }
    }
  }
}

// r0 = the array's value at the frame's first byte
TEST_F(Llvm, ArraysEndWhereTheyEnd) {
  for (const bool per_cpu : {false, true}) {
    const auto spec = per_cpu ? percpu_spec("m", 12, 3) : array_spec("m", 12, 3);
    Bench bench(join({load(BPF_W, 7, 1, 0),
                      load(BPF_W, 8, 1, 4),
                      movr(2, 7),
                      alu(BPF_ADD, 2, 1),
                      jumpr(BPF_JLE, 2, 8, 2),
                      mov(0, 1),
                      leave(),
                      load(BPF_B, 3, 7, 0),
                      store(BPF_W, 10, -4, 3),
                      movr(2, 10),
                      alu(BPF_ADD, 2, -4),
                      map_pointer(1, 0),
                      call(BPF_FUNC_map_lookup_elem),
                      jump(BPF_JNE, 0, 0, 2),
                      mov(0, 77),
                      leave(),
                      load(BPF_W, 1, 0, 8),
                      store_imm(BPF_W, 0, 8, 5),
                      movr(0, 1),
                      leave()}),
                {spec}, 2, EngineKind::llvm);
    ASSERT_TRUE(bench.program) << bench.error.text;
    const auto at = [&](uint8_t index, uint32_t cpu) {
      Frame frame;
      frame.view.data[0] = index;
      return bench.run(frame, cpu).verdict;
    };
    EXPECT_EQ(at(2, 1), 0U);
    EXPECT_EQ(at(2, 1), 5U);
    EXPECT_EQ(at(2, 0), per_cpu ? 0U : 5U);
    EXPECT_EQ(at(1, 1), 0U);
    EXPECT_EQ(at(3, 1), 77U);
    EXPECT_EQ(at(255, 0), 77U);
  }
}

TEST_F(Llvm, ConstantsRemoveCode) {
  MapSpec constants = array_spec(".rodata", 4, 1, BPF_F_RDONLY_PROG);
  constants.frozen = true;
  constants.initial.resize(4);
  constants.initial[0] = std::byte{9};
  // r0 = constant * 3 + 1
  const auto object = Object::of(
      "o", {constants},
      {{.name = "p",
        .section = "xdp",
        .insns = join({map_value(1, 0, 0), load(BPF_W, 0, 1, 0), alu(BPF_MUL, 0, 3), alu(BPF_ADD, 0, 1), leave()})}});
  const auto text = list_program(object, object.programs()[0], Listing::lowered);
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_NE(text->find("store i32 28,"), std::string::npos) << *text;
  EXPECT_EQ(text->find("mul"), std::string::npos) << *text;
}

// An object whose first program goes on with the others by a prog array.
Object chained(std::vector<Code> codes) {
  MapSpec programs{
      .name = "programs", .type = BPF_MAP_TYPE_PROG_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 4};
  std::vector<ProgramSpec> specs;
  for (uint32_t i = 0; i < codes.size(); ++i) {
    const auto name = fmt::format("p{}", i);
    if (i != 0) programs.initial_refs.push_back({.key = i, .target = name});
    specs.push_back({.name = name, .section = "xdp", .insns = std::move(codes[i])});
  }
  return Object::of("o", {programs, array_spec("cells", 8, 1)}, std::move(specs));
}

Code tail(uint32_t index, int otherwise) {
  return join({map_pointer(2, 0), mov(3, index), call(BPF_FUNC_tail_call), mov(0, otherwise), leave()});
}

TEST_F(Llvm, ProgramsOfBothEnginesGoOnWithEachOther) {
  // p1 has no proof: its variable offset is unbounded. It goes on with p2, which has one
  const auto unproven = join({movr(6, 1), map_value(4, 1, 0), load(BPF_B, 5, 4, 1), alur(BPF_ADD, 4, 5),
                              load(BPF_B, 5, 4, 0), movr(1, 6), tail(2, 40)});
  const auto object = chained({tail(1, 30), unproven, join({mov(0, 50), leave()})});
  const auto program = Program::load(object, object.programs()[0], {.engine = EngineKind::llvm});
  ASSERT_TRUE(program) << program.error().text;
  EXPECT_EQ((*program)->engine(), EngineKind::llvm);
  Frame frame;
  uint32_t verdict = 0;
  (*program)->run_burst({&frame.view, 1}, &verdict, 0);
  EXPECT_EQ(verdict, 50U);
  // A rule that the interpreted one breaks is told as its own
  auto& cells = *(*program)->maps()[1];
  const uint32_t key = 0;
  const uint64_t far = 0xff00;
  ASSERT_EQ(cells.copy_update(std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(&far, 1)), BPF_ANY), 0);
  (*program)->run_burst({&frame.view, 1}, &verdict, 0);
  EXPECT_EQ(verdict, XDP_ABORTED);
  EXPECT_EQ((*program)->faults().last, "instruction 5: read outside stack, packet and map values");
}

TEST_F(Llvm, AFunctionThatEndsInAnotherProgramComesBackToItsCaller) {
  // The other program has a stack of its own, and helpers look at each
  const auto update =
      join({store_imm(BPF_W, 10, -4, 0), store_imm(BPF_DW, 10, -16, 3), movr(2, 10), alu(BPF_ADD, 2, -4), movr(3, 10),
            alu(BPF_ADD, 3, -16), map_pointer(1, 1), mov(4, 0), call(BPF_FUNC_map_update_elem)});
  const auto function = tail(1, 9);
  const auto after =
      join({update, map_value(1, 1, 0), load(BPF_DW, 1, 1, 0), movr(0, 7), alur(BPF_ADD, 0, 1), leave()});
  const auto root = join({call_local(static_cast<int>(after.size()) + 1), movr(7, 0), after, function});
  const auto object = chained({root, join({update, mov(0, 20), leave()})});
  const auto program = Program::load(object, object.programs()[0], {.engine = EngineKind::llvm});
  ASSERT_TRUE(program) << program.error().text;
  for (int turn = 0; turn < 2; ++turn) {
    Frame frame;
    uint32_t verdict = 0;
    (*program)->run_burst({&frame.view, 1}, &verdict, 0);
    EXPECT_EQ(verdict, 23U);
  }
  EXPECT_EQ((*program)->faults().count, 0U) << (*program)->faults().last;
}

}  // namespace
}  // namespace xbond::bpf::test
