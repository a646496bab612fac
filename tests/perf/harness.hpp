// The bench's harness: sides of a comparison run in short slices, one after the other, in one process, so that clock
// changes and neighbours hit all of them alike; each side's figure is the median of its quiet slices. A slice is quiet
// when it was not preempted and a short probe of the core's throughput, before and after it, ran at full speed: a
// neighbour on the same core (another hyperthread) halves what a loop gets without ever interrupting it. Thread: main.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::perf {

// One side: runs `rounds` rounds of its loop and returns the packets it handled.
struct Side {
  std::string name;
  std::function<uint64_t(uint64_t rounds)> run;
};

// TSC cycles a packet.
struct Measure {
  std::string name;
  double cycles = 0;   // median of the quiet slices
  double fastest = 0;  // tenth percentile of the quiet slices
  double spread = 0;   // of the quiet slices: 90th less 10th percentile
  size_t slices = 0;
  size_t quiet = 0;
};

struct Options {
  double seconds = 10;  // for one table, all sides together
};

// Repeats passes over all sides until the time is over; where quiet slices are rare, on to three times as long. A slice
// is `rounds` rounds after a warm-up of a quarter of it.
std::vector<Measure> measure(std::span<const Side> sides, double seconds, uint64_t rounds);

// One line of the result: ours against the rival and the target.
struct Row {
  std::string what;
  std::string unit;
  double rival = 0;
  double ours = 0;
  double target = 0;
  [[nodiscard]] bool met() const { return ours <= target; }
};

struct Table {
  std::vector<Row> rows;
  std::vector<Measure> raw;
  std::vector<std::string> notes;
};

// One row of the performance targets. A new one is a file with its function, and a line in bench.cpp.
using Workload = Result<Table> (*)(const Options&);

Result<Table> bond_transmit(const Options& options);  // P1
Result<Table> programs(const Options& options);       // P4
Result<Table> failover(const Options& options);       // P7

}  // namespace xbond::perf
