// Reads the host's tables by rtnetlink: without privileges, in some milliseconds. Thread: control; never a worker.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bpf_compat/helper/host_tables.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// An interface as programs number it, and the host's interface that stands for it.
struct HostName {
  uint32_t ifindex = 0;
  std::string name;  // of the host's interface; one that is not there leaves the numbers below
  uint32_t mtu = 0;  // of the program's interface
  HostMac mac{};
};

// The calling thread's network namespace, not yet published. `names` empty: programs use the host's own numbers.
// Interfaces that are not among them are no way out for a program. Errors: errno of the socket.
Result<std::unique_ptr<const HostTables>> read_host_tables(std::span<const HostName> names);

}  // namespace xbond::bpf
