// xbond-bench: our figures against the rivals', measured side by side in one process. Prints a table; JSON on request.
#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_version.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/perf/eal.hpp"
#include "tests/perf/harness.hpp"

namespace po = boost::program_options;

namespace xbond::perf {
namespace {

struct Entry {
  const char* id;
  const char* title;
  Workload run;
};
constexpr std::array<Entry, 3> kWorkloads{{
    {"P1", "bond transmit: 2 net_ring members, 256 UDP flows, burst 32, 64 bytes; cycles a packet above no bond",
     bond_transmit},
    {"P4", "programs on frames of one flow, bursts of 32: cycles a run against the kernel's test run and native C",
     programs},
    {"P7", "failover: carrier of the active member lost to the first frame by the other, under load; miimon 5 ms",
     failover},
}};

struct Arguments {
  Options options;
  std::vector<std::string> only;
  std::string json;
  bool check = false;
  bool help = false;
};

po::options_description described(Arguments& a) {
  po::options_description options("xbond-bench [options]");
  options.add_options()("only", po::value(&a.only)->value_name("ID"), "run this workload only; repeatable")(
      "seconds", po::value(&a.options.seconds)->default_value(10)->value_name("S"), "time for each workload")(
      "json", po::value(&a.json)->value_name("FILE"), "write all figures to FILE")(
      "check", po::bool_switch(&a.check), "exit 1 when a target is missed")("help,h", po::bool_switch(&a.help),
                                                                            "this text");
  return options;
}

bool known(const std::string& id) {
  for (const Entry& entry : kWorkloads) {
    if (id == entry.id) {
      return true;
    }
  }
  return false;
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

void print(const Entry& entry, const Table& table) {
  fmt::print("{}  {}\n", entry.id, entry.title);
  fmt::print("    {:<10} {:>8} {:>8} {:>8}  {}\n", "", "rival", "xbond", "target", "met");
  for (const Row& row : table.rows) {
    fmt::print("    {:<10} {:>8.1f} {:>8.1f} {:>8.1f}  {}\n", row.what, row.rival, row.ours, row.target,
               row.met() ? "yes" : "NO");
  }
  for (const std::string& note : table.notes) {
    fmt::print("    {}\n", note);
  }
  std::fflush(stdout);
}

// Every string that goes in is ours or the processor's name.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string json_of(const Entry& entry, const Table& table) {
  std::string rows, raw;
  for (const Row& row : table.rows) {
    rows += fmt::format(
        "{}\n      {{\"what\": {}, \"unit\": {}, \"rival\": {:.3f}, \"xbond\": {:.3f}, \"target\": {:.3f}, "
        "\"met\": {}}}",
        rows.empty() ? "" : ",", quoted(row.what), quoted(row.unit), row.rival, row.ours, row.target, row.met());
  }
  for (const Measure& m : table.raw) {
    raw += fmt::format(
        "{}\n      {{\"side\": {}, \"cycles\": {:.3f}, \"fastest\": {:.3f}, \"spread\": {:.3f}, \"slices\": {}, "
        "\"quiet\": {}}}",
        raw.empty() ? "" : ",", quoted(m.name), m.cycles, m.fastest, m.spread, m.slices, m.quiet);
  }
  return fmt::format("    {{\"id\": {}, \"title\": {},\n     \"rows\": [{}],\n     \"raw\": [{}]}}", quoted(entry.id),
                     quoted(entry.title), rows, raw);
}

Status write_json(const std::string& file, const std::string& workloads) {
  std::ofstream out(file);
  out << fmt::format("{{\"processor\": {}, \"tsc_hz\": {}, \"dpdk\": {},\n  \"workloads\": [\n{}]}}\n",
                     quoted(processor()), rte_get_tsc_hz(), quoted(rte_version()), workloads);
  out.close();
  return out ? Status{} : Status{fail(EIO, fmt::format("cannot write {}", file))};
}

// Exit status: 0, 1 a target was missed (--check), 2 could not measure.
int run(const Arguments& arguments) {
  if (Status eal = start_eal("xbond-bench", 2); !eal) {
    fmt::print(stderr, "xbond-bench: {}\n", eal.error().text);
    return 2;
  }
  bool met = true;
  std::string workloads;
  for (const Entry& entry : kWorkloads) {
    if (!arguments.only.empty() &&
        std::find(arguments.only.begin(), arguments.only.end(), entry.id) == arguments.only.end()) {
      continue;
    }
    Result<Table> table = entry.run(arguments.options);
    if (!table) {
      fmt::print(stderr, "xbond-bench: {}: {}\n", entry.id, table.error().text);
      return 2;
    }
    print(entry, *table);
    for (const Row& row : table->rows) {
      met &= row.met();
    }
    workloads += (workloads.empty() ? "" : ",\n") + json_of(entry, *table);
  }
  if (!arguments.json.empty()) {
    if (Status written = write_json(arguments.json, workloads); !written) {
      fmt::print(stderr, "xbond-bench: {}\n", written.error().text);
      return 2;
    }
  }
  return arguments.check && !met ? 1 : 0;
}

int parse_and_run(int argc, char** argv) {
  Arguments arguments;
  const po::options_description options = described(arguments);
  try {
    po::variables_map values;
    po::store(po::command_line_parser(argc, argv).options(options).positional({}).run(), values);
    po::notify(values);
  } catch (const po::error& error) {
    fmt::print(stderr, "xbond-bench: {}\n", error.what());
    return 2;
  }
  if (arguments.help) {
    std::cout << options;
    return 0;
  }
  for (const std::string& id : arguments.only) {
    if (!known(id)) {
      fmt::print(stderr, "xbond-bench: no workload {}; there are:", id);
      for (const Entry& entry : kWorkloads) {
        fmt::print(stderr, " {}", entry.id);
      }
      fmt::print(stderr, "\n");
      return 2;
    }
  }
  return run(arguments);
}

}  // namespace
}  // namespace xbond::perf

int main(int argc, char** argv) {
  return xbond::perf::parse_and_run(argc, argv);
}
