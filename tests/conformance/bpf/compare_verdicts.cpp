// Our verifier's verdicts against the running kernel's, on the programs of object files. Arguments: object files, and
// directories of them; --all prints each program. Exit 0: we accept nothing that the kernel refuses, and at least 97 %
// of what it accepts, and engines take what we accept; 1 otherwise; 77 skipped.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/verifier/verifier.hpp"
#include "tests/conformance/bpf/files.hpp"
#include "tests/conformance/bpf/kernel_object.hpp"

namespace xbond::bpf::conformance {
namespace {

constexpr double kLeastAccepted = 97.0;
constexpr size_t kTurns = 5;  // of each side, for the time that it takes

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct Verdict {
  bool accepted = false;
  std::string why;
  double milliseconds = 0;
};

// Programs by instruction set, as the file's name says: "NAME.v1.o".
std::string set_of(const std::string& file) {
  for (const auto* set : {"v1", "v2", "v3"})
    if (file.find(fmt::format(".{}.o", set)) != std::string::npos) return set;
  return "as built";
}

struct Row {
  size_t programs = 0, kernel = 0, both = 0, only_kernel = 0, only_ours = 0;
  double kernel_ms = 0, ours_ms = 0;
  size_t native = 0;  // of those that both accept, taken by llvm
  double native_ms = 0;
};

class Verdicts {
 public:
  explicit Verdicts(bool all) : all_(all) {}

  void object(const std::string& path) {
    const auto file = std::filesystem::path(path).filename().string();
    auto opened = Object::open(path);
    if (!opened) {
      fmt::print("{}: not compared, {}\n", file, opened.error().text);
      return;
    }
    const auto object = sized_by_loader(std::move(*opened));
    for (const auto list : {object.programs(), object.untyped()})
      for (const auto& spec : list)
        if (spec.refused.empty()) program(path, file, object, spec);
  }

  [[nodiscard]] bool print() const {
    fmt::print("{:<10} {:>9} {:>9} {:>9} {:>12} {:>10} {:>10} {:>10} {:>8} {:>8} {:>9}\n", "set", "programs",
               "kernel +", "both +", "only kernel", "only ours", "kernel ms", "ours ms", "accepted", "by llvm",
               "llvm ms");
    Row sum;
    for (const auto& [set, row] : rows_) {
      line(set, row);
      sum.programs += row.programs, sum.kernel += row.kernel, sum.both += row.both;
      sum.only_kernel += row.only_kernel, sum.only_ours += row.only_ours;
      sum.kernel_ms += row.kernel_ms, sum.ours_ms += row.ours_ms;
      sum.native += row.native, sum.native_ms += row.native_ms;
    }
    line("all", sum);
    fmt::print("time, median of {} each: {:.2f} of the kernel's load\n", kTurns,
               sum.kernel_ms > 0 ? sum.ours_ms / sum.kernel_ms : 0.0);
    const bool taken = sum.native == sum.both || !engine_available(EngineKind::llvm);
    return sum.only_ours == 0 && share(sum) >= kLeastAccepted && taken;
  }

 private:
  static double share(const Row& row) {
    return row.kernel == 0 ? 100.0 : 100.0 * static_cast<double>(row.both) / static_cast<double>(row.kernel);
  }
  static void line(const std::string& set, const Row& row) {
    fmt::print("{:<10} {:>9} {:>9} {:>9} {:>12} {:>10} {:>10.1f} {:>10.1f} {:>7.1f}% {:>8} {:>9.1f}\n", set,
               row.programs, row.kernel, row.both, row.only_kernel, row.only_ours, row.kernel_ms, row.ours_ms,
               share(row), row.native, row.native_ms);
  }

  // The median time of some turns, as one alone may be disturbed
  static double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  static Verdict kernel_verdict(const Object& object, const ProgramSpec& spec) {
    std::string why;
    bool valid = false;
    std::vector<double> times(kTurns);
    for (auto& time : times) {
      valid = KernelObject::by_instructions(object, spec, why, &time).valid();
      if (!valid) break;
    }
    return {valid, why, median(times)};
  }

  void program(const std::string& path, const std::string& file, const Object& object, const ProgramSpec& spec) {
    auto kernel = kernel_verdict(object, spec);
    if (!kernel.accepted) {
      // Global functions and the like are only known to a loader that hands over the types
      std::string why;
      const auto whole = KernelObject::by_libbpf(path, spec.name, why);
      kernel.accepted = whole.valid();
      if (!whole.valid() && KernelObject::lacks_maps(kernel.why))
        return fmt::print("{}: {}: not compared, {}\n", file, spec.name, kernel.why);
    }
    verifier::Report report;
    std::vector<double> times(kTurns);
    for (auto& time : times) {
      const auto start = std::chrono::steady_clock::now();
      report = verifier::verify(object, spec);
      time = milliseconds_since(start);
    }
    const double took = median(times);
    const bool ours = !report.refusal;
    auto& row = rows_[set_of(file)];
    ++row.programs;
    row.kernel += kernel.accepted;
    row.both += kernel.accepted && ours;
    row.only_kernel += kernel.accepted && !ours;
    row.only_ours += !kernel.accepted && ours;
    if (kernel.accepted && ours) row.kernel_ms += kernel.milliseconds, row.ours_ms += took;
    if (kernel.accepted && ours) by_llvm(file, object, spec, row);
    if (kernel.accepted != ours || all_)
      fmt::print("{}{}: {}: kernel {} {:.1f} ms, ours {} {:.1f} ms, {} walked, {} states, {} kB{}\n",
                 kernel.accepted != ours ? "DIFFERENCE " : "", file, spec.name,
                 kernel.accepted ? "accepts" : "refuses (" + kernel.why + ")", kernel.milliseconds,
                 ours ? "accepts" : "refuses (" + report.refusal->line() + ")", took, report.statistics.walked,
                 report.statistics.states, report.statistics.bytes / 1024,
                 kernel.accepted && !ours ? "\n    " + report.refusal->state : "");
  }

  static void by_llvm(const std::string& file, const Object& object, const ProgramSpec& spec, Row& row) {
    if (!engine_available(EngineKind::llvm)) return;
    const auto start = std::chrono::steady_clock::now();
    const auto program = Program::load(object, spec, {.engine = EngineKind::llvm});
    row.native_ms += milliseconds_since(start);
    row.native += program.ok();
    if (!program) fmt::print("{}: not taken by llvm: {}\n", file, program.error().text);
  }

  bool all_;
  std::map<std::string, Row> rows_;
};

}  // namespace
}  // namespace xbond::bpf::conformance

int main(int argc, char** argv) {
  using namespace xbond::bpf::conformance;  // NOLINT(google-build-using-namespace)
  if (!ready()) return kSkipped;
  std::vector<std::string> arguments{argv + 1, argv + argc};
  const bool all = std::erase(arguments, "--all") != 0;
  Verdicts verdicts(all);
  for (const auto& path : object_files(arguments)) verdicts.object(path);
  return verdicts.print() ? 0 : 1;
}
