// What `xbpf run` was asked for. Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/xbpf/command.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::xbpf {

// --map NAME:KEYHEX=VALUEHEX: an entry to put into a map before the first run.
struct MapEntry {
  std::string map;
  std::vector<std::byte> key;
  std::vector<std::byte> value;
};

struct RunOptions {
  std::string object;
  std::string program;   // empty: the only one
  std::string data_in;   // a file of raw bytes, "-" for stdin; empty where there are packets
  std::string data_out;  // empty: nowhere but in the JSON object
  std::string packets;   // a file of hex lines, "-" for stdin
  uint32_t ifindex = 1;  // of the kernel's test run: the loopback device
  uint32_t rx_queue = 0;
  uint64_t repeat = 1;
  bpf::EngineKind engine = bpf::EngineKind::automatic;
  std::vector<MapEntry> entries;
  bool dump_maps = false;
};

// Errors: EINVAL, one line.
Result<RunOptions> parse_run_options(const Words& words);

}  // namespace xbond::xbpf
