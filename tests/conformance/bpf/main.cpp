// Compares bpf_compat with the running kernel. Arguments: object files, and directories of them. Exit 0 no difference,
// 1 differences, 77 skipped.
#include <fmt/format.h>

#include "tests/conformance/bpf/files.hpp"
#include "tests/conformance/bpf/parts.hpp"

namespace {

using xbond::bpf::conformance::Tally;

size_t print_table(const std::vector<Tally>& table) {
  Tally sum{.name = "all"};
  fmt::print("{:<34} {:>9} {:>8} {:>12}  {}\n", "compared with the kernel", "programs", "runs", "differences", "note");
  const auto line = [](const Tally& t) {
    fmt::print("{:<34} {:>9} {:>8} {:>12}  {}\n", t.name, t.programs, t.runs, t.differences, t.note);
  };
  for (const auto& tally : table) {
    line(tally);
    sum.programs += tally.programs;
    sum.runs += tally.runs;
    sum.differences += tally.differences;
  }
  line(sum);
  return sum.differences;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace xbond::bpf::conformance;  // NOLINT(google-build-using-namespace)
  if (!ready()) return kSkipped;
  const auto cpu = pin_to_one_cpu();
  const auto objects = object_files({argv + 1, argv + argc});
  std::vector<Tally> table;
  compare_maps(table);
  compare_map_refs(table);
  compare_instructions(table, cpu);
  compare_objects(table, objects, cpu);
  compare_host(table, cpu);
  return print_table(table) == 0 ? 0 : 1;
}
