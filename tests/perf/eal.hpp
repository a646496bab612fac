// EAL for the measuring programs: one lcore, no hugepages, no devices but those they make.
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>

#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::perf {

inline Status start_eal(const std::string& program) {
  std::vector<std::string> arguments{
      program, "--no-huge",         "--no-shconf", "--no-pci", "--iova-mode=va", "-m",
      "256",   "--log-level=error", "-l",          "0",        "--no-telemetry", "--file-prefix=" + program};
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
