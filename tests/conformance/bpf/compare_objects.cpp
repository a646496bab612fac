#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "app/xbpf/test_frame.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/object.hpp"
#include "tests/conformance/bpf/kernel_object.hpp"
#include "tests/conformance/bpf/map_pair.hpp"
#include "tests/conformance/bpf/packets.hpp"
#include "tests/conformance/bpf/parts.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::conformance {
namespace {

constexpr uint32_t kLoopback = 1;

struct OurResult {
  uint32_t verdict;
  std::vector<std::byte> packet;
};

OurResult our_run(const Program& program, const Packet& packet, uint32_t cpu) {
  xbpf::TestFrame frame(std::as_bytes(std::span(packet)), program.takes_fragments(), kLoopback, 0);
  uint32_t verdict = 0;
  program.run_burst({&frame.view(), 1}, &verdict, cpu);
  return {verdict, frame.output()};
}

class Comparison {
 public:
  Comparison(Tally& tally, const KernelObject& kernel, const Program& ours, uint32_t cpu)
      : tally_(tally), kernel_(kernel), ours_(ours), cpu_(cpu) {}

  void run() {
    for_each_map(fill_both);
    size_t number = 0;
    // Twice: the second time maps hold what the first left
    for (int round = 0; round < 2; ++round)
      for (const auto& packet : packets())
        if (ours_.takes_fragments() || packet.size() <= xbpf::TestFrame::kOnePiece) one(packet, number++);
    for_each_map(compare_both);
    if (ours_.faults().count != 0)
      differs(tally_, fmt::format("{} runs broke a rule, last: {}", ours_.faults().count, ours_.faults().last));
  }

 private:
  void one(const Packet& packet, size_t number) {
    ++tally_.runs;
    const auto theirs = test_run(kernel_.program(), packet);
    const auto ours = our_run(ours_, packet, cpu_);
    if (theirs.error != 0)
      return differs(tally_, fmt::format("packet {}: test run: {}", number, std::strerror(theirs.error)));
    if (theirs.verdict != ours.verdict)
      differs(tally_, fmt::format("packet {}: kernel returns {}, ours {}", number, theirs.verdict, ours.verdict));
    if (!std::ranges::equal(std::as_bytes(std::span(theirs.packet)), ours.packet))
      differs(tally_, fmt::format("packet {}: output differs ({} and {} bytes)", number, theirs.packet.size(),
                                  ours.packet.size()));
  }

  template <class Action>
  void for_each_map(Action&& action) {
    for (const auto& map : ours_.maps()) {
      const int theirs = kernel_.map(map->spec().name);
      if (theirs < 0) continue;
      if (const auto difference = action(theirs, *map)) differs(tally_, *difference);
    }
  }

  Tally& tally_;
  const KernelObject& kernel_;
  const Program& ours_;
  uint32_t cpu_;
};

// Helpers whose results changed: csum_diff folds since 6.13, metadata may be longer than 32 bytes since 6.8.
std::optional<std::string> too_new(const std::string& name) {
  if (name.starts_with("conf_csum") && !at_least(6, 13)) return "this kernel's bpf_csum_diff does not fold";
  if (name.starts_with("conf_room") && !at_least(6, 8)) return "this kernel has 32 bytes of metadata";
  return std::nullopt;
}

struct Row {
  std::string object, program, kernel, opens;
  std::vector<std::string> equal;  // by engine
  std::string note;
};

void print(const Row& row) {
  fmt::print("{:<26} {:<24} {:<8} {:<6}", row.object, row.program, row.kernel, row.opens);
  for (size_t i = 0; i < test::engines().size(); ++i) fmt::print(" {:<12}", i < row.equal.size() ? row.equal[i] : "");
  fmt::print(" {}\n", row.note);
}

class Objects {
 public:
  Objects(Tally& sum, uint32_t cpu) : sum_(sum), cpu_(cpu) {}

  void object(const std::string& path) {
    const auto file = std::filesystem::path(path).filename().string();
    const auto object = Object::open(path);
    if (!object) {
      // Whatever libbpf opens has to open here
      const ObjectHandle theirs(bpf_object__open_file(path.c_str(), nullptr));
      if (theirs && object.error().code != ENOTSUP) ++sum_.differences;
      return print({file, "", theirs ? "opens" : "no", "no", {}, object.error().text});
    }
    for (const auto list : {object->programs(), object->untyped()})
      for (const auto& spec : list) program(path, file, *object, spec);
  }

 private:
  static KernelObject in_kernel(const std::string& path, const Object& object, const ProgramSpec& spec, Row& row) {
    std::string why;
    auto kernel = KernelObject::by_libbpf(path, spec.name, why);
    if (kernel.valid()) return kernel;
    std::string also;
    kernel = KernelObject::by_instructions(object, spec, also);
    row.kernel = kernel.valid() ? "as read" : "no";
    row.note = kernel.valid() ? why : fmt::format("{}; {}", why, also);
    return kernel;
  }

  void program(const std::string& path, const std::string& file, const Object& object, const ProgramSpec& spec) {
    Row row{file, spec.name, "yes", "yes", {}, ""};
    ++sum_.programs;
    const auto too = too_new(file);
    for (const auto engine : test::engines()) {
      // The kernel's maps too begin anew
      const auto kernel = in_kernel(path, object, spec, row);
      const auto ours = Program::load(object, spec, {.engine = engine, .cpus = cpus()});
      if (too)
        row.note = *too;
      else if (!ours)
        refused(row, engine, kernel.valid(), ours.error());
      else if (kernel.valid())
        compared(row, kernel, **ours);
    }
    print(row);
  }

  void refused(Row& row, EngineKind engine, bool by_kernel, const Error& error) {
    row.note = error.text.substr(std::min(error.text.find("program "), error.text.size()));
    if (engine == EngineKind::interpreter) row.opens = "no";
    row.equal.emplace_back(by_kernel ? "left" : "");
    // What later versions will take, what has no meaning here, and where our verifier is stricter, which is the
    // verdicts' to judge; anything else is a difference
    if (by_kernel && error.code != ENOTSUP && error.code != EACCES) ++sum_.differences;
  }

  void compared(Row& row, const KernelObject& kernel, const Program& ours) {
    Tally tally{.name = fmt::format("{}: {} by {}", row.object, row.program, engine_name(ours.engine()))};
    Comparison(tally, kernel, ours, cpu_).run();
    row.equal.emplace_back(tally.differences == 0 ? "yes" : "NO");
    sum_.runs += tally.runs;
    sum_.differences += tally.differences;
  }

  Tally& sum_;
  uint32_t cpu_;
};

}  // namespace

void compare_objects(std::vector<Tally>& table, const std::vector<std::string>& paths, uint32_t cpu) {
  Tally sum{.name = "objects"};
  std::vector<std::string> names;
  for (const auto engine : test::engines()) names.emplace_back(engine_name(engine));
  print({"object", "program", "kernel", "opens", names, "note"});
  Objects objects(sum, cpu);
  for (const auto& path : paths) objects.object(path);
  table.push_back(sum);
}

}  // namespace xbond::bpf::conformance
