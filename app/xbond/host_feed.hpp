// Keeps the host's tables fresh for programs that ask them (fib_lookup, check_mtu): reads them anew when rtnetlink says
// that something changed. A thread of its own, since a dump of many routes takes its time; workers only read what it
// publishes.
#pragma once

#include <memory>
#include <vector>

#include "bpf_compat/helper/host_reader.hpp"
#include "bpf_compat/map/grace.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::app {

class HostFeed {
 public:
  // Reads and publishes once before it returns, so that a program finds the tables with its first frame. Control.
  // `grace` outlives it. Errors: one line.
  static Result<std::unique_ptr<HostFeed>> create(std::vector<bpf::HostName> names, bpf::Grace& grace);
  ~HostFeed();
  HostFeed(const HostFeed&) = delete;
  HostFeed& operator=(const HostFeed&) = delete;

  // Devices came or went. Control; the next reading takes them.
  void set_names(std::vector<bpf::HostName> names);

 private:
  struct State;
  explicit HostFeed(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace xbond::app
