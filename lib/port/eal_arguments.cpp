// EAL's defaults by what the machine has.
#include <fmt/format.h>
#include <rte_config.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "lib/port/device_name.hpp"
#include "lib/port/eal.hpp"
#include "lib/port/given_options.hpp"

namespace xbond::port {
namespace {

constexpr uint64_t kMegabyte = 1024 * 1024;
// Fewer free hugepages than this hold no useful pool: plain memory serves better.
constexpr uint64_t kLeastHugeBytes = 256 * kMegabyte;

using Arguments = std::vector<std::string>;

// A number of megabytes as -m takes it; 0 where it is not one (EAL will say so).
uint64_t megabytes(const std::vector<std::string>& values) {
  uint64_t number = 0;
  if (!values.empty()) std::from_chars(values.back().data(), values.back().data() + values.back().size(), number);
  return std::min<uint64_t>(number, UINT64_MAX / kMegabyte);
}

void add_plain_memory(const GivenOptions& given, Arguments& out) {
  if (!given.has("--no-huge")) out.emplace_back("--no-huge");
  if (!given.has("--no-shconf")) out.emplace_back("--no-shconf");  // there are no secondaries without shared memory
  if (!given.has("-m")) out.insert(out.end(), {"-m", "512"});
}

// EAL rejects most pairs of memory options, so that one of the user's stands for all of them.
void add_memory(const GivenOptions& given, const Machine& machine, Arguments& out) {
  if (given.has("--no-huge")) {
    // EAL refuses to run without hugepages beside these, and says so better without our additions.
    if (!given.has_any({"--legacy-mem", "--in-memory", "--socket-mem", "--huge-unlink"})) add_plain_memory(given, out);
    return;
  }
  if (given.has_any({"--in-memory", "--socket-mem", "--socket-limit", "--huge-dir", "--huge-unlink", "--legacy-mem",
                     "--single-file-segments", "--match-allocations", "--proc-type"}))
    return;
  const uint64_t wanted = std::max(kLeastHugeBytes, megabytes(given.values({"-m"})) * kMegabyte);
  if (machine.free_hugepage_bytes >= wanted)
    out.emplace_back("--in-memory");
  else
    add_plain_memory(given, out);
}

// The devices that the user named are probed, no others: a probe can take a NIC from the kernel.
void add_pci(const GivenOptions& given, const std::vector<std::string>& devices, Arguments& out) {
  if (given.has_any({"--no-pci", "-b", "--block"})) return;  // -b: all others are wanted, and -a cannot stand beside it
  std::set<std::string> allowed;
  for (const std::string& value : given.values({"-a", "--allow"}))
    if (auto address = pci_address(value.substr(0, value.find(',')))) allowed.insert(*address);
  const bool user_allows = given.has_any({"-a", "--allow"});
  bool any = user_allows;
  for (const std::string& device : devices) {
    const auto address = pci_address(device);
    if (!address) continue;
    any = true;
    if (allowed.insert(*address).second) out.insert(out.end(), {"-a", *address});
  }
  if (!any) out.emplace_back("--no-pci");
}

// EAL numbers lcores by CPU and holds RTE_MAX_LCORE of them: on a machine with more CPUs each lcore is mapped.
void add_cores(const GivenOptions& given, const Machine& machine, Arguments& out) {
  if (machine.cpus.empty() || given.has_any({"-l", "-c", "--lcores", "-s", "-S"})) return;
  const bool fits = machine.cpus.back() < RTE_MAX_LCORE;
  const size_t count = std::min<size_t>(machine.cpus.size(), RTE_MAX_LCORE);
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += fits ? fmt::format("{}{}", i == 0 ? "" : ",", machine.cpus[i])
                 : fmt::format("{}{}@{}", i == 0 ? "" : ",", i, machine.cpus[i]);
  out.insert(out.end(), {fits ? "-l" : "--lcores", list});
}

}  // namespace

std::vector<std::string> eal_arguments(const std::vector<std::string>& words, const std::vector<std::string>& devices,
                                       const Machine& machine) {
  const GivenOptions given(words);
  Arguments out = words;
  add_memory(given, machine, out);
  if (!given.has("--iova-mode")) out.emplace_back("--iova-mode=va");
  add_pci(given, devices, out);
  add_cores(given, machine, out);
  if (!given.has_any({"--file-prefix", "--proc-type"})) out.emplace_back("--file-prefix=xbond");
  if (!given.has("--log-level")) out.emplace_back("--log-level=error");
  return out;
}

std::vector<std::string> eal_arguments(const std::vector<std::string>& given, const std::vector<std::string>& devices) {
  return eal_arguments(given, devices, read_machine());
}

}  // namespace xbond::port
