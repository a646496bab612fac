// LPM tries: the longest prefix wins. Sequences of operations are compared with the kernel in tests/conformance.
#include <arpa/inet.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

struct Key {
  uint32_t length;
  std::array<uint8_t, 4> address;
};

Key key_of(const char* address, uint32_t length) {
  Key key{length, {}};
  EXPECT_EQ(inet_pton(AF_INET, address, key.address.data()), 1);
  return key;
}

MapSpec trie_spec(uint32_t entries, uint32_t flags = BPF_F_NO_PREALLOC) {
  return spec_of(BPF_MAP_TYPE_LPM_TRIE, sizeof(Key), 8, entries, flags);
}

// The value of the longest prefix; 0 for none.
uint64_t route(Map& map, const char* address, uint32_t length = 32) {
  const auto key = key_of(address, length);
  const BurstGrace::Burst burst;
  const auto* value = static_cast<const uint64_t*>(map.lookup(&key, 0));
  return value ? *value : 0;
}

int put(Map& map, const char* address, uint32_t length, uint64_t value, uint64_t flags = BPF_ANY) {
  return map.copy_update(in(key_of(address, length)), in(value), flags);
}

TEST(LpmTrie, TheLongestPrefixWins) {
  const auto map = make(trie_spec(10));
  EXPECT_EQ(route(*map, "10.1.2.3"), 0U);
  EXPECT_EQ(put(*map, "10.0.0.0", 8, 8), 0);
  EXPECT_EQ(put(*map, "10.1.0.0", 16, 16), 0);
  EXPECT_EQ(put(*map, "10.1.2.0", 24, 24), 0);
  EXPECT_EQ(put(*map, "10.1.2.3", 32, 32), 0);
  EXPECT_EQ(route(*map, "10.1.2.3"), 32U);
  EXPECT_EQ(route(*map, "10.1.2.4"), 24U);
  EXPECT_EQ(route(*map, "10.1.3.4"), 16U);
  EXPECT_EQ(route(*map, "10.2.3.4"), 8U);
  EXPECT_EQ(route(*map, "11.2.3.4"), 0U);
  EXPECT_EQ(route(*map, "10.1.2.3", 20), 16U) << "no longer than asked for";
  EXPECT_EQ(put(*map, "0.0.0.0", 0, 1), 0);
  EXPECT_EQ(route(*map, "11.2.3.4"), 1U);
  EXPECT_EQ(map->copy_erase(in(key_of("10.1.2.0", 24))), 0);
  EXPECT_EQ(route(*map, "10.1.2.4"), 16U);
}

TEST(LpmTrie, ErrnoIsTheKernels) {
  const auto map = make(trie_spec(2));
  EXPECT_EQ(put(*map, "10.0.0.0", 8, 1, BPF_EXIST), -ENOENT);
  EXPECT_EQ(put(*map, "10.0.0.0", 8, 1, BPF_NOEXIST), 0);
  EXPECT_EQ(put(*map, "10.0.0.0", 8, 1, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(put(*map, "10.0.0.0", 8, 2, BPF_EXIST), 0);
  EXPECT_EQ(put(*map, "11.0.0.0", 8, 3), 0);
  EXPECT_EQ(put(*map, "12.0.0.0", 8, 3), -ENOSPC);
  EXPECT_EQ(put(*map, "12.0.0.0", 33, 3), -EINVAL);
  EXPECT_EQ(put(*map, "10.0.0.0", 8, 2, 4), -EINVAL);
  EXPECT_EQ(map->copy_erase(in(key_of("12.0.0.0", 8))), -ENOENT);
  EXPECT_EQ(map->copy_erase(in(key_of("12.0.0.0", 33))), -EINVAL);
  uint64_t value = 0;
  EXPECT_EQ(map->copy_lookup(in(key_of("12.0.0.0", 33)), out(value)), -ENOENT);
  EXPECT_EQ(map->copy_take(in(key_of("10.0.0.0", 8)), out(value)), -524);
  EXPECT_EQ(refusal(trie_spec(1, 0)), EINVAL);
  EXPECT_EQ(refusal(spec_of(BPF_MAP_TYPE_LPM_TRIE, 4, 8, 1, BPF_F_NO_PREALLOC)), EINVAL);
  EXPECT_EQ(refusal(spec_of(BPF_MAP_TYPE_LPM_TRIE, 261, 8, 1, BPF_F_NO_PREALLOC)), EINVAL);
}

TEST(LpmTrie, TakesAndGivesBackAllItsNodes) {
  const auto map = make(trie_spec(64));
  for (uint32_t round = 0; round < 500; ++round) {
    for (uint32_t i = 0; i < 64; ++i) {
      Key key{32, {10, static_cast<uint8_t>(round), static_cast<uint8_t>(i * 37), 1}};
      ASSERT_EQ(map->copy_update(in(key), in(uint64_t{i}), BPF_NOEXIST), 0);
    }
    for (uint32_t i = 0; i < 64; ++i) {
      Key key{32, {10, static_cast<uint8_t>(round), static_cast<uint8_t>(i * 37), 1}};
      ASSERT_EQ(map->copy_erase(in(key)), 0);
    }
    Key none;
    ASSERT_EQ(map->next_key({}, out(none)), -ENOENT);
  }
}

TEST(LpmTrie, ProgramsReadAndWriteTheValueOnly) {
  const auto access = [](int offset, bool write) {
    Bench bench(join({store_imm(BPF_W, 10, -8, 32), store_imm(BPF_W, 10, -4, 0), map_pointer(1, 0), movr(2, 10),
                      alu(BPF_ADD, 2, -8), call(BPF_FUNC_map_lookup_elem), jump(BPF_JNE, 0, 0, 2), mov(0, 9), leave(),
                      write ? store_imm(BPF_B, 0, offset, 1) : load(BPF_B, 3, 0, offset), mov(0, 1), leave()}),
                {trie_spec(4)});
    EXPECT_EQ(put(bench.map(0), "0.0.0.0", 0, 1), 0);
    const auto outcome = bench.run();
    return outcome.fault.empty() && outcome.verdict == 1;
  };
  for (const bool write : {false, true}) {
    EXPECT_TRUE(access(0, write));
    EXPECT_TRUE(access(7, write));
    EXPECT_FALSE(access(8, write));
    EXPECT_FALSE(access(-1, write));
  }
}

TEST(LpmTrie, LookupsWhileRoutesChange) {
  const auto map = make(trie_spec(300), 3);
  ASSERT_EQ(put(*map, "10.0.0.0", 8, 0xaaaa), 0);
  ASSERT_EQ(put(*map, "10.1.0.0", 16, 0xbbbb), 0);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint32_t i = 0; !stop; ++i) {
      const BurstGrace::Burst burst;
      const Key key{16 + i % 17, {10, 1, static_cast<uint8_t>(i * 7), static_cast<uint8_t>(i * 13)}};
      const uint64_t value = 0xcccc;
      if (key.length > 16) {
        map->update(&key, &value, BPF_ANY, 1);
        const Key gone{16 + (i / 3) % 17, {10, 1, static_cast<uint8_t>(i * 11), static_cast<uint8_t>(i * 3)}};
        if (gone.length > 16) map->erase(&gone, 1);
      }
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_EQ(route(*map, "10.2.0.1"), 0xaaaaU);
    const auto inside = route(*map, "10.1.77.13");
    ASSERT_TRUE(inside == 0xbbbb || inside == 0xcccc) << inside;
    uint64_t value = 0;
    ASSERT_EQ(map->copy_lookup(in(key_of("10.9.0.0", 32)), out(value)), 0);
    ASSERT_EQ(value, 0xaaaaU);
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace xbond::bpf::test
