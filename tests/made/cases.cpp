// Made programs by the thousand: most are sound, and none that the verifier accepts breaks a rule.
//
//   made_cases [COUNT [SEED [FIRST]]]     default 4000 from seed 4, case 0. Exit 1 with the program where one does.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/made/program_maker.hpp"
#include "tests/made/verified_run.hpp"

namespace {

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

}  // namespace

int main(int argc, char** argv) {
  const size_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4000;
  const size_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
  const size_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  std::map<std::string, size_t> reasons;
  size_t accepted = 0;
  for (size_t i = first; i < first + cases; ++i) {
    std::mt19937_64 random(seed << 32 | i);
    std::vector<uint8_t> bytes(kProgramBytes + kFrameBytes);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
    const auto object = make_program(std::span(bytes).first(kProgramBytes));
    std::string why;
    const auto outcome = verify_and_run(object, std::span(bytes).subspan(kProgramBytes), why);
    if (outcome == Verified::broken) {
      std::printf("%scase %zu of seed %zu was accepted, and then: %s\nmade_cases 1 %zu %zu runs it alone\n",
                  listing(object).c_str(), i, seed, why.c_str(), seed, i);
      return 1;
    }
    accepted += outcome == Verified::sound;
    if (outcome == Verified::refused) ++reasons[reason(why)];
  }
  for (const auto& [text, count] : reasons) std::printf("%7zu %s\n", count, text.c_str());
  std::printf("accepted %zu of %zu\n", accepted, cases);
  // Fewer, and the maker makes nonsense; all, and its mistakes are not seen
  return accepted * 3 >= cases && accepted < cases ? 0 : 1;
}
