#include <fmt/format.h>
#include <linux/bpf.h>

#include <array>
#include <cerrno>

#include "tests/conformance/bpf/parts.hpp"
#include "tests/conformance/bpf/random.hpp"

namespace xbond::bpf::conformance {
namespace {

MapSpec spec_of(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags) {
  return {.name = "m", .type = type, .key_size = key, .value_size = value, .max_entries = entries, .flags = flags};
}

std::string text_of(const MapSpec& spec) {
  return fmt::format("type {} key {} value {} entries {} flags {:#x}", spec.type, spec.key_size, spec.value_size,
                     spec.max_entries, spec.flags);
}

int result(int rc) {
  return rc == 0 ? 0 : -errno;
}

// The same map on both sides.
struct Pair {
  Fd kernel;
  std::shared_ptr<Map> ours;
  size_t value_bytes;  // of a control value
};

class Sequence {
 public:
  Sequence(Tally& tally, const Pair& pair, uint64_t seed) : tally_(tally), pair_(pair), random_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      ++tally_.runs;
      switch (random_.below(8)) {
        case 0:
        case 1:
        case 2:
          update();
          break;
        case 3:
        case 4:
          lookup();
          break;
        case 5:
          erase();
          break;
        default:
          next();
      }
    }
  }

 private:
  uint32_t key() {
    const auto entries = pair_.ours->spec().max_entries;
    return static_cast<uint32_t>(random_.chance(4) ? entries + random_.edge() : random_.below(entries));
  }

  void check(const std::string& what, int kernel, int ours) {
    if (kernel != ours) differs(tally_, fmt::format("{}: kernel {}, ours {}", what, kernel, ours));
  }

  void update() {
    constexpr std::array<uint64_t, 8> kFlags = {0, 0, 0, 1, 2, 3, 4, 5};
    const auto k = key();
    const auto flags = kFlags[random_.below(kFlags.size())];
    std::vector<uint8_t> value(pair_.value_bytes);
    random_.fill(value);
    const int theirs = result(bpf_map_update_elem(pair_.kernel.get(), &k, value.data(), flags));
    const int ours = pair_.ours->copy_update(std::as_bytes(std::span(&k, 1)), std::as_bytes(std::span(value)), flags);
    check(fmt::format("update key {} flags {}", k, flags), theirs, ours);
  }

  void lookup() {
    const auto k = key();
    std::vector<uint8_t> theirs(pair_.value_bytes, 0xcc);
    std::vector<uint8_t> ours(pair_.value_bytes, 0xcc);
    const int a = result(bpf_map_lookup_elem(pair_.kernel.get(), &k, theirs.data()));
    const int b = pair_.ours->copy_lookup(std::as_bytes(std::span(&k, 1)), std::as_writable_bytes(std::span(ours)));
    check(fmt::format("lookup key {}", k), a, b);
    if (theirs != ours) differs(tally_, fmt::format("lookup key {}: values", k));
  }

  void erase() {
    const auto k = key();
    check(fmt::format("delete key {}", k), result(bpf_map_delete_elem(pair_.kernel.get(), &k)),
          pair_.ours->copy_erase(std::as_bytes(std::span(&k, 1))));
  }

  void next() {
    const auto k = key();
    const bool first = random_.chance(4);
    uint32_t theirs = 0xcccccccc;
    uint32_t ours = 0xcccccccc;
    const auto key_bytes = first ? std::span<const std::byte>{} : std::as_bytes(std::span(&k, 1));
    check(fmt::format("next key after {}", k),
          result(bpf_map_get_next_key(pair_.kernel.get(), first ? nullptr : &k, &theirs)),
          pair_.ours->next_key(key_bytes, std::as_writable_bytes(std::span(&ours, 1))));
    if (theirs != ours) differs(tally_, fmt::format("next key after {}: kernel {}, ours {}", k, theirs, ours));
  }

  Tally& tally_;
  const Pair& pair_;
  Random random_;
};

void compare_sequences(Tally& tally, uint32_t type) {
  constexpr int kOperations = 4000;
  const bool percpu = type == BPF_MAP_TYPE_PERCPU_ARRAY;
  for (const uint32_t value : {1, 3, 4, 8, 12, 16, 100}) {
    for (const uint32_t entries : {1, 2, 7, 1000}) {
      for (const uint32_t flags : {0U, uint32_t{BPF_F_RDONLY}, uint32_t{BPF_F_WRONLY}, uint32_t{BPF_F_RDONLY_PROG}}) {
        const auto spec = spec_of(type, 4, value, entries, flags);
        int error = 0;
        Pair pair{create_map(spec, error), nullptr, 0};
        auto ours = Map::create(spec, cpus());
        if (!pair.kernel.valid() || !ours) {
          differs(tally, fmt::format("{}: kernel errno {}, ours {}", text_of(spec), error, ours.ok()));
          continue;
        }
        pair.ours = *ours;
        pair.value_bytes = percpu ? (size_t{value} + 7) / 8 * 8 * cpus() : value;
        ++tally.programs;
        Sequence(tally, pair, value * 1000 + entries + flags).run(kOperations);
      }
    }
  }
}

// Shapes that one side may refuse: the same errno.
void compare_shapes(Tally& tally) {
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
  for (const uint32_t type : {BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY})
    for (const uint32_t key : {0, 1, 4, 8})
      for (const uint32_t value : {0U, 1U, 8U, 32768U, 32769U, 0x80000000U})
        for (const uint32_t entries : {0, 1, 5})
          for (const uint32_t flags : kFlags) {
            // Before 6.12 a great per-CPU value failed only when it was allocated
            if (value > 32768 && !at_least(6, 12)) continue;
            const auto spec = spec_of(type, key, value, entries, flags);
            int theirs = 0;
            const Fd kernel = create_map(spec, theirs);
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
  for (const auto& [name, type] :
       {std::pair("map array", BPF_MAP_TYPE_ARRAY), std::pair("map percpu_array", BPF_MAP_TYPE_PERCPU_ARRAY)}) {
    Tally tally{.name = name};
    compare_sequences(tally, type);
    tally.note = fmt::format("{} maps", std::exchange(tally.programs, 0));
    table.push_back(tally);
  }
}

}  // namespace xbond::bpf::conformance
