#include "tests/perf/p4_native.hpp"

#include <array>
#include <cstring>

#include "bpf_compat/map/hash.hpp"
#include "bpf_compat/map/percpu_array.hpp"

namespace xbond::perf {
namespace {

// What a program's look-ups find their maps by
thread_local const P4Maps* the_maps = nullptr;

inline void* find_flow(const void* key) {
  auto& map = static_cast<bpf::HashMap&>(*the_maps->flows);
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), key, sizeof(words));
  const auto slot = map.find_slot(words, 0);
  return slot == bpf::kNoSlot ? nullptr : map.value(slot, 0);
}

inline void* find_counter(uint32_t index) {
  const auto& map = static_cast<const bpf::PercpuArrayMap&>(*the_maps->counters);
  return index < map.spec().max_entries ? the_maps->counters->values_range().data() + map.stride() * index : nullptr;
}

#define P4_FLOW(key) static_cast<p4_flow*>(find_flow(key))
#define P4_COUNTER(index) static_cast<p4_counter*>(find_counter(index))
#include "tests/data/bpf/p4_programs.h"

uint32_t turns = 0;
uint32_t next() {
  return turns++ % P4_KEYS;
}

template <class Body>
void over(std::span<bpf::XdpFrame> frames, uint32_t* verdicts, const Body& body) {
  for (size_t i = 0; i < frames.size(); ++i) verdicts[i] = body(frames[i].data, frames[i].data_end);
}

struct Named {
  std::string_view name;
  P4Native run;
};

#define P4_PROGRAM(name, body)                                                                  \
  Named {                                                                                       \
#name, [](const P4Maps& maps, std::span<bpf::XdpFrame> frames, uint32_t* verdicts) {          \
      the_maps = &maps;                                                                           \
      over(frames, verdicts, [](uint8_t* data, uint8_t* end) { return (void)data, (void)end, body; }); \
    } \
  }

constexpr std::array kPrograms = {
    P4_PROGRAM(empty, uint32_t{XDP_DROP}),
    P4_PROGRAM(swap, p4_swap(data, end)),
    P4_PROGRAM(count, p4_count(data, end)),
    P4_PROGRAM(fields_hot, p4_flow_fields(data, end, 0)),
    P4_PROGRAM(fields_many, p4_flow_fields(data, end, next())),
    P4_PROGRAM(words_hot, p4_flow_words(data, end, 0)),
    P4_PROGRAM(words_many, p4_flow_words(data, end, next())),
    P4_PROGRAM(checksum, p4_checksum(data, end)),
    P4_PROGRAM(balance_hot, p4_balance(data, end, 0)),
    P4_PROGRAM(balance_many, p4_balance(data, end, next())),
};

}  // namespace

P4Native p4_native(std::string_view program) {
  for (const auto& one : kPrograms)
    if (one.name == program) return one.run;
  return nullptr;
}

}  // namespace xbond::perf
