// Maps whose values stand for something: other maps, interfaces, queues of CPUs. Their values are numbers of another
// kind in the kernel (descriptors in, ids out), so that the sequence runs on what they stand for.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tests/conformance/bpf/map_sequence.hpp"

namespace xbond::bpf::conformance {
namespace {

constexpr int kOperations = 3000;
constexpr uint32_t kLoopback = 1;

int result(int rc) {
  return rc == 0 ? 0 : -errno;
}

template <class T>
std::span<const std::byte> in(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> out(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// A value as both sides take it, and as they give it back.
struct Value {
  std::array<uint32_t, 2> kernel_in, ours_in, kernel_out, ours_out;
};

// What stands in a map: the values to choose from, and both maps.
struct Subject {
  MapSpec spec;
  UniqueFd kernel;
  std::shared_ptr<Map> ours;
  std::vector<Value> values;
};

uint32_t id_of(int map) {
  bpf_map_info info{};
  uint32_t size = sizeof(info);
  return bpf_obj_get_info_by_fd(map, &info, &size) == 0 ? info.id : 0;
}

void run(Tally& tally, const Subject& subject, uint64_t seed) {
  Random random(seed);
  const auto check = [&](const char* what, uint32_t key, int kernel, int ours) {
    if (kernel != ours)
      differs(tally, fmt::format("{}: {} key {}: kernel {}, ours {}", text_of(subject.spec), what, key, kernel, ours));
  };
  for (int i = 0; i < kOperations; ++i) {
    ++tally.runs;
    const auto key = static_cast<uint32_t>(random.below(subject.spec.max_entries + 2));
    const auto operation = random.below(8);
    if (operation < 3) {
      const auto& value = subject.values[random.below(subject.values.size())];
      const uint64_t flags = random.chance(3) ? random.below(6) : 0;
      const int theirs = result(bpf_map_update_elem(subject.kernel.get(), &key, value.kernel_in.data(), flags));
      check("update", key, theirs,
            subject.ours->copy_update(in(key), in(value.ours_in).first(subject.spec.value_size), flags));
    } else if (operation < 6) {
      std::array<uint32_t, 2> a{};
      std::array<uint32_t, 2> b{};
      const int theirs = result(bpf_map_lookup_elem(subject.kernel.get(), &key, a.data()));
      check("lookup", key, theirs, subject.ours->copy_lookup(in(key), out(b).first(subject.spec.value_size)));
      bool same = theirs != 0;
      for (const auto& value : subject.values) same = same || (a == value.kernel_out && b == value.ours_out);
      if (!same) differs(tally, fmt::format("{}: lookup key {}: {} and {}", text_of(subject.spec), key, a[0], b[0]));
    } else if (operation == 6) {
      const int theirs = result(bpf_map_delete_elem(subject.kernel.get(), &key));
      check("delete", key, theirs, subject.ours->copy_erase(in(key)));
    } else {
      uint32_t a = 0;
      uint32_t b = 0;
      const bool first = random.chance(4);
      const int theirs = result(bpf_map_get_next_key(subject.kernel.get(), first ? nullptr : &key, &a));
      const int ours = subject.ours->next_key(first ? std::span<const std::byte>() : in(key), out(b));
      // A hash map's order is its own
      if (subject.spec.type == BPF_MAP_TYPE_HASH_OF_MAPS || subject.spec.type == BPF_MAP_TYPE_DEVMAP_HASH) continue;
      check("next key", key, theirs, ours);
      if (a != b) differs(tally, fmt::format("{}: next key after {}: {} and {}", text_of(subject.spec), key, a, b));
    }
  }
}

// Two maps of the right shape, and one that no entry takes.
void compare_maps_of_maps(Tally& tally, uint32_t type, uint32_t entries) {
  const auto inner = spec_of(BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
  const std::array shapes{inner, inner, spec_of(BPF_MAP_TYPE_ARRAY, 4, 8, 4, 0),
                          spec_of(BPF_MAP_TYPE_HASH, 4, 8, 3, 0)};
  std::vector<UniqueFd> theirs;
  std::vector<std::shared_ptr<Map>> ours;
  Subject subject{.spec = spec_of(type, 4, 4, entries, 0), .kernel = UniqueFd(), .ours = nullptr, .values = {}};
  for (const auto& shape : shapes) {
    int error = 0;
    theirs.push_back(create_map(shape, error));
    ours.push_back(*Map::create(shape, cpus()));
    const auto fd = static_cast<uint32_t>(theirs.back().get());
    const auto id = ours.back()->id();
    subject.values.push_back({{fd, 0}, {id, 0}, {id_of(theirs.back().get()), 0}, {id, 0}});
  }
  subject.values.push_back({{0x7fffffff, 0}, {0x7fffffff, 0}, {}, {}});  // no map
  subject.spec.inner = std::make_shared<const MapSpec>(inner);
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.inner_map_fd = static_cast<uint32_t>(theirs.front().get());
  subject.kernel = UniqueFd(bpf_map_create(static_cast<bpf_map_type>(type), "conformance", 4, 4, entries, &options));
  const auto made = Map::create(subject.spec, cpus());
  if (!subject.kernel || !made) return differs(tally, text_of(subject.spec) + ": can't be made on both sides");
  subject.ours = *made;
  ++tally.programs;
  run(tally, subject, entries + type);
}

// Interfaces: loopback, none, and program descriptors that lead nowhere. Queues: small, none, too long.
void compare_targets(Tally& tally, uint32_t type, uint32_t value_size, uint32_t entries) {
  Subject subject{
      .spec = spec_of(type, 4, value_size, entries, 0), .kernel = UniqueFd(), .ours = nullptr, .values = {}};
  const auto add = [&](uint32_t number, uint32_t program_in) {
    subject.values.push_back({{number, program_in}, {number, program_in}, {number, 0}, {number, 0}});
  };
  if (type == BPF_MAP_TYPE_CPUMAP) {
    for (const uint32_t queue : {0, 8, 192, 16384, 16385}) add(queue, 0);
    if (value_size == 8)
      for (const uint32_t program : {0xffffffffU, 0x7fffffffU}) add(192, program);
  } else {
    for (const uint32_t ifindex : {0U, kLoopback, kLoopback}) add(ifindex, 0);
    if (value_size == 8)
      for (const uint32_t ifindex : {0U, kLoopback})
        for (const uint32_t program : {0xffffffffU, 0x7fffffffU}) add(ifindex, program);
  }
  int error = 0;
  subject.kernel = create_map(subject.spec, error);
  const auto made = Map::create(subject.spec, cpus());
  if (!subject.kernel || !made) return differs(tally, text_of(subject.spec) + ": can't be made on both sides");
  subject.ours = *made;
  ++tally.programs;
  run(tally, subject, entries + type + value_size);
}

}  // namespace

void compare_map_refs(std::vector<Tally>& table) {
  const auto add = [&](const char* name, auto&& action) {
    Tally tally{.name = fmt::format("map {}", name)};
    for (const uint32_t entries : {1, 2, 7, 100}) action(tally, entries);
    tally.note = fmt::format("{} maps", std::exchange(tally.programs, 0));
    table.push_back(tally);
  };
  for (const auto& [name, type] :
       {std::pair("array_of_maps", BPF_MAP_TYPE_ARRAY_OF_MAPS), std::pair("hash_of_maps", BPF_MAP_TYPE_HASH_OF_MAPS)})
    add(name, [type = type](Tally& tally, uint32_t entries) { compare_maps_of_maps(tally, type, entries); });
  for (const auto& [name, type] :
       {std::pair("devmap", BPF_MAP_TYPE_DEVMAP), std::pair("devmap_hash", BPF_MAP_TYPE_DEVMAP_HASH),
        std::pair("cpumap", BPF_MAP_TYPE_CPUMAP)})
    add(name, [type = type](Tally& tally, uint32_t entries) {
      for (const uint32_t value : {4, 8}) compare_targets(tally, type, value, entries);
    });
}

}  // namespace xbond::bpf::conformance
