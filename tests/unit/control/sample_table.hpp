// A table like the appliance's, for tests: each handler prints what it was given.
#pragma once

#include <string>

#include "lib/control/command.hpp"

namespace xbond::control {

inline std::string shown(const Args& args) {
  std::string text;
  for (const auto& [name, words] : args.bound) {
    text += name + "=";
    for (const std::string& word : words) text += word + ",";
    text += ' ';
  }
  return text + '\n';
}

inline CommandTable sample_table() {
  CommandTable table;
  const Handler show = [](const Args& args, std::string& out) -> Status {
    out += shown(args);
    return {};
  };
  table.add({"show port info|stats|xstats|summary [PORT] [json]", "what a port is and did", show});
  table.add({"show bond [NAME] [json]", "a bond and its members", show});
  table.add({"show stats [json]", "counters", show});
  table.add({"set bond NAME up|down", "switch a bond on or off", show});
  table.add({"set bond NAME OPTION VALUE", "set a bonding option", show});
  table.add({"xdp attach TARGET OBJ [PROGRAM] [force]", "attach a program", show});
  table.add({"bond hash NAME FRAME|@FILE [json]", "the member that a frame takes", show});
  table.add({"start", "start forwarding", show});
  table.add({"stop", "stop forwarding", show});
  table.add({"break", "fail", [](const Args&, std::string& out) -> Status {
               out += "half an answer\n";
               return fail(EIO, "it broke");
             }});
  table.completer("PORT", [](const Args&) { return std::vector<std::string>{"net_ring1", "net_ring0", "net_pcap0"}; });
  table.completer("NAME", [](const Args&) { return std::vector<std::string>{"bond0", "bond1"}; });
  table.completer("OPTION", [](const Args&) { return std::vector<std::string>{"miimon", "mode", "primary"}; });
  table.completer("VALUE", [](const Args& args) {
    if (args.get("OPTION") == "mode") return std::vector<std::string>{"balance-rr", "balance-xor"};
    return std::vector<std::string>{args.get("NAME") + "-value"};
  });
  return table;
}

}  // namespace xbond::control
