// Hash maps: results and errno (the conformance test compares whole sequences with the kernel), what rests and for how
// long, eviction, and all of it under threads.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "bpf_compat/map/hash.hpp"
#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

MapSpec hash_spec(uint32_t entries, uint32_t flags = 0) {
  return spec_of(BPF_MAP_TYPE_HASH, 4, 8, entries, flags);
}

int put(Map& map, uint32_t key, uint64_t value, uint64_t flags = BPF_ANY) {
  return map.copy_update(in(key), in(value), flags);
}

// The value of a key; nothing for -ENOENT.
std::optional<uint64_t> get(Map& map, uint32_t key) {
  uint64_t value = 0;
  const int rc = map.copy_lookup(in(key), out(value));
  EXPECT_TRUE(rc == 0 || rc == -ENOENT) << rc;
  return rc == 0 ? std::optional(value) : std::nullopt;
}

std::set<uint32_t> keys_of(Map& map) {
  std::set<uint32_t> keys;
  uint32_t key = 0;
  for (int rc = map.next_key({}, out(key)); rc == 0; rc = map.next_key(in(key), out(key))) keys.insert(key);
  return keys;
}

TEST(HashMap, ErrnoOfEachOperation) {
  const auto map = make(hash_spec(2));
  EXPECT_EQ(put(*map, 1, 10, BPF_EXIST), -ENOENT);
  EXPECT_EQ(put(*map, 1, 10, BPF_NOEXIST), 0);
  EXPECT_EQ(put(*map, 1, 11, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(put(*map, 1, 12, BPF_EXIST), 0);
  EXPECT_EQ(put(*map, 2, 20), 0);
  EXPECT_EQ(put(*map, 3, 30), -E2BIG);
  EXPECT_EQ(put(*map, 2, 21), 0);
  EXPECT_EQ(put(*map, 2, 21, 3), -EINVAL);
  EXPECT_EQ(put(*map, 2, 21, BPF_F_LOCK), -EINVAL);
  EXPECT_EQ(get(*map, 1), 12U);
  EXPECT_EQ(get(*map, 2), 21U);
  EXPECT_EQ(get(*map, 3), std::nullopt);
  EXPECT_EQ(map->copy_erase(in(uint32_t{3})), -ENOENT);
  EXPECT_EQ(map->copy_erase(in(uint32_t{1})), 0);
  EXPECT_EQ(put(*map, 3, 30), 0);
  EXPECT_EQ(keys_of(*map), (std::set<uint32_t>{2, 3}));
  uint64_t value = 0;
  EXPECT_EQ(map->copy_take(in(uint32_t{3}), out(value)), 0);
  EXPECT_EQ(value, 30U);
  EXPECT_EQ(map->copy_take(in(uint32_t{3}), out(value)), -ENOENT);
}

TEST(HashMap, SizesAndRightsAreChecked) {
  const auto map = make(hash_spec(2));
  std::array<std::byte, 16> bytes{};
  const auto some = [&](size_t n) { return std::span(bytes).first(n); };
  EXPECT_EQ(map->copy_lookup(some(3), some(8)), -EINVAL);
  EXPECT_EQ(map->copy_lookup(some(4), some(9)), -EINVAL);
  EXPECT_EQ(map->copy_update(some(4), some(7), 0), -EINVAL);
  EXPECT_EQ(map->copy_erase(some(5)), -EINVAL);
  EXPECT_EQ(map->copy_take(some(4), some(4)), -EINVAL);
  EXPECT_EQ(map->next_key(some(4), some(5)), -EINVAL);
  const auto read_only = make(hash_spec(2, BPF_F_RDONLY));
  EXPECT_EQ(put(*read_only, 1, 1), -EPERM);
  EXPECT_EQ(read_only->copy_take(some(4), some(8)), -EPERM);
  const auto write_only = make(hash_spec(2, BPF_F_WRONLY));
  EXPECT_EQ(put(*write_only, 1, 1), 0);
  EXPECT_EQ(write_only->copy_lookup(some(4), some(8)), -EPERM);
}

TEST(HashMap, ShapesTheKernelRefuses) {
  EXPECT_EQ(refusal(hash_spec(0)), EINVAL);
  EXPECT_EQ(refusal(hash_spec(1, BPF_F_NO_COMMON_LRU)), EINVAL);
  EXPECT_EQ(refusal(hash_spec(1, BPF_F_NO_PREALLOC)), 0);
  EXPECT_EQ(refusal(hash_spec((1U << 27) + 1)), E2BIG);
  EXPECT_EQ(refusal(spec_of(BPF_MAP_TYPE_LRU_HASH, 4, 8, 1, BPF_F_NO_PREALLOC)), 524);
  EXPECT_EQ(refusal(spec_of(BPF_MAP_TYPE_PERCPU_HASH, 4, 32769, 1)), E2BIG);
  EXPECT_EQ(refusal(spec_of(BPF_MAP_TYPE_HASH, 4, 4 << 20, 1)), E2BIG);
}

TEST(HashMap, GigabytesAreBackedOnlyWhereTouched) {
  const auto map = make(spec_of(BPF_MAP_TYPE_HASH, 16, 64, 16 << 20));
  EXPECT_GT(map->values_range().size(), size_t{1} << 30);
  std::array<uint64_t, 2> key{1, 2};
  std::array<uint64_t, 8> value{3};
  EXPECT_EQ(map->copy_update(in(key), in(value), BPF_ANY), 0);
  EXPECT_EQ(map->copy_lookup(in(key), out(value)), 0);
}

TEST(HashMap, AnEntryRestsUntilTheBurstIsOver) {
  ManualGrace grace;
  const auto map = make(hash_spec(1), 1, grace);
  put(*map, 1, 11);
  const uint32_t one = 1;
  const uint32_t two = 2;
  auto* held = static_cast<uint64_t*>(map->lookup(&one, 0));
  ASSERT_TRUE(held);
  // A full map whose one entry goes takes another at once, elsewhere
  EXPECT_EQ(map->copy_erase(in(one)), 0);
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(put(*map, two + i, 22), 0);
    EXPECT_EQ(map->copy_erase(in(two + i)), 0);
  }
  EXPECT_EQ(*held, 11U);
  EXPECT_GT(grace.started, 0U);
  // Afterwards its place serves again
  grace.passed_up_to = ~uint64_t{0};
  bool again = false;
  for (uint32_t i = 0; i < 200 && !again; ++i) {
    put(*map, two, i);
    again = map->lookup(&two, 0) == held;
  }
  EXPECT_TRUE(again);
}

TEST(HashMap, NeverFailsBecauseTooMuchRests) {
  ManualGrace grace;  // for ever
  const auto map = make(hash_spec(4), 1, grace);
  for (uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(put(*map, i, i), 0);
    ASSERT_EQ(put(*map, i, i + 1), 0);
    ASSERT_EQ(get(*map, i), i + 1);
    ASSERT_EQ(map->copy_erase(in(i)), 0);
  }
  EXPECT_TRUE(keys_of(*map).empty());
}

TEST(HashMap, AnUpdateReplacesAndAPerCpuUpdateWritesInPlace) {
  const BurstGrace::Burst burst;
  const uint32_t key = 1;
  const uint64_t value = 2;
  const auto shared = make(hash_spec(4));
  put(*shared, key, 1);
  auto* old = static_cast<uint64_t*>(shared->lookup(&key, 0));
  EXPECT_EQ(shared->update(&key, &value, BPF_ANY, 0), 0);
  EXPECT_EQ(*old, 1U);
  EXPECT_NE(shared->lookup(&key, 0), old);
  const auto each = make(spec_of(BPF_MAP_TYPE_PERCPU_HASH, 4, 8, 4));
  EXPECT_EQ(each->update(&key, &value, BPF_ANY, 1), 0);
  auto* own = static_cast<uint64_t*>(each->lookup(&key, 1));
  const uint64_t more = 3;
  EXPECT_EQ(each->update(&key, &more, BPF_EXIST, 1), 0);
  EXPECT_EQ(*own, 3U);
  EXPECT_EQ(*static_cast<uint64_t*>(each->lookup(&key, 0)), 0U);
}

TEST(HashMap, ANewPerCpuEntryIsZeroForTheOthers) {
  const auto map = make(spec_of(BPF_MAP_TYPE_PERCPU_HASH, 4, 4, 1), 3);
  std::array<uint64_t, 3> all{7, 8, 9};
  const uint32_t key = 5;
  EXPECT_EQ(map->copy_update(in(key), in(all), BPF_ANY), 0);
  EXPECT_EQ(map->erase(&key, 0), 0);
  const uint32_t value = 6;
  EXPECT_EQ(map->update(&key, &value, BPF_NOEXIST, 2), 0);
  EXPECT_EQ(map->copy_lookup(in(key), out(all)), 0);
  EXPECT_EQ(all, (std::array<uint64_t, 3>{0, 0, 6}));
}

TEST(HashMap, ProgramsStayWithinOneValue) {
  // r0 = value of key 0; then one access at `offset`
  const auto access = [](int offset, int size, uint32_t type, bool write) {
    Bench bench(join({store_imm(BPF_W, 10, -4, 0), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4),
                      call(BPF_FUNC_map_lookup_elem), jump(BPF_JNE, 0, 0, 2), mov(0, 9), leave(),
                      write ? store_imm(size, 0, offset, 1) : load(size, 3, 0, offset), mov(0, 1), leave()}),
                {spec_of(type, 4, 12, 4)});
    const std::array<std::byte, 32> zeros{};
    EXPECT_EQ(bench.map(0).copy_update(in(uint32_t{0}), std::span(zeros).first(bench.map(0).control_value_size()), 0),
              0);
    const auto outcome = bench.run();
    return outcome.fault.empty() && outcome.verdict == 1;
  };
  for (const auto type : {BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_HASH, BPF_MAP_TYPE_LRU_HASH}) {
    for (const bool write : {false, true}) {
      EXPECT_TRUE(access(0, BPF_DW, type, write));
      EXPECT_TRUE(access(8, BPF_W, type, write));
      EXPECT_FALSE(access(8, BPF_DW, type, write)) << "padding";
      EXPECT_FALSE(access(12, BPF_B, type, write)) << "padding";
      // Behind a shared value lies its key; behind a CPU's lies that of another entry, which is a value too
      EXPECT_EQ(access(16, BPF_B, type, write), type == BPF_MAP_TYPE_PERCPU_HASH);
      EXPECT_FALSE(access(-1, BPF_B, type, write));
    }
  }
}

TEST(LruHash, NeverFullAndNeverAboveItsSize) {
  for (const uint32_t flags : {0U, uint32_t{BPF_F_NO_COMMON_LRU}}) {
    const auto map = make(spec_of(BPF_MAP_TYPE_LRU_HASH, 4, 8, 100, flags));
    for (uint32_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(put(*map, i, i, BPF_NOEXIST), 0);
      ASSERT_EQ(get(*map, i), i) << "the newest is there";
    }
    EXPECT_EQ(keys_of(*map).size(), 100U);
    EXPECT_EQ(put(*map, 1, 1, BPF_EXIST), -ENOENT);
    EXPECT_EQ(put(*map, 4999, 1, BPF_NOEXIST), -EEXIST);
    EXPECT_EQ(put(*map, 4999, 1, BPF_F_LOCK), -EINVAL);
  }
}

TEST(LruHash, WhatIsUsedStays) {
  constexpr uint32_t kSize = 1000;
  constexpr uint32_t kUsed = kSize / 2;
  const auto map = make(spec_of(BPF_MAP_TYPE_LRU_HASH, 4, 8, kSize));
  for (uint32_t i = 0; i < kSize; ++i) put(*map, i, i);
  // Rounds of new keys, between which a program uses the first half
  for (uint32_t round = 1; round < 20; ++round) {
    for (uint32_t i = 0; i < kUsed; ++i) ASSERT_TRUE(map->lookup(&i, round % 2)) << "round " << round;
    for (uint32_t i = 0; i < kUsed / 2; ++i) ASSERT_EQ(put(*map, round * 10'000 + i, i), 0);
  }
  // Control's look-ups are no use, as in the kernel: after enough new keys all old ones are gone
  for (uint32_t i = 0; i < 4 * kSize; ++i) {
    get(*map, 0);
    put(*map, 1'000'000 + i, i);
  }
  for (uint32_t i = 0; i < kUsed; ++i) EXPECT_EQ(get(*map, i), std::nullopt);
}

TEST(LruHash, EvictsAlsoWhenAllIsUsed) {
  const auto map = make(spec_of(BPF_MAP_TYPE_LRU_PERCPU_HASH, 4, 8, 500));
  const std::array<uint64_t, 2> value{1, 2};
  for (uint32_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(map->copy_update(in(i), in(value), BPF_ANY), 0);
    for (uint32_t used = i < 500 ? 0 : i - 500; used <= i; ++used) map->lookup(&used, 0);
  }
  EXPECT_EQ(keys_of(*map).size(), 500U);
}

// --- threads: short, meant for the sanitizers too

constexpr auto kWhile = std::chrono::milliseconds(300);

TEST(HashMapThreads, AKeyThatStaysIsAlwaysFoundAndWhole) {
  for (const auto type : {BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH}) {
    const auto map = make(spec_of(type, 4, 32, 600), 3);
    std::atomic<bool> stop{false};
    const auto whole = [](uint64_t word) { return std::array<uint64_t, 4>{word, word, word, word}; };
    for (uint32_t key = 0; key < 100; ++key) map->copy_update(in(key), in(whole(key)), BPF_ANY);
    // A reader that the system stops within its burst must not see more change than places can rest
    std::atomic<uint64_t> reads{0};
    std::vector<std::thread> writers;
    for (uint32_t cpu = 0; cpu < 2; ++cpu)
      writers.emplace_back([&, cpu] {
        uint64_t seen = 0;
        uint64_t since = 0;
        for (uint64_t i = 0; !stop; ++i) {
          while (since > 200 && seen == reads && !stop) std::this_thread::yield();
          since = seen == reads ? since + 1 : 0;
          seen = reads;
          const BurstGrace::Burst burst;
          // Replaces keys that stay, and puts and takes others
          const uint32_t stays = static_cast<uint32_t>(i % 100);
          const auto value = whole(i << 8 | stays);
          EXPECT_EQ(map->update(&stays, &value, BPF_ANY, cpu), 0);
          const uint32_t other = 1000 + cpu * 100 + static_cast<uint32_t>(i % 97);
          EXPECT_EQ(map->update(&other, &value, BPF_ANY, cpu), 0);
          if (i % 3 == 0) map->erase(&other, cpu);
        }
      });
    const auto end = std::chrono::steady_clock::now() + kWhile;
    for (uint32_t i = 0; std::chrono::steady_clock::now() < end; ++i) {
      const uint32_t key = i % 100;
      {
        const BurstGrace::Burst burst;
        const auto* value = static_cast<const uint64_t*>(map->lookup(&key, 2));
        ASSERT_TRUE(value);
        ASSERT_EQ(value[0] & 0xff, key);
        ASSERT_EQ(value[3], value[0]);
      }
      std::array<uint64_t, 4> copy{};
      ASSERT_EQ(map->copy_lookup(in(key), out(copy)), 0);
      ASSERT_EQ(copy[0] & 0xff, key);
      ASSERT_EQ(copy[3], copy[0]);
      ++reads;
    }
    stop = true;
    for (auto& writer : writers) writer.join();
    EXPECT_EQ(static_cast<HashMap&>(*map).entries(), keys_of(*map).size());
  }
}

TEST(HashMapThreads, FullMapsStayWithinTheirSize) {
  for (const auto type : {BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH}) {
    const auto map = make(spec_of(type, 4, 8, 64), 3);
    std::atomic<bool> stop{false};
    std::vector<std::thread> writers;
    for (uint32_t cpu = 0; cpu < 3; ++cpu)
      writers.emplace_back([&, cpu] {
        for (uint32_t i = cpu; !stop; i += 7) {
          const BurstGrace::Burst burst;
          const uint32_t key = i % 256;
          const uint64_t value = key;
          const int rc = map->update(&key, &value, BPF_ANY, cpu);
          // An LRU map has nothing to take back while every entry is in the hands of a thread that has to wait.
          EXPECT_TRUE(rc == 0 || rc == (type == BPF_MAP_TYPE_HASH ? -E2BIG : -ENOMEM)) << rc;
          const uint32_t gone = (i * 31) % 256;
          map->erase(&gone, cpu);
        }
      });
    const auto end = std::chrono::steady_clock::now() + kWhile;
    while (std::chrono::steady_clock::now() < end) ASSERT_LE(static_cast<HashMap&>(*map).entries(), 64U);
    stop = true;
    for (auto& writer : writers) writer.join();
    const auto keys = keys_of(*map);
    EXPECT_LE(keys.size(), 64U);
    EXPECT_EQ(static_cast<HashMap&>(*map).entries(), keys.size());
    for (const auto key : keys) EXPECT_EQ(get(*map, key), key);
  }
}

}  // namespace
}  // namespace xbond::bpf::test
