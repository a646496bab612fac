// show lacp
#include <fmt/format.h>

#include "app/xbond/commands.hpp"
#include "app/xbond/protocol_thread.hpp"

namespace xbond::app {
namespace {

Status show_lacp(Appliance& appliance, const control::Args& args, std::string& out) {
  const auto bonds = bonds_named(appliance, args.get("NAME"));
  if (!bonds) {
    return bonds.error();
  }
  const bool as_json = args.has("json");
  std::string list;
  for (const Device* device : *bonds) {
    const std::string& name = device->name;
    const std::string text = appliance.with_core([&](Core& core) {
      const bond::Bond& bond = *core.find_bond(name);
      return as_json ? bond.lacp_json(now_ms()) : bond.show_lacp(now_ms());
    });
    if (text.empty() && !args.get("NAME").empty()) {
      return fail(EINVAL, fmt::format("{} is not in mode 802.3ad: it has no LACP", name));
    }
    list += list.empty() || text.empty() ? text : (as_json ? "," : "\n") + text;
  }
  if (as_json) {
    out += "[" + list + "]\n";
  } else {
    out += list.empty() ? "no bond in mode 802.3ad\n" : list;
  }
  return {};
}

}  // namespace

void add_lacp_commands(control::CommandTable& table, Appliance& appliance) {
  table.add({"show lacp [NAME] [json]", "802.3ad: aggregators, both sides' states, timers, PDUs and what changed when",
             [&](const control::Args& args, std::string& out) { return show_lacp(appliance, args, out); }});
}

}  // namespace xbond::app
