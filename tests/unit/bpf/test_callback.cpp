// Helpers that call functions of the program.
#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

Code function(int dst, int64_t distance) {
  return wide(dst, static_cast<uint32_t>(distance), BPF_PSEUDO_FUNC);
}

// main: sum at r10 - 8 starts at 1000; bpf_loop(count, f, &sum, flags); returns result << 16 | sum.
// f(i, ctx): *ctx += i; returns i == stop.
Code loop_code(int64_t count, int64_t stop, int64_t flags = 0) {
  const auto body = join({load(BPF_DW, 3, 2, 0), alur(BPF_ADD, 3, 1), store(BPF_DW, 2, 0, 3), mov(0, 0),
                          jump(BPF_JNE, 1, stop, 1), mov(0, 1), leave()});
  return join({store_imm(BPF_DW, 10, -8, 0), mov(1, count), function(2, 10), movr(3, 10), alu(BPF_ADD, 3, -8),
               mov(4, flags), mov(7, 77), call(BPF_FUNC_loop), alu(BPF_LSH, 0, 16), load(BPF_DW, 1, 10, -8),
               alur(BPF_ADD, 0, 1), leave(), body});
}

TEST(Loop, CountsStopsAndReturns) {
  const auto run = [](const Code& code) {
    Bench bench(code);
    const auto outcome = bench.run();
    EXPECT_EQ(outcome.fault, "") << bench.error.text;
    return outcome.verdict;
  };
  EXPECT_EQ(run(loop_code(5, -1)), 5U << 16 | 10U);
  EXPECT_EQ(run(loop_code(5, 2)), 3U << 16 | 3U);
  EXPECT_EQ(run(loop_code(0, 2)), 0U);
  EXPECT_EQ(run(loop_code(1000, -1)) & 0xffff, 499500U & 0xffff);
  EXPECT_EQ(static_cast<int32_t>(run(loop_code(5, -1, 1))) >> 16, -EINVAL);
  EXPECT_EQ(static_cast<int32_t>(run(loop_code((1 << 23) + 1, -1))) >> 16, -E2BIG);
}

TEST(Loop, RulesHoldInsideToo) {
  EXPECT_EQ(Bench(loop_code(1 << 23, -1)).run().fault.substr(0, 11), "instruction");
  EXPECT_TRUE(Bench(loop_code(1 << 23, -1)).run().fault.ends_with("instruction budget used up"));
  // A read from nowhere in the function, which is instruction 7 of the program
  Bench bad(join(
      {mov(1, 3), function(2, 5), mov(3, 0), mov(4, 0), call(BPF_FUNC_loop), leave(), load(BPF_B, 0, 2, 0), leave()}));
  EXPECT_EQ(bad.run().fault, "instruction 7: read outside stack, packet and map values") << bad.error.text;
  // What is no function of the program's
  Bench no(join({mov(1, 3), mov(2, 16), mov(3, 0), mov(4, 0), call(BPF_FUNC_loop), leave()}));
  EXPECT_TRUE(no.run().fault.ends_with("not a function of the program"));
  Bench between(join({mov(1, 3), function(2, 6), alu(BPF_ADD, 2, 16), mov(3, 0), mov(4, 0), call(BPF_FUNC_loop),
                      leave(), mov(0, 0), mov(0, 0), leave()}));
  EXPECT_TRUE(between.run().fault.ends_with("not a function of the program")) << between.error.text;
}

TEST(Loop, FunctionsMayLoopAgain) {
  // main loops f, f loops g: 4 * 3 additions of 1
  const auto f = join({movr(3, 2), mov(1, 3), function(2, 5), mov(4, 0), call(BPF_FUNC_loop), mov(0, 0), leave()});
  const auto g = join({load(BPF_DW, 3, 2, 0), alu(BPF_ADD, 3, 1), store(BPF_DW, 2, 0, 3), mov(0, 0), leave()});
  Bench bench(join({store_imm(BPF_DW, 10, -8, 0), mov(1, 4), function(2, 7), movr(3, 10), alu(BPF_ADD, 3, -8),
                    mov(4, 0), call(BPF_FUNC_loop), load(BPF_DW, 0, 10, -8), leave(), f, g}));
  const auto outcome = bench.run();
  EXPECT_EQ(outcome.verdict, 12U) << outcome.fault << bench.error.text;
}

// Sums keys (4 bytes) and values (8) of a map: f(map, key, value, ctx).
Code each_code() {
  const auto body = join({load(BPF_W, 5, 2, 0), load(BPF_DW, 3, 3, 0), alur(BPF_ADD, 5, 3), load(BPF_DW, 3, 4, 0),
                          alur(BPF_ADD, 3, 5), store(BPF_DW, 4, 0, 3), mov(0, 0), leave()});
  return join({store_imm(BPF_DW, 10, -8, 0), map_pointer(1, 0), function(2, 9), movr(3, 10), alu(BPF_ADD, 3, -8),
               mov(4, 0), call(BPF_FUNC_for_each_map_elem), alu(BPF_LSH, 0, 16), load(BPF_DW, 1, 10, -8),
               alur(BPF_ADD, 0, 1), leave(), body});
}

TEST(ForEach, VisitsAllEntries) {
  for (const auto type : {BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH}) {
    Bench bench(each_code(), {spec_of(type, 4, 8, 4)});
    for (uint32_t key = 0; key < 3; ++key)
      EXPECT_EQ(bench.map(0).copy_update(in(key), in(uint64_t{key * 100}), BPF_ANY), 0);
    const auto outcome = bench.run();
    const uint32_t sum = type == BPF_MAP_TYPE_ARRAY ? 306 : 303;
    const uint32_t visited = type == BPF_MAP_TYPE_ARRAY ? 4 : 3;
    EXPECT_EQ(outcome.verdict, visited << 16 | sum) << outcome.fault << bench.error.text;
  }
  Bench each_cpu(each_code(), {spec_of(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 2)});
  EXPECT_EQ(each_cpu.map(0).copy_update(in(uint32_t{1}), in(std::array<uint64_t, 2>{5, 50}), BPF_ANY), 0);
  EXPECT_EQ(each_cpu.run(0).verdict, 2U << 16 | 6U);
  EXPECT_EQ(each_cpu.run(1).verdict, 2U << 16 | 51U);
  EXPECT_TRUE(Bench(each_code(), {spec_of(BPF_MAP_TYPE_QUEUE, 0, 8, 2)}).run().fault.ends_with("not a map"));
}

TEST(MapHelpers, LookupOfAnotherCpu) {
  for (const auto type : {BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_PERCPU_HASH}) {
    const auto value = [&](int64_t cpu) {
      Bench bench(join({store_imm(BPF_W, 10, -4, 1), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4), mov(3, cpu),
                        call(BPF_FUNC_map_lookup_percpu_elem), jump(BPF_JNE, 0, 0, 1), leave(), load(BPF_DW, 0, 0, 0),
                        leave()}),
                  {spec_of(type, 4, 8, 2)});
      EXPECT_EQ(bench.map(0).copy_update(in(uint32_t{1}), in(std::array<uint64_t, 2>{5, 50}), BPF_ANY), 0);
      const auto outcome = bench.run(0);
      EXPECT_EQ(outcome.fault, "");
      return outcome.verdict;
    };
    EXPECT_EQ(value(0), 5U);
    EXPECT_EQ(value(1), 50U);
    EXPECT_EQ(value(2), 0U);
  }
}

}  // namespace
}  // namespace xbond::bpf::test
