#include <fmt/format.h>
#include <linux/bpf.h>

#include <array>
#include <utility>

#include "tests/conformance/bpf/map_sequence.hpp"

namespace xbond::bpf::conformance {
namespace {

constexpr int kOperations = 3000;

// The shapes of a family that sequences run on.
struct Family {
  const char* name;
  uint32_t type;
  Keys keys;
  std::vector<uint32_t> key_sizes;
  std::vector<uint32_t> value_sizes;
  std::vector<uint32_t> entries;
  std::vector<uint32_t> flags;
};

const std::vector<Family>& families() {
  static const std::vector<uint32_t> rights = {0, BPF_F_RDONLY, BPF_F_WRONLY, BPF_F_RDONLY_PROG};
  static const std::vector<Family> all = {
      {"array", BPF_MAP_TYPE_ARRAY, Keys::index, {4}, {1, 3, 4, 8, 12, 16, 100}, {1, 2, 7, 1000}, rights},
      {"percpu_array", BPF_MAP_TYPE_PERCPU_ARRAY, Keys::index, {4}, {1, 3, 4, 8, 12, 16, 100}, {1, 2, 7, 1000}, rights},
      {"hash", BPF_MAP_TYPE_HASH, Keys::bytes, {1, 3, 4, 8, 13, 40}, {1, 8, 12, 100}, {1, 2, 7, 150}, rights},
      {"hash, not preallocated", BPF_MAP_TYPE_HASH, Keys::bytes, {4, 17}, {4, 30}, {1, 100, 500}, {BPF_F_NO_PREALLOC}},
      {"percpu_hash", BPF_MAP_TYPE_PERCPU_HASH, Keys::bytes, {1, 4, 8, 13}, {1, 8, 12, 100}, {1, 2, 7, 150}, rights},
      // Never fuller than it can be, but never so full that it evicts: which entry goes is each side's own choice
      {"lru_hash, with room", BPF_MAP_TYPE_LRU_HASH, Keys::few, {1, 4, 13}, {1, 8, 12}, {4000}, rights},
      {"lru_percpu_hash, with room", BPF_MAP_TYPE_LRU_PERCPU_HASH, Keys::few, {1, 4, 13}, {1, 8, 12}, {4000}, rights},
      {"lpm_trie",
       BPF_MAP_TYPE_LPM_TRIE,
       Keys::prefix,
       {5, 6, 8, 12, 20},
       {1, 8, 12},
       {1, 5, 40, 500},
       {BPF_F_NO_PREALLOC, BPF_F_NO_PREALLOC | BPF_F_RDONLY_PROG, BPF_F_NO_PREALLOC | BPF_F_WRONLY}},
      {"queue", BPF_MAP_TYPE_QUEUE, Keys::none, {0}, {1, 4, 8, 13}, {1, 2, 7, 100}, rights},
      {"stack", BPF_MAP_TYPE_STACK, Keys::none, {0}, {1, 4, 8, 13}, {1, 2, 7, 100}, rights},
  };
  return all;
}

void compare_family(Tally& tally, const Family& family) {
  for (const auto key : family.key_sizes)
    for (const auto value : family.value_sizes)
      for (const auto entries : family.entries)
        for (const auto flags : family.flags)
          compare_sequence(tally, spec_of(family.type, key, value, entries, flags), family.keys,
                           key * 7919 + value * 1000 + entries + flags, kOperations);
}

// Shapes that one side may refuse: the same errno.
void compare_shapes(Tally& tally) {
  constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  constexpr std::array<uint32_t, 12> kFlags = {0,
                                               BPF_F_NO_PREALLOC,
                                               BPF_F_NO_COMMON_LRU,
                                               BPF_F_RDONLY,
                                               BPF_F_WRONLY,
                                               BPF_F_RDONLY | BPF_F_WRONLY,
                                               BPF_F_RDONLY_PROG,
                                               BPF_F_WRONLY_PROG,
                                               BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG,
                                               BPF_F_MMAPABLE,
                                               BPF_F_ZERO_SEED,
                                               1U << 31};
  for (const uint32_t type : {BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_HASH,
                              BPF_MAP_TYPE_PERCPU_HASH, BPF_MAP_TYPE_LRU_HASH, BPF_MAP_TYPE_LRU_PERCPU_HASH,
                              BPF_MAP_TYPE_LPM_TRIE, BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_STACK, BPF_MAP_TYPE_BLOOM_FILTER,
                              BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_PERF_EVENT_ARRAY, BPF_MAP_TYPE_PROG_ARRAY,
                              BPF_MAP_TYPE_DEVMAP, BPF_MAP_TYPE_DEVMAP_HASH, BPF_MAP_TYPE_CPUMAP, BPF_MAP_TYPE_XSKMAP})
    for (const uint32_t key : {0U, 1U, 4U, 5U, 8U, 12U, 300U, 5000000U})
      for (const uint32_t value : {0U, 1U, 4U, 8U, 32768U, 32769U, 5000000U, 0x80000000U})
        for (const uint32_t entries : {0, 1, 5, 4096})
          for (const uint32_t flags : kFlags) {
            // As many CPUs as a kernel was built for
            if (type == BPF_MAP_TYPE_CPUMAP && entries > 5) continue;
            // Whether the machine has that much memory is no rule
            if (value < 0x80000000U && uint64_t{value} * entries > kMostBytes) continue;
            // Before 6.12 a great per-CPU value failed only when it was allocated
            if (value > 32768 && !at_least(6, 12)) continue;
            const auto spec = spec_of(type, key, value, entries, flags);
            int theirs = 0;
            const UniqueFd kernel = create_map(spec, theirs);
            const auto made = Map::create(spec, cpus());
            const int ours = made ? 0 : made.error().code;
            ++tally.runs;
            if (theirs != ours) differs(tally, fmt::format("{}: kernel {}, ours {}", text_of(spec), theirs, ours));
          }
}

}  // namespace

void compare_maps(std::vector<Tally>& table) {
  Tally shapes{.name = "map shapes"};
  compare_shapes(shapes);
  table.push_back(shapes);
  for (const auto& family : families()) {
    Tally tally{.name = fmt::format("map {}", family.name)};
    compare_family(tally, family);
    tally.note = fmt::format("{} maps", std::exchange(tally.programs, 0));
    table.push_back(tally);
  }
}

}  // namespace xbond::bpf::conformance
