// show lacp
#include <fmt/format.h>

#include "app/xbond/commands.hpp"
#include "app/xbond/protocol_thread.hpp"

namespace xbond::app {
namespace {

Status show_lacp(Appliance& appliance, const control::Args& args, std::string& out) {
  std::vector<std::string> names;
  if (const std::string& name = args.get("NAME"); !name.empty()) {
    auto bond = appliance.find_bond(name);
    if (!bond) {
      return bond.error();
    }
    names.push_back(bond.value()->name);
  } else {
    for (const Device& device : appliance.devices()) {
      if (device.port == nullptr) {
        names.push_back(device.name);
      }
    }
  }
  const bool as_json = args.has("json");
  std::string list;
  for (const std::string& name : names) {
    const std::string text = appliance.with_core([&](Core& core) {
      const bond::Bond* bond = core.find_bond(name);
      return bond == nullptr ? std::string() : as_json ? bond->lacp_json(now_ms()) : bond->show_lacp(now_ms());
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
