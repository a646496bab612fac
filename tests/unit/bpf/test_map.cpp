// Arrays: results, errno, layout. The same table is compared with the running kernel in tests/conformance.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

TEST(ArrayMap, StartsZeroedAndKeepsWhatIsWritten) {
  const auto map = make(array_spec("m", 8, 4));
  uint64_t value = 1;
  EXPECT_EQ(map->copy_lookup(in(uint32_t{3}), out(value)), 0);
  EXPECT_EQ(value, 0U);
  EXPECT_EQ(map->copy_update(in(uint32_t{3}), in(uint64_t{77}), BPF_ANY), 0);
  EXPECT_EQ(map->copy_update(in(uint32_t{2}), in(uint64_t{66}), BPF_EXIST), 0);
  EXPECT_EQ(map->copy_lookup(in(uint32_t{3}), out(value)), 0);
  EXPECT_EQ(value, 77U);
  const uint32_t key = 2;
  auto* direct = static_cast<uint64_t*>(map->lookup(&key, 0));
  ASSERT_TRUE(direct);
  EXPECT_EQ(*direct, 66U);
  EXPECT_EQ(map->lookup(&key, 0), map->lookup(&key, 1));
}

TEST(ArrayMap, ErrnoIsTheKernels) {
  const auto map = make(array_spec("m", 8, 4));
  uint64_t value = 0;
  const uint32_t past = 4;
  const uint32_t inside = 0;
  EXPECT_EQ(map->copy_lookup(in(past), out(value)), -ENOENT);
  EXPECT_EQ(map->copy_update(in(past), in(value), BPF_ANY), -E2BIG);
  EXPECT_EQ(map->copy_update(in(past), in(value), BPF_NOEXIST), -E2BIG);
  EXPECT_EQ(map->copy_update(in(inside), in(value), BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(map->copy_update(in(inside), in(value), 3), -EINVAL);
  EXPECT_EQ(map->copy_update(in(past), in(value), 8), -EINVAL);
  EXPECT_EQ(map->copy_update(in(inside), in(value), BPF_F_LOCK), -EINVAL);
  EXPECT_EQ(map->copy_erase(in(inside)), -EINVAL);
  EXPECT_EQ(map->copy_erase(in(past)), -EINVAL);
  EXPECT_EQ(map->lookup(&past, 0), nullptr);
  EXPECT_EQ(map->update(&past, &value, BPF_ANY, 0), -E2BIG);
  EXPECT_EQ(map->update(&past, &value, BPF_F_LOCK, 0), -E2BIG);
  EXPECT_EQ(map->update(&inside, &value, BPF_NOEXIST | BPF_F_LOCK, 0), -EEXIST);
  EXPECT_EQ(map->update(&inside, &value, BPF_F_LOCK, 0), -EINVAL);
  EXPECT_EQ(map->update(&inside, &value, ~uint64_t{0}, 0), -EINVAL);
  EXPECT_EQ(map->erase(&inside, 0), -EINVAL);
}

TEST(ArrayMap, SizesOfSpansAreChecked) {
  const auto map = make(array_spec("m", 8, 4));
  std::array<std::byte, 16> bytes{};
  const auto some = [&](size_t n) { return std::span(bytes).first(n); };
  for (const size_t n : {0, 3, 5, 8}) {
    EXPECT_EQ(map->copy_lookup(some(n), some(8)), -EINVAL);
    EXPECT_EQ(map->copy_update(some(n), some(8), 0), -EINVAL);
    EXPECT_EQ(map->copy_erase(some(n)), -EINVAL);
    EXPECT_EQ(map->next_key(some(4), some(n)), -EINVAL);
    if (n == 0) continue;  // asks for the first
    EXPECT_EQ(map->next_key(some(n), some(4)), -EINVAL);
  }
  for (const size_t n : {0, 7, 9, 16}) {
    EXPECT_EQ(map->copy_lookup(some(4), some(n)), -EINVAL);
    EXPECT_EQ(map->copy_update(some(4), some(n), 0), -EINVAL);
  }
}

TEST(ArrayMap, KeysFollowEachOther) {
  const auto map = make(array_spec("m", 1, 3));
  uint32_t key = 99;
  EXPECT_EQ(map->next_key({}, out(key)), 0);
  EXPECT_EQ(key, 0U);
  EXPECT_EQ(map->next_key(in(uint32_t{0}), out(key)), 0);
  EXPECT_EQ(key, 1U);
  EXPECT_EQ(map->next_key(in(uint32_t{1}), out(key)), 0);
  EXPECT_EQ(key, 2U);
  EXPECT_EQ(map->next_key(in(uint32_t{2}), out(key)), -ENOENT);
  // No such key: from the start
  EXPECT_EQ(map->next_key(in(uint32_t{3}), out(key)), 0);
  EXPECT_EQ(key, 0U);
  EXPECT_EQ(map->next_key(in(~uint32_t{0}), out(key)), 0);
  EXPECT_EQ(key, 0U);
}

TEST(ArrayMap, ControlsRightsAreItsFlags) {
  uint64_t value = 0;
  uint32_t key = 0;
  const auto read_only = make(array_spec("m", 8, 1, BPF_F_RDONLY));
  EXPECT_EQ(read_only->copy_lookup(in(key), out(value)), 0);
  EXPECT_EQ(read_only->copy_update(in(key), in(value), 0), -EPERM);
  EXPECT_EQ(read_only->copy_erase(in(key)), -EPERM);
  const auto write_only = make(array_spec("m", 8, 1, BPF_F_WRONLY));
  EXPECT_EQ(write_only->copy_lookup(in(key), out(value)), -EPERM);
  EXPECT_EQ(write_only->next_key({}, out(key)), -EPERM);
  EXPECT_EQ(write_only->copy_update(in(key), in(value), 0), 0);
  auto spec = array_spec(".rodata", 8, 1, BPF_F_RDONLY_PROG);
  spec.frozen = true;
  const auto frozen = make(spec);
  EXPECT_EQ(frozen->copy_update(in(key), in(value), 0), -EPERM);
  EXPECT_EQ(frozen->copy_lookup(in(key), out(value)), 0);
}

TEST(ArrayMap, InitialValueOfDataSections) {
  auto spec = array_spec(".data", 10, 1);
  spec.initial.assign(10, std::byte{7});
  const auto map = make(spec);
  std::array<std::byte, 10> value{};
  EXPECT_EQ(map->copy_lookup(in(uint32_t{0}), value), 0);
  EXPECT_EQ(value.front(), std::byte{7});
  EXPECT_EQ(value.back(), std::byte{7});
  spec.initial.assign(11, std::byte{7});
  EXPECT_FALSE(Map::create(spec, 1));
}

TEST(ArrayMap, ShapesTheKernelRefuses) {
  const auto code = [](const MapSpec& spec) {
    const auto map = Map::create(spec, 1);
    return map ? 0 : map.error().code;
  };
  auto spec = array_spec("m", 8, 4);
  EXPECT_EQ(code(spec), 0);
  EXPECT_EQ(code(array_spec("m", 0, 4)), EINVAL);
  EXPECT_EQ(code(array_spec("m", 8, 0)), EINVAL);
  EXPECT_EQ(code(array_spec("m", 0x80000000, 1)), E2BIG);
  EXPECT_EQ(code(array_spec("m", 0x7fffffff, 0xffffffff)), ENOMEM);
  EXPECT_EQ(code(array_spec("m", 8, 4, BPF_F_NO_PREALLOC)), EINVAL);
  EXPECT_EQ(code(array_spec("m", 8, 4, BPF_F_RDONLY | BPF_F_WRONLY)), EINVAL);
  EXPECT_EQ(code(array_spec("m", 8, 4, BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG)), EINVAL);
  EXPECT_EQ(code(array_spec("m", 8, 4, BPF_F_MMAPABLE)), 0);
  spec.key_size = 8;
  EXPECT_EQ(code(spec), EINVAL);
  auto percpu = percpu_spec("p", 32768, 1);
  EXPECT_EQ(code(percpu), 0);
  percpu.value_size = 32769;
  EXPECT_EQ(code(percpu), E2BIG);
  percpu.value_size = 8;
  percpu.flags = BPF_F_MMAPABLE;
  EXPECT_EQ(code(percpu), EINVAL);
}

TEST(ArrayMap, OtherTypesAreRefusedByName) {
  auto spec = array_spec("xdp_stats", 8, 4);
  spec.type = BPF_MAP_TYPE_SOCKMAP;
  const auto map = Map::create(spec, 1);
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, ENOTSUP);
  EXPECT_EQ(map.error().text, "map xdp_stats: type sockmap is not supported by this version");
  spec.type = 4711;
  EXPECT_EQ(Map::create(spec, 1).error().text, "map xdp_stats: type number 4711 is not supported by this version");
  EXPECT_EQ(Map::create(array_spec("m", 8, 1), 0).error().code, EINVAL);
}

TEST(PercpuArrayMap, EachWorkerHasItsOwn) {
  const auto map = make(percpu_spec("p", 12, 3), 3);
  EXPECT_TRUE(map->per_cpu());
  ASSERT_EQ(map->control_value_size(), 3U * 16);
  const uint32_t key = 1;
  std::array<uint32_t, 3> value{1, 2, 3};
  EXPECT_EQ(map->update(&key, &value, BPF_ANY, 2), 0);
  std::array<uint32_t, 12> all{};
  EXPECT_EQ(map->copy_lookup(in(key), std::as_writable_bytes(std::span(all))), 0);
  EXPECT_EQ(all, (std::array<uint32_t, 12>{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0}));
  // No line of memory serves two workers
  const auto a = reinterpret_cast<uintptr_t>(map->lookup(&key, 0));
  const auto b = reinterpret_cast<uintptr_t>(map->lookup(&key, 1));
  EXPECT_GE(b - a, 64U);
  EXPECT_EQ(map->lookup(&key, 3), nullptr);
  EXPECT_EQ(map->update(&key, &value, BPF_ANY, 3), -EINVAL);
}

TEST(PercpuArrayMap, ControlWritesAllWorkersPaddingIncluded) {
  const auto map = make(percpu_spec("p", 4, 2), 2);
  std::array<uint32_t, 4> all{1, 2, 3, 4};
  const uint32_t key = 0;
  EXPECT_EQ(map->copy_update(in(key), std::as_bytes(std::span(all)), BPF_ANY), 0);
  std::array<uint32_t, 4> back{};
  EXPECT_EQ(map->copy_lookup(in(key), std::as_writable_bytes(std::span(back))), 0);
  EXPECT_EQ(back, all);
  EXPECT_EQ(*static_cast<uint32_t*>(map->lookup(&key, 1)), 3U);
}

TEST(PercpuArrayMap, ErrnoIsTheKernels) {
  const auto map = make(percpu_spec("p", 8, 4), 2);
  std::array<uint64_t, 2> value{};
  const auto bytes = std::as_bytes(std::span(value));
  EXPECT_EQ(map->copy_lookup(in(uint32_t{4}), std::as_writable_bytes(std::span(value))), -ENOENT);
  EXPECT_EQ(map->copy_update(in(uint32_t{4}), bytes, BPF_ANY), -E2BIG);
  EXPECT_EQ(map->copy_update(in(uint32_t{0}), bytes, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(map->copy_update(in(uint32_t{0}), bytes, BPF_F_LOCK), -EINVAL);
  EXPECT_EQ(map->copy_update(in(uint32_t{0}), bytes, 3), -EINVAL);
  EXPECT_EQ(map->copy_erase(in(uint32_t{0})), -EINVAL);
  uint32_t key = 0;
  EXPECT_EQ(map->next_key(in(uint32_t{3}), out(key)), -ENOENT);
}

TEST(PercpuArrayMap, BackedOnlyWhereTouched) {
  // xdp-filter's port table; 64 workers of it would be 32 MiB
  const auto map = make(percpu_spec("filter_ports", 8, 65536), 64);
  EXPECT_EQ(map->values_range().size(), size_t{65536} * 8 * 64);
  const uint32_t key = 65535;
  EXPECT_NE(map->lookup(&key, 63), nullptr);
}

// A word is never seen half written; the sanitizer for threads sees no race of ours.
TEST(ArrayMap, ReadersSeeWholeWords) {
  const auto map = make(array_spec("m", 32, 1));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stop; ++i) {
      const uint64_t word = (i & 1) != 0 ? ~uint64_t{0} : 0;
      const std::array<uint64_t, 4> value{word, word, word, word};
      map->copy_update(in(uint32_t{0}), in(value), BPF_ANY);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    std::array<uint64_t, 4> value{};
    ASSERT_EQ(map->copy_lookup(in(uint32_t{0}), out(value)), 0);
    for (const auto word : value) ASSERT_TRUE(word == 0 || word == ~uint64_t{0});
  }
  stop = true;
  writer.join();
}

TEST(Map, NumbersAreUnique) {
  const auto a = make(array_spec("a", 8, 1));
  const auto b = make(array_spec("b", 8, 1));
  EXPECT_NE(a->id(), b->id());
  EXPECT_NE(a->id(), 0U);
}

}  // namespace
}  // namespace xbond::bpf::test
