// EAL for the measuring programs: no hugepages, no devices but those they make.
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>

#include <string>
#include <thread>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::perf {

// `lcores`: 1, or 2 with a worker, on a processor of its own where there is one.
inline Status start_eal(const std::string& program, unsigned lcores = 1) {
  const std::string set = lcores == 1 ? "0" : std::thread::hardware_concurrency() > 1 ? "0,1" : "(0,1)@0";
  std::vector<std::string> arguments{
      program, "--no-huge",         "--no-shconf", "--no-pci", "--iova-mode=va", "-m",
      "256",   "--log-level=error", "--lcores",    set,        "--no-telemetry", "--file-prefix=" + program};
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    return fail(rte_errno, std::string("EAL does not start: ") + rte_strerror(rte_errno));
  }
  return {};
}

}  // namespace xbond::perf
