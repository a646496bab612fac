// Queues, stacks and bloom filters, by control and by programs.
#include <atomic>
#include <thread>

#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

TEST(Queue, OrderAndErrno) {
  for (const bool stack : {false, true}) {
    const auto map = make(spec_of(stack ? BPF_MAP_TYPE_STACK : BPF_MAP_TYPE_QUEUE, 0, 4, 3));
    uint32_t value = 9;
    EXPECT_EQ(map->peek(&value), -ENOENT);
    EXPECT_EQ(value, 0U);
    for (const uint32_t v : {1U, 2U, 3U}) EXPECT_EQ(map->push(&v, BPF_ANY), 0);
    EXPECT_EQ(map->push(&value, BPF_ANY), -E2BIG);
    EXPECT_EQ(map->push(&value, BPF_NOEXIST), -EINVAL);
    EXPECT_EQ(map->push(&value, 4), -EINVAL);
    EXPECT_EQ(map->peek(&value), 0);
    EXPECT_EQ(value, stack ? 3U : 1U);
    const uint32_t four = 4;
    EXPECT_EQ(map->push(&four, BPF_EXIST), 0);  // 1 falls out
    for (const uint32_t v : stack ? std::array{4U, 3U, 2U} : std::array{2U, 3U, 4U}) {
      EXPECT_EQ(map->pop(&value), 0);
      EXPECT_EQ(value, v);
    }
    EXPECT_EQ(map->pop(&value), -ENOENT);
    EXPECT_EQ(map->copy_update({}, in(four), BPF_ANY), 0);
    EXPECT_EQ(map->copy_lookup({}, out(value)), 0);
    EXPECT_EQ(value, 4U);
    EXPECT_EQ(map->copy_take({}, out(value)), 0);
    EXPECT_EQ(map->copy_lookup({}, out(value)), -ENOENT);
    EXPECT_EQ(map->copy_lookup(in(four), out(value)), -EINVAL);
    EXPECT_EQ(map->copy_erase({}), -EINVAL);
    EXPECT_EQ(map->next_key({}, {}), -EINVAL);
  }
}

TEST(Queue, ManyWritersLoseNothing) {
  const auto map = make(spec_of(BPF_MAP_TYPE_QUEUE, 0, 8, 64));
  constexpr uint64_t kEach = 1000;
  std::atomic<uint64_t> sum{0};
  std::atomic<uint64_t> taken{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (uint64_t i = 1; i <= kEach;)
        if (map->push(&i, BPF_ANY) == 0)
          ++i;
        else
          std::this_thread::yield();
    });
  threads.emplace_back([&] {
    uint64_t value = 0;
    while (taken < 2 * kEach)
      if (map->pop(&value) == 0) {
        sum += value;
        ++taken;
      } else {
        std::this_thread::yield();
      }
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, kEach * (kEach + 1));
}

TEST(Queue, ProgramsPushPopAndPeek) {
  // push 42, peek, pop, pop: verdict = peeked + popped, then the last result
  Bench bench(join({store_imm(BPF_DW, 10, -8, 42),
                    map_pointer(1, 0),
                    movr(2, 10),
                    alu(BPF_ADD, 2, -8),
                    mov(3, 0),
                    call(BPF_FUNC_map_push_elem),
                    movr(7, 0),
                    store_imm(BPF_DW, 10, -8, 0),
                    map_pointer(1, 0),
                    movr(2, 10),
                    alu(BPF_ADD, 2, -8),
                    call(BPF_FUNC_map_peek_elem),
                    load(BPF_DW, 6, 10, -8),
                    map_pointer(1, 0),
                    movr(2, 10),
                    alu(BPF_ADD, 2, -8),
                    call(BPF_FUNC_map_pop_elem),
                    load(BPF_DW, 1, 10, -8),
                    alur(BPF_ADD, 6, 1),
                    map_pointer(1, 0),
                    movr(2, 10),
                    alu(BPF_ADD, 2, -8),
                    call(BPF_FUNC_map_pop_elem),
                    jump(BPF_JEQ, 0, -ENOENT, 1),
                    mov(6, 0),
                    movr(0, 6),
                    alur(BPF_ADD, 0, 7),
                    leave()}),
              {spec_of(BPF_MAP_TYPE_QUEUE, 0, 8, 4)});
  const auto outcome = bench.run();
  EXPECT_EQ(outcome.verdict, 84U) << outcome.fault << bench.error.text;
}

TEST(Queue, ArgumentsAreChecked) {
  for (const auto helper : {BPF_FUNC_map_push_elem, BPF_FUNC_map_pop_elem, BPF_FUNC_map_peek_elem}) {
    const auto fault = [&](const Part& first, const Part& second) {
      return Bench(join({first, second, mov(3, 0), call(helper), mov(0, 2), leave()}),
                   {spec_of(BPF_MAP_TYPE_STACK, 0, 8, 4)})
          .run()
          .fault;
    };
    EXPECT_TRUE(fault(mov(1, 0), movr(2, 10)).ends_with("an argument that is not a map"));
    EXPECT_NE(fault(map_pointer(1, 0), Code{movr(2, 10), alu(BPF_ADD, 2, -4)}), "");
    EXPECT_EQ(fault(map_pointer(1, 0), Code{movr(2, 10), alu(BPF_ADD, 2, -8)}), "");
  }
}

TEST(Bloom, NeverForgetsAndRarelyInvents) {
  auto spec = spec_of(BPF_MAP_TYPE_BLOOM_FILTER, 0, 8, 1000);
  for (const uint64_t hashes : {0, 1, 5, 15}) {
    spec.extra = hashes;
    const auto map = make(spec);
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(map->copy_update({}, in(i), BPF_ANY), 0);
    for (uint64_t i = 0; i < 1000; ++i) {
      uint64_t value = i;
      ASSERT_EQ(map->copy_lookup({}, out(value)), 0);
    }
    int invented = 0;
    for (uint64_t i = 1000; i < 11'000; ++i) invented += map->peek(&i) == 0 ? 1 : 0;
    EXPECT_LT(invented, hashes == 1 ? 5500 : 600) << hashes;
  }
  const auto map = make(spec);
  uint64_t value = 1;
  EXPECT_EQ(map->peek(&value), -ENOENT);
  EXPECT_EQ(map->push(&value, BPF_EXIST), -EINVAL);
  EXPECT_EQ(map->pop(&value), -EOPNOTSUPP);
  EXPECT_EQ(map->copy_erase({}), -EOPNOTSUPP);
  EXPECT_EQ(map->next_key({}, {}), -EOPNOTSUPP);
  spec.extra = 16;
  EXPECT_EQ(refusal(spec), EINVAL);
}

}  // namespace
}  // namespace xbond::bpf::test
