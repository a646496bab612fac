// What the console can do: every command of the appliance, in files by topic. Thread: control.
#pragma once

#include <functional>

#include "app/xbond/appliance.hpp"
#include "lib/control/command.hpp"

namespace xbond::app {

// `quit` asks the control loop to end. The appliance outlives the table.
void add_commands(control::CommandTable& table, Appliance& appliance, std::function<void()> quit);

// Its parts
void add_port_commands(control::CommandTable& table, Appliance& appliance);        // show port, port start, set port
void add_bond_commands(control::CommandTable& table, Appliance& appliance);        // show bond, set bond
void add_hash_commands(control::CommandTable& table, Appliance& appliance);        // bond hash
void add_lacp_commands(control::CommandTable& table, Appliance& appliance);        // show lacp
void add_xdp_commands(control::CommandTable& table, Appliance& appliance);         // xdp attach, show xdp
void add_map_commands(control::CommandTable& table, Appliance& appliance);         // bpf map, by key
void add_map_stream_commands(control::CommandTable& table, Appliance& appliance);  // bpf map without keys, event_pipe
void add_stats_commands(control::CommandTable& table, Appliance& appliance);  // show stats, show drops, clear stats

// The counters of `show stats`, also printed at the end and every --stats-period.
std::string stats_text(Appliance& appliance);

// The bond of that name, or without a name all of them. Errors: as Appliance::find_bond.
Result<std::vector<const Device*>> bonds_named(const Appliance& appliance, const std::string& name);

std::string mac_text(const port::Mac& mac);

}  // namespace xbond::app
