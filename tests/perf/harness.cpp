#include "tests/perf/harness.hpp"

#include <rte_cycles.h>
#include <sys/resource.h>

#include <algorithm>

namespace xbond::perf {
namespace {

constexpr size_t kEnough = 50;       // quiet slices of each side
constexpr double kFullSpeed = 1.15;  // of the fastest probe

struct Slice {
  double cycles;   // a packet
  uint64_t probe;  // the slower of the two around it; UINT64_MAX where the scheduler took the core away meanwhile
};

long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Four independent chains of additions: as many as any x86 core does in a cycle when it has the core to itself.
uint64_t probe() {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  const uint64_t start = rte_rdtsc_precise();
  for (int i = 0; i < 256; ++i) {
    asm volatile("add $1, %0; add $1, %1; add $1, %2; add $1, %3; add $1, %0; add $1, %1; add $1, %2; add $1, %3"
                 : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  }
  return rte_rdtsc_precise() - start;
}

Slice slice(const Side& side, uint64_t rounds) {
  side.run(rounds / 4);
  const long preempted = preemptions();
  const uint64_t before = probe();
  const uint64_t start = rte_rdtsc_precise();
  const uint64_t packets = side.run(rounds);
  const uint64_t end = rte_rdtsc_precise();
  const uint64_t after = probe();
  return {static_cast<double>(end - start) / static_cast<double>(std::max<uint64_t>(packets, 1)),
          preemptions() == preempted ? std::max(before, after) : UINT64_MAX};
}

double percentile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

std::vector<double> quiet(const std::vector<Slice>& slices, uint64_t limit) {
  std::vector<double> cycles;
  for (const Slice& s : slices) {
    if (s.probe <= limit) {
      cycles.push_back(s.cycles);
    }
  }
  std::sort(cycles.begin(), cycles.end());
  return cycles;
}

Measure summarise(const std::string& name, const std::vector<Slice>& slices, uint64_t limit) {
  Measure m;
  m.name = name;
  m.slices = slices.size();
  std::vector<double> cycles = quiet(slices, limit);
  m.quiet = cycles.size();
  if (cycles.empty()) {  // a machine without a quiet moment: all there is
    cycles = quiet(slices, UINT64_MAX);
  }
  m.fastest = percentile(cycles, 0.1);
  m.cycles = percentile(cycles, 0.5);
  m.spread = percentile(cycles, 0.9) - m.fastest;
  return m;
}

uint64_t full_speed(const std::vector<std::vector<Slice>>& sides) {
  uint64_t fastest = UINT64_MAX;
  for (const auto& slices : sides) {
    for (const Slice& s : slices) {
      fastest = std::min(fastest, s.probe);
    }
  }
  return static_cast<uint64_t>(static_cast<double>(fastest) * kFullSpeed);
}

bool enough(const std::vector<std::vector<Slice>>& sides) {
  const uint64_t limit = full_speed(sides);
  return std::all_of(sides.begin(), sides.end(), [&](const std::vector<Slice>& slices) {
    return std::count_if(slices.begin(), slices.end(), [&](const Slice& s) { return s.probe <= limit; }) >=
           static_cast<ptrdiff_t>(kEnough);
  });
}

}  // namespace

std::vector<Measure> measure(std::span<const Side> sides, double seconds, uint64_t rounds) {
  std::vector<std::vector<Slice>> slices(sides.size());
  const auto window = static_cast<uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
  const uint64_t start = rte_rdtsc();
  for (int windows = 1; windows <= 3 && !(windows > 1 && enough(slices)); ++windows) {
    do {
      for (size_t i = 0; i < sides.size(); ++i) {
        slices[i].push_back(slice(sides[i], rounds));
      }
    } while (rte_rdtsc() - start < window * static_cast<uint64_t>(windows));
  }
  const uint64_t limit = full_speed(slices);
  std::vector<Measure> result;
  for (size_t i = 0; i < sides.size(); ++i) {
    result.push_back(summarise(sides[i].name, slices[i], limit));
  }
  return result;
}

}  // namespace xbond::perf
