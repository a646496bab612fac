#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/object.hpp"
#include "tests/conformance/bpf/packets.hpp"
#include "tests/conformance/bpf/parts.hpp"
#include "tests/conformance/bpf/random.hpp"

namespace xbond::bpf::conformance {
namespace {

// The kernel's test run: a page, 256 bytes in front of which it keeps 40, and the room of its shared info behind.
constexpr size_t kPage = 4096;
constexpr size_t kFront = 256 - 40;
constexpr size_t kBack = 320;
constexpr uint32_t kLoopback = 1;

struct OurResult {
  uint32_t verdict;
  Packet packet;
};

OurResult our_run(const Program& program, const Packet& packet, uint32_t cpu) {
  std::vector<uint8_t> buffer(kPage - 40, 0);
  auto* data = buffer.data() + kFront;
  std::ranges::copy(packet, data);
  XdpFrame frame{data, data + packet.size(), data, buffer.data(), buffer.data() + buffer.size() - kBack, kLoopback, 0,
                 0};
  uint32_t verdict = 0;
  program.run_burst({&frame, 1}, &verdict, cpu);
  return {verdict, {frame.data_meta, frame.data_end}};
}

// The kernel's load of an object by libbpf's usual way, XDP programs only, nothing pinned.
ObjectHandle load_in_kernel(const std::string& path, std::string& why) {
  ObjectHandle object(bpf_object__open_file(path.c_str(), nullptr));
  if (!object) {
    why = std::strerror(errno);
    return nullptr;
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    const bool xdp = bpf_program__type(program) == BPF_PROG_TYPE_XDP;
    bpf_program__set_autoload(program, xdp);
    // Programs for devmaps and cpumaps have no test run of their own
    if (xdp) bpf_program__set_expected_attach_type(program, BPF_XDP);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object.get()) bpf_map__set_pin_path(map, nullptr);
  if (const int rc = bpf_object__load(object.get()); rc != 0) {
    why = std::strerror(-rc);
    return nullptr;
  }
  return object;
}

class Comparison {
 public:
  Comparison(Tally& tally, bpf_object* kernel, const Program& ours, uint32_t cpu)
      : tally_(tally), kernel_(kernel), ours_(ours), cpu_(cpu) {}

  void run() {
    ++tally_.programs;
    const auto* program = bpf_object__find_program_by_name(kernel_, ours_.name().c_str());
    if (!program) return differs(tally_, fmt::format("{} is not in the kernel's object", ours_.name()));
    fill_maps();
    size_t number = 0;
    // Twice: the second time maps hold what the first left
    for (int round = 0; round < 2; ++round)
      for (const auto& packet : packets()) one(bpf_program__fd(program), packet, number++);
    compare_contents();
    if (ours_.faults().count != 0)
      differs(tally_, fmt::format("{}: {} runs broke a rule, last: {}", ours_.name(), ours_.faults().count,
                                  ours_.faults().last));
  }

 private:
  void one(int fd, const Packet& packet, size_t number) {
    ++tally_.runs;
    const auto theirs = test_run(fd, packet);
    const auto ours = our_run(ours_, packet, cpu_);
    if (theirs.error != 0)
      return differs(tally_, fmt::format("packet {}: test run: {}", number, std::strerror(theirs.error)));
    if (theirs.verdict != ours.verdict)
      differs(tally_, fmt::format("{} packet {}: kernel returns {}, ours {}", ours_.name(), number, theirs.verdict,
                                  ours.verdict));
    if (theirs.packet != ours.packet)
      differs(tally_, fmt::format("{} packet {}: output differs ({} and {} bytes)", ours_.name(), number,
                                  theirs.packet.size(), ours.packet.size()));
  }

  // A map of ours and the kernel's of the same place in the object; data sections differ in names.
  template <class Action>
  void for_each_map(Action&& action) {
    bpf_map* theirs = nullptr;
    bpf_object__for_each_map(theirs, kernel_) {
      std::string_view name = bpf_map__name(theirs);
      if (bpf_map__is_internal(theirs)) name = name.substr(std::min(name.find('.'), name.size()));
      const auto it = std::ranges::find(ours_.maps(), name, [](const auto& map) { return map->spec().name; });
      if (it != ours_.maps().end()) action(theirs, **it);
    }
  }

  // The same values on both sides, by control's calls; data sections stand as the object made them.
  void fill_maps() {
    Random random(99);
    for_each_map([&](bpf_map* theirs, Map& ours) {
      if (bpf_map__is_internal(theirs)) return;
      std::vector<uint8_t> value(ours.control_value_size());
      for (uint32_t key = 0; key < std::min(ours.spec().max_entries, 16U); ++key) {
        random.fill(value);
        const int a = bpf_map_update_elem(bpf_map__fd(theirs), &key, value.data(), BPF_ANY);
        const int b = ours.copy_update(std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(value)), BPF_ANY);
        if ((a == 0) != (b == 0)) differs(tally_, fmt::format("map {}: filling key {}", ours.spec().name, key));
      }
    });
  }

  void compare_contents() {
    for_each_map([&](bpf_map* theirs, Map& ours) {
      std::vector<uint8_t> a(ours.control_value_size());
      std::vector<uint8_t> b(ours.control_value_size());
      for (uint32_t key = 0; key < ours.spec().max_entries; ++key) {
        const int rc = bpf_map_lookup_elem(bpf_map__fd(theirs), &key, a.data());
        const int own = ours.copy_lookup(std::as_bytes(std::span(&key, 1)), std::as_writable_bytes(std::span(b)));
        if (rc != 0 || own != 0 || a != b)
          differs(tally_, fmt::format("{}: map {} key {} holds other bytes", ours_.name(), ours.spec().name, key));
      }
    });
  }

  Tally& tally_;
  bpf_object* kernel_;
  const Program& ours_;
  uint32_t cpu_;
};

// Helpers whose results changed: csum_diff folds since 6.13, metadata may be longer than 32 bytes since 6.8.
std::optional<std::string> too_new(const std::string& name) {
  if (name.starts_with("conf_csum") && !at_least(6, 13))
    return "not compared: this kernel's bpf_csum_diff does not fold";
  if (name.starts_with("conf_room") && !at_least(6, 8)) return "not compared: this kernel has 32 bytes of metadata";
  return std::nullopt;
}

void compare_object(Tally& tally, const std::string& path, uint32_t cpu) {
  const auto object = Object::open(path);
  if (!object) {
    tally.note = "not compared: " + object.error().text;
    return;
  }
  for (const auto& spec : object->programs()) {
    const auto ours = Program::load(*object, spec, {.cpus = cpus()});
    if (!ours) {
      // What later versions will take; anything else is a difference
      if (ours.error().code != ENOTSUP) differs(tally, ours.error().text);
      tally.note = "not compared: " + ours.error().text.substr(ours.error().text.find("program "));
      continue;
    }
    std::string why;
    const auto kernel = load_in_kernel(path, why);
    if (!kernel) {
      tally.note = "the kernel does not load it: " + why;
      return;
    }
    Comparison(tally, kernel.get(), **ours, cpu).run();
  }
}

}  // namespace

void compare_objects(std::vector<Tally>& table, const std::vector<std::string>& paths, uint32_t cpu) {
  for (const auto& path : paths) {
    Tally tally{.name = std::filesystem::path(path).filename().string()};
    if (const auto why = too_new(tally.name))
      tally.note = *why;
    else
      compare_object(tally, path, cpu);
    table.push_back(tally);
  }
}

}  // namespace xbond::bpf::conformance
