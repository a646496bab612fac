// Made programs by the thousand: most are sound, and none that the verifier accepts breaks a rule. With an engine's
// name: none gives anything else by that engine than by the interpreter.
//
//   made_cases [COUNT [SEED [FIRST [ENGINE]]]]     default 4000 from seed 4, case 0. Exit 1 with what was found.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/made/both_runs.hpp"
#include "tests/made/program_maker.hpp"
#include "tests/made/verified_run.hpp"

namespace {

using namespace xbond::bpf;        // NOLINT(google-build-using-namespace)
using namespace xbond::bpf::test;  // NOLINT(google-build-using-namespace)

constexpr size_t kProgramBytes = 1024;
constexpr size_t kFrameBytes = 400;

std::string reason(const std::string& line) {
  const auto at = line.find(": ");
  std::string text = line.substr(at == std::string::npos ? 0 : at + 2, 48);
  for (auto& c : text)
    if (c >= '0' && c <= '9') c = '#';
  return text;
}

struct Sum {
  size_t accepted = 0;
  std::map<std::string, size_t> reasons;
};

// False: the case found something.
bool proven(const Object& object, std::span<const uint8_t> frames, Sum& sum, std::string& why) {
  const auto outcome = verify_and_run(object, frames, why);
  sum.accepted += outcome == Verified::sound;
  if (outcome == Verified::refused) ++sum.reasons[reason(why)];
  return outcome != Verified::broken;
}

bool compared(const Object& object, std::span<const uint8_t> frames, EngineKind engine, Sum& sum, std::string& why) {
  const auto outcome = run_in_both(object, frames, engine, why);
  sum.accepted += outcome == Both::equal;
  if (outcome == Both::refused || outcome == Both::left) ++sum.reasons[reason(why)];
  return outcome != Both::different;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4000;
  const size_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
  const size_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const auto engine = parse_engine(argc > 4 ? argv[4] : "interpreter");
  if (!engine) {
    std::printf("%s\n", engine.error().text.c_str());
    return 1;
  }
  const bool compare = *engine != EngineKind::interpreter;
  Sum sum;
  for (size_t i = first; i < first + cases; ++i) {
    std::mt19937_64 random(seed << 32 | i);
    std::vector<uint8_t> bytes(kProgramBytes + kFrameBytes);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
    // What differs from run to run can't be compared
    const auto object = make_program(std::span(bytes).first(kProgramBytes), {.repeatable = compare});
    const auto frames = std::span<const uint8_t>(bytes).subspan(kProgramBytes);
    std::string why;
    if (compare ? compared(object, frames, *engine, sum, why) : proven(object, frames, sum, why)) continue;
    std::printf("%scase %zu of seed %zu was accepted, and then: %s\nmade_cases 1 %zu %zu %s runs it alone\n",
                listing(object).c_str(), i, seed, why.c_str(), seed, i, compare ? argv[4] : "");
    return 1;
  }
  for (const auto& [text, count] : sum.reasons) std::printf("%7zu %s\n", count, text.c_str());
  std::printf("accepted %zu of %zu\n", sum.accepted, cases);
  // Of many: fewer, and the maker makes nonsense; all, and its mistakes are not seen
  return cases < 1000 || (sum.accepted * 3 >= cases && sum.accepted < cases) ? 0 : 1;
}
