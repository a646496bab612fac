// The command line and the configuration file of xbond. Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::app {

struct PortOption {  // --port PORT[,host=off][,rxq=N]...
  std::string device;
  bool host = true;
  uint16_t rxq = 0, txq = 0, rxd = 0, txd = 0, mtu = 0;  // 0: not given
  bool promiscuous = false;
};

struct BondOption {  // --bond NAME,mode=MODE,member=PORT[,member=...][,OPTION=VALUE]...
  std::string name;
  std::vector<std::string> members;
  std::vector<std::pair<std::string, std::string>>
      options;  // in order, "mode" included; values checked by the bond room
};

struct XdpOption {  // --xdp TARGET=OBJ[:PROGRAM-OR-SECTION]
  std::string target, object, program;
};

struct Options {
  std::vector<std::string> eal;
  std::vector<PortOption> ports;
  std::vector<BondOption> bonds;
  std::vector<XdpOption> xdp;
  bpf::EngineKind engine = bpf::EngineKind::automatic;
  bool interactive = false, auto_start = false, check = false, help = false, version = false;
  std::string cmdline_file, control_socket;
  uint64_t portmask = 0;  // --portmask: ports by number, as --port for each
  uint16_t rxq = 0, txq = 0, rxd = 1024, txd = 1024, burst = 32, nb_cores = 1;
  uint32_t stats_period = 0;  // seconds, 0 off
};

[[nodiscard]] bool names_bond(const Options& options, std::string_view name);  // one of --bond

// `argv` without the program name. Everything that can be checked without EAL is checked here: names, duplicates (a
// port used twice, also across bonds), ranges. Errors: one line.
Result<Options> parse_options(const std::vector<std::string>& argv);
std::string help_text();

}  // namespace xbond::app
