// Maps that hold maps and programs: control's errno, what programs get, tail calls, life times.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "bpf_compat/engine/program.hpp"
#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

MapSpec outer_spec(uint32_t type, const MapSpec& inner, uint32_t entries = 4) {
  auto spec = spec_of(type, 4, 4, entries);
  spec.name = "outer";
  spec.inner = std::make_shared<const MapSpec>(inner);
  return spec;
}

MapSpec inner_spec(uint32_t entries = 2) {
  return array_spec("inner", 8, entries);
}

int put(Map& map, uint32_t key, uint32_t id, uint64_t flags = BPF_ANY) {
  return map.copy_update(in(key), in(id), flags);
}

TEST(MapOfMaps, ErrnoIsTheKernels) {
  for (const auto type : {BPF_MAP_TYPE_ARRAY_OF_MAPS, BPF_MAP_TYPE_HASH_OF_MAPS}) {
    const bool array = type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
    const auto outer = make(outer_spec(type, inner_spec()));
    const auto inner = make(inner_spec());
    const auto longer = make(inner_spec(3));
    const auto other = make(spec_of(BPF_MAP_TYPE_HASH, 4, 8, 2));
    uint32_t id = 0;
    EXPECT_EQ(outer->copy_lookup(in(uint32_t{0}), out(id)), -ENOENT);
    EXPECT_EQ(put(*outer, 0, inner->id()), 0);
    EXPECT_EQ(outer->copy_lookup(in(uint32_t{0}), out(id)), 0);
    EXPECT_EQ(id, inner->id());
    EXPECT_EQ(put(*outer, 1, longer->id()), -EINVAL);
    EXPECT_EQ(put(*outer, 1, other->id()), -EINVAL);
    EXPECT_EQ(put(*outer, 1, 0x7fffffff), -EBADF);
    EXPECT_EQ(put(*outer, 0, inner->id(), BPF_NOEXIST), array ? -EINVAL : -EEXIST);
    EXPECT_EQ(put(*outer, 9, inner->id()), array ? -E2BIG : 0);
    EXPECT_EQ(outer->copy_erase(in(uint32_t{0})), 0);
    EXPECT_EQ(outer->copy_erase(in(uint32_t{0})), -ENOENT);
    EXPECT_EQ(outer->copy_take(in(uint32_t{0}), out(id)), -524);
    auto spec = outer_spec(type, inner_spec());
    spec.inner = nullptr;
    EXPECT_EQ(refusal(spec), EINVAL);
    EXPECT_EQ(refusal(outer_spec(type, outer_spec(type, inner_spec()))), EINVAL);
  }
}

TEST(MapOfMaps, InnerHashesMayDifferInSize) {
  const auto outer = make(outer_spec(BPF_MAP_TYPE_ARRAY_OF_MAPS, spec_of(BPF_MAP_TYPE_HASH, 4, 8, 2)));
  const auto gone = make(spec_of(BPF_MAP_TYPE_HASH, 4, 8, 100))->id();
  EXPECT_EQ(put(*outer, 0, gone), -EBADF);
  const auto inner = make(spec_of(BPF_MAP_TYPE_HASH, 4, 8, 100));
  EXPECT_EQ(put(*outer, 0, inner->id()), 0);
}

// Looks `key` up in the outer map, then 1 in the inner one, adds 5 to its value, and returns it.
Code two_lookups() {
  return join({store_imm(BPF_W, 10, -4, 0),
               map_pointer(1, 0),
               movr(2, 10),
               alu(BPF_ADD, 2, -4),
               call(BPF_FUNC_map_lookup_elem),
               jump(BPF_JNE, 0, 0, 2),
               mov(0, 100),
               leave(),
               movr(1, 0),
               store_imm(BPF_W, 10, -4, 1),
               movr(2, 10),
               alu(BPF_ADD, 2, -4),
               call(BPF_FUNC_map_lookup_elem),
               jump(BPF_JNE, 0, 0, 2),
               mov(0, 101),
               leave(),
               load(BPF_DW, 1, 0, 0),
               alu(BPF_ADD, 1, 5),
               store(BPF_DW, 0, 0, 1),
               movr(0, 1),
               leave()});
}

TEST(MapOfMaps, ProgramsReachTheInnerValues) {
  for (const auto type : {BPF_MAP_TYPE_ARRAY_OF_MAPS, BPF_MAP_TYPE_HASH_OF_MAPS}) {
    for (const auto& inner_shape : {inner_spec(), spec_of(BPF_MAP_TYPE_HASH, 4, 8, 2)}) {
      Bench bench(two_lookups(), {outer_spec(type, inner_shape)});
      ASSERT_TRUE(bench.program) << bench.error.text;
      EXPECT_EQ(bench.run().verdict, 100U);
      auto inner = make(inner_shape);
      EXPECT_EQ(put(bench.map(0), 0, inner->id()), 0);
      EXPECT_EQ(bench.run().verdict, inner_shape.type == BPF_MAP_TYPE_HASH ? 101U : 5U);
      EXPECT_EQ(inner->copy_update(in(uint32_t{1}), in(uint64_t{7}), BPF_ANY), 0);
      const auto outcome = bench.run();
      EXPECT_EQ(outcome.verdict, 12U) << outcome.fault;
      // The outer map keeps it
      const auto id = inner->id();
      inner.reset();
      EXPECT_TRUE(Map::find(id));
      EXPECT_EQ(bench.run().verdict, 17U);
      EXPECT_EQ(bench.map(0).copy_erase(in(uint32_t{0})), 0);
      EXPECT_EQ(bench.run().verdict, 100U);
    }
  }
}

TEST(MapOfMaps, ProgramsCantWriteTheOuterOne) {
  Bench bench(join({store_imm(BPF_W, 10, -4, 0), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4), movr(3, 2),
                    mov(4, 0), call(BPF_FUNC_map_update_elem), leave()}),
              {outer_spec(BPF_MAP_TYPE_ARRAY_OF_MAPS, inner_spec())});
  EXPECT_TRUE(bench.run().fault.ends_with("write to a map that programs may only read"));
}

TEST(MapOfMaps, InnerMapsComeAndGoWhileProgramsRun) {
  Bench bench(two_lookups(), {outer_spec(BPF_MAP_TYPE_HASH_OF_MAPS, inner_spec())}, 1);
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) {
      const auto outcome = bench.run();
      EXPECT_EQ(outcome.fault, "");
      EXPECT_TRUE(outcome.verdict == 100 || outcome.verdict % 5 == 0) << outcome.verdict;
    }
  });
  for (int i = 0; i < 1500; ++i) {
    const auto inner = make(inner_spec(), 1);
    EXPECT_EQ(put(bench.map(0), 0, inner->id()), 0);
    if (i % 3 == 0) {
      EXPECT_EQ(bench.map(0).copy_erase(in(uint32_t{0})), 0);
    }
  }
  stop = true;
  worker.join();
}

// --- programs

MapSpec jumps_spec(std::vector<MapSpec::Ref> refs = {}, uint32_t entries = 4) {
  auto spec = spec_of(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, entries);
  spec.name = "jumps";
  spec.initial_refs = std::move(refs);
  return spec;
}

Code jump_to(int64_t index, int64_t otherwise) {
  return join({movr(6, 1), map_pointer(2, 0), mov(3, index), call(BPF_FUNC_tail_call), mov(0, otherwise), leave()});
}

ProgramSpec program_of(std::string name, Code code) {
  return {.name = std::move(name), .section = "xdp", .insns = std::move(code)};
}

struct Loaded {
  std::shared_ptr<Program> program;
  Error error;
  std::string fault;

  uint32_t run(Frame& frame, uint32_t cpu = 0) {
    uint32_t verdict = 0;
    const auto before = program->faults().count;
    program->run_burst({&frame.view, 1}, &verdict, cpu);
    fault = program->faults().count != before ? program->faults().last : "";
    return verdict;
  }
  uint32_t run() {
    Frame frame;
    return run(frame);
  }
};

Loaded load_first(std::vector<MapSpec> maps, std::vector<ProgramSpec> programs, LoadOptions options = {}) {
  const auto object = Object::of("test.o", std::move(maps), std::move(programs));
  auto loaded = Program::load(object, object.programs().front(), options);
  return loaded ? Loaded{*loaded, {}, ""} : Loaded{nullptr, loaded.error(), ""};
}

TEST(TailCall, RunsTheProgramInItsPlaceOrFallsThrough) {
  auto loaded = load_first({jumps_spec({{1, "second"}})},
                           {program_of("first", jump_to(1, 7)), program_of("second", {mov(0, 42), leave()})});
  ASSERT_TRUE(loaded.program) << loaded.error.text;
  EXPECT_EQ(loaded.run(), 42U);
  auto& jumps = *loaded.program->maps()[0];
  EXPECT_EQ(jumps.copy_erase(in(uint32_t{1})), 0);
  EXPECT_EQ(loaded.run(), 7U);
  EXPECT_EQ(jumps.copy_erase(in(uint32_t{1})), -ENOENT);
  const auto again = loaded.program->sibling("second");
  ASSERT_TRUE(again);
  EXPECT_EQ(put(jumps, 1, (*again)->id()), 0);
  EXPECT_EQ(loaded.run(), 42U);
  EXPECT_EQ(put(jumps, 1, 0x7fffffff), -EBADF);
  EXPECT_EQ(put(jumps, 4, (*again)->id()), -E2BIG);
  EXPECT_EQ(put(jumps, 1, (*again)->id(), BPF_EXIST), -EINVAL);
  EXPECT_EQ(loaded.program->sibling("third").error().code, ENOENT);
  auto outside = load_first({jumps_spec()}, {program_of("first", jump_to(99, 7))});
  EXPECT_EQ(outside.run(), 7U);
}

TEST(TailCall, ThirtyThreeDeep) {
  // Counts its calls in a map until the jump falls through
  const auto code =
      join({movr(6, 1), map_value(1, 1, 0), mov(2, 1), atomic(BPF_DW, 1, 0, 2, BPF_ADD), movr(1, 6), map_pointer(2, 0),
            mov(3, 0), call(BPF_FUNC_tail_call), map_value(1, 1, 0), load(BPF_DW, 0, 1, 0), leave()});
  auto loaded = load_first({jumps_spec({{0, "itself"}}), array_spec("count", 8, 1)}, {program_of("itself", code)});
  ASSERT_TRUE(loaded.program) << loaded.error.text;
  EXPECT_EQ(loaded.run(), 34U);
  EXPECT_EQ(loaded.run(), 68U) << "counted anew for each frame";
}

TEST(TailCall, FromAFunctionReturnsToItsCaller) {
  // main calls a function, which jumps; main then adds 1, with its own register and stack
  const auto code = join({movr(6, 1), mov(7, 1000), store_imm(BPF_DW, 10, -8, 100), call_local(4), alur(BPF_ADD, 0, 7),
                          load(BPF_DW, 1, 10, -8), alur(BPF_ADD, 0, 1), leave(), map_pointer(2, 0), mov(3, 0),
                          call(BPF_FUNC_tail_call), mov(0, 3), leave()});
  const auto target = join({store_imm(BPF_DW, 10, -8, 555), mov(7, 9), call_local(1), leave(), mov(0, 42), leave()});
  auto loaded = load_first({jumps_spec({{0, "target"}})}, {program_of("main", code), program_of("target", target)});
  ASSERT_TRUE(loaded.program) << loaded.error.text;
  EXPECT_EQ(loaded.run(), 1142U) << loaded.fault;
  EXPECT_EQ(loaded.run(), 1142U) << loaded.fault;
}

TEST(TailCall, FaultsNameTheInstructionAndEndlessLoopsEnd) {
  auto loaded = load_first(
      {jumps_spec({{0, "bad"}})},
      {program_of("first", jump_to(0, 7)), program_of("bad", {mov(1, 0), mov(2, 0), load(BPF_B, 0, 1, 0), leave()})});
  EXPECT_EQ(loaded.run(), uint32_t{XDP_ABORTED});
  EXPECT_EQ(loaded.fault, "instruction 2: read outside stack, packet and map values");
  auto endless = load_first({jumps_spec({{0, "loop"}})},
                            {program_of("first", jump_to(0, 7)), program_of("loop", {go(-1), mov(0, 0), leave()})});
  EXPECT_EQ(endless.run(), uint32_t{XDP_ABORTED});
  EXPECT_EQ(endless.fault, "instruction 0: instruction budget used up");
}

TEST(TailCall, ArgumentsAreChecked) {
  const auto fault = [](const Part& context, const Part& map) {
    auto loaded = load_first({jumps_spec(), array_spec("a", 4, 1)},
                             {program_of("p", join({context, map, mov(3, 0), call(BPF_FUNC_tail_call), leave()}))});
    loaded.run();
    return loaded.fault;
  };
  EXPECT_TRUE(fault(mov(1, 0), map_pointer(2, 0)).ends_with("an argument that is not the context"));
  EXPECT_TRUE(fault(movr(1, 1), map_pointer(2, 1)).ends_with("an argument that is not a map"));
  EXPECT_TRUE(fault(movr(1, 1), mov(2, 0)).ends_with("an argument that is not a map"));
  EXPECT_EQ(fault(movr(1, 1), map_pointer(2, 0)), "");
}

TEST(TailCall, ATargetThatCantBeLoadedIsNamed) {
  const auto loaded =
      load_first({jumps_spec({{2, "second"}})},
                 {program_of("first", jump_to(2, 7)), program_of("second", {call(BPF_FUNC_sk_lookup_tcp), leave()})});
  ASSERT_FALSE(loaded.program);
  EXPECT_EQ(loaded.error.text,
            "object test.o: program first: map jumps: program second: instruction 0: helper bpf_sk_lookup_tcp is not "
            "supported by this version");
  EXPECT_EQ(load_first({jumps_spec({{2, "none"}})}, {program_of("first", jump_to(2, 7))}).error.code, ENOENT);
  EXPECT_EQ(load_first({jumps_spec({{4, "first"}})}, {program_of("first", jump_to(2, 7))}).error.code, E2BIG);
}

TEST(TailCall, NothingStaysWhenTheProgramGoes) {
  std::weak_ptr<Map> map;
  uint32_t target = 0;
  {
    auto loaded = load_first({jumps_spec({{0, "itself"}})}, {program_of("itself", jump_to(0, 7))});
    map = loaded.program->maps()[0];
    EXPECT_EQ(loaded.program->maps()[0]->copy_lookup(in(uint32_t{0}), out(target)), 0);
    EXPECT_TRUE(Program::find(target));
  }
  EXPECT_TRUE(map.expired());
  EXPECT_FALSE(Program::find(target));
}

TEST(TailCall, ASwapKeepsTheMapAndTakesTheNewPrograms) {
  const auto version = [](int64_t result, std::span<const std::shared_ptr<Map>> reuse) {
    return load_first({jumps_spec({{0, "second"}})},
                      {program_of("first", jump_to(0, 7)), program_of("second", {mov(0, result), leave()})},
                      {.reuse = reuse});
  };
  auto old = version(1, {});
  auto next = version(2, old.program->maps());
  EXPECT_EQ(next.program->maps()[0], old.program->maps()[0]);
  EXPECT_EQ(next.run(), 2U);
  old.program.reset();
  EXPECT_EQ(next.run(), 2U);
}

TEST(Program, InitialMapsOfMaps) {
  auto outer = outer_spec(BPF_MAP_TYPE_ARRAY_OF_MAPS, inner_spec());
  outer.initial_refs = {{0, "inner"}};
  auto loaded = load_first({outer, inner_spec()}, {program_of("p", two_lookups())});
  ASSERT_TRUE(loaded.program) << loaded.error.text;
  EXPECT_EQ(loaded.run(), 5U) << loaded.fault;
  uint64_t value = 0;
  EXPECT_EQ(loaded.program->maps()[1]->copy_lookup(in(uint32_t{1}), out(value)), 0);
  EXPECT_EQ(value, 5U);
}

}  // namespace
}  // namespace xbond::bpf::test
