#include "tests/made/both_runs.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "bpf_compat/verifier/verifier.hpp"
#include "tests/made/made_frame.hpp"

namespace xbond::bpf::test {
namespace {

// The walk of one made program ends soon, or it has too many ways to be worth the time
constexpr uint64_t kBudget = 50'000;
constexpr unsigned kTurns = 12;
constexpr uint32_t kCpus = 2;

using Bytes = std::vector<std::byte>;

// In the order of keys: a hash map's own order differs from one to the next.
std::map<Bytes, Bytes> contents(Map& map) {
  std::map<Bytes, Bytes> all;
  Bytes key;
  Bytes next(map.spec().key_size);
  Bytes value(map.control_value_size());
  while (map.next_key(key, next) == 0) {
    key = next;
    if (map.copy_lookup(key, value) == 0) all[key] = value;
  }
  return all;
}

std::optional<std::string> differing_map(const Program& a, const Program& b) {
  for (size_t i = 0; i < a.maps().size(); ++i)
    if (contents(*a.maps()[i]) != contents(*b.maps()[i]))
      return fmt::format("map {} holds something else", a.maps()[i]->spec().name);
  return std::nullopt;
}

// Some frames a burst, so that what one leaves could be seen by the next.
std::optional<std::string> differing_burst(const Program& interpreted, const Program& other,
                                           std::span<const uint8_t> bytes, unsigned turn) {
  std::vector<uint32_t> verdicts(2);
  MadeFrame ours(bytes, turn);
  MadeFrame theirs(bytes, turn);
  MadeFrame ours_too(bytes, turn + 1);
  MadeFrame theirs_too(bytes, turn + 1);
  const auto run = [&](const Program& program, MadeFrame& first, MadeFrame& second) {
    std::array<XdpFrame, 2> frames{first.view(), second.view()};
    program.run_burst(frames, verdicts.data(), 1);
    first.view() = frames[0];
    second.view() = frames[1];
    return verdicts;
  };
  const auto expected = run(interpreted, ours, ours_too);
  const auto got = run(other, theirs, theirs_too);
  if (expected != got)
    return fmt::format("frames {}, {}: the interpreter gives {:#x}, {:#x}, the other {:#x}, {:#x}", turn, turn + 1,
                       expected[0], expected[1], got[0], got[1]);
  if (!(ours.place() == theirs.place()) || !(ours_too.place() == theirs_too.place()))
    return fmt::format("frames {}, {}: the frame lies elsewhere, or goes elsewhere", turn, turn + 1);
  if (ours.buffer() != theirs.buffer() || ours_too.buffer() != theirs_too.buffer())
    return fmt::format("frames {}, {}: other bytes", turn, turn + 1);
  return std::nullopt;
}

}  // namespace

Both run_in_both(const Object& object, std::span<const uint8_t> bytes, EngineKind engine, std::string& why) {
  const auto& spec = object.programs().front();
  if (const auto report = verifier::verify(object, spec, {.budget = kBudget}); report.refusal) {
    why = report.refusal->line();
    return Both::refused;
  }
  const auto interpreted = Program::load(object, spec, {.engine = EngineKind::interpreter, .cpus = kCpus});
  const auto other = Program::load(object, spec, {.engine = engine, .cpus = kCpus});
  if (!interpreted || !other) {
    why = interpreted ? other.error().text : interpreted.error().text;
    return interpreted && other.error().code == ENOTSUP ? Both::left : Both::different;
  }
  for (unsigned turn = 0; turn < kTurns; turn += 2) {
    if (const auto difference = differing_burst(**interpreted, **other, bytes, turn)) {
      why = *difference;
      return Both::different;
    }
  }
  if (const auto difference = differing_map(**interpreted, **other)) {
    why = *difference;
    return Both::different;
  }
  if ((*interpreted)->faults().count == (*other)->faults().count) return Both::equal;
  why = fmt::format("{} runs of the interpreter broke a rule, {} of the other ({})", (*interpreted)->faults().count,
                    (*other)->faults().count, (*other)->faults().last);
  return Both::different;
}

}  // namespace xbond::bpf::test
