// show bond, create bond, set bond …
#include <fmt/format.h>
#include <sys/utsname.h>

#include "app/xbond/commands.hpp"
#include "lib/bond/options.hpp"

namespace xbond::app {
namespace {

// /proc/net/bonding names the kernel's release; here it is the running host's, as a reader of that file would see it.
std::string kernel_release() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "";
}

Status show_bond(Appliance& appliance, const control::Args& args, std::string& out) {
  const auto bonds = bonds_named(appliance, args.get("NAME"));
  if (!bonds) {
    return bonds.error();
  }
  const bool as_json = args.has("json");
  const std::string release = kernel_release();
  std::string list;
  for (const Device* device : *bonds) {
    const std::string text = appliance.with_core([&](Core& core) {
      const bond::Bond& bond = *core.find_bond(device->name);
      return as_json ? bond.json() : bond.show(release);
    });
    if (as_json) {
      list += (list.empty() ? "" : ",") + text;
    } else {
      out += text;
    }
  }
  if (as_json) {
    out += "[" + list + "]\n";
  }
  return {};
}

}  // namespace

void add_bond_commands(control::CommandTable& table, Appliance& appliance) {
  table.completer("OPTION", [](const control::Args&) { return bond::Bond::option_names(); });
  table.completer("MODE", [](const control::Args&) { return bond::Bond::option_values("mode"); });
  table.completer("VALUE", [](const control::Args& args) { return bond::Bond::option_values(args.get("OPTION")); });
  table.completer("MEMBER", [&](const control::Args& args) {
    std::vector<std::string> names;
    if (auto bond = appliance.find_bond(args.get("NAME")); bond.ok()) {
      for (const Device* member : appliance.members_of(*bond.value())) {
        names.push_back(member->name);
      }
    }
    return names;
  });

  table.add({"show bond [NAME] [json]", "a bond as /proc/net/bonding/NAME shows it",
             [&](const control::Args& args, std::string& out) { return show_bond(appliance, args, out); }});
  table.add({"create bond NAME mode MODE [OPTION VALUE]...", "a new bond, up and without members",
             [&](const control::Args& args, std::string&) -> Status {
               std::vector<std::pair<std::string, std::string>> options{{"mode", args.get("MODE")}};
               const auto names = args.rest("OPTION");
               const auto values = args.rest("VALUE");
               for (size_t i = 0; i < names.size() && i < values.size(); ++i) {
                 options.emplace_back(names[i], values[i]);
               }
               return appliance.create_bond(args.get("NAME"), options);
             }});
  table.add({"delete bond NAME", "releases a bond's members, then removes it",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               return bond.ok() ? appliance.delete_bond(*bond.value()) : bond.error();
             }});
  table.add({"add bond member NAME TARGET", "makes a port, or a bond, a member of a bond",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               auto member = appliance.find(args.get("TARGET"));
               if (!bond || !member) {
                 return bond.ok() ? member.error() : bond.error();
               }
               return appliance.add_member(*bond.value(), *member.value());
             }});
  table.add({"remove bond member NAME MEMBER", "releases a member, which is as before",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               auto member = appliance.find(args.get("MEMBER"));
               if (!bond || !member) {
                 return bond.ok() ? member.error() : bond.error();
               }
               return appliance.remove_member(*bond.value(), *member.value());
             }});
  table.add({"set bond NAME up|down", "bring a bond administratively up or down",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               if (!bond) {
                 return bond.error();
               }
               return appliance.with_core(
                   [&](Core& core) { return core.set_bond_up(bond.value()->name, args.get("up") == "up"); });
             }});
  table.add({"set bond NAME OPTION VALUE", "set a bonding option, by Linux's name and value",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               if (!bond) {
                 return bond.error();
               }
               return appliance.with_core([&](Core& core) {
                 return core.set_bond_option(bond.value()->name, args.get("OPTION"), args.get("VALUE"));
               });
             }});
  table.add({"set bond NAME member MEMBER OPTION VALUE", "set an option of one member",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               if (!bond) {
                 return bond.error();
               }
               auto member = appliance.find(args.get("MEMBER"));
               if (!member) {
                 return member.error();
               }
               const uint16_t id = appliance.member_id(*member.value());
               return appliance.with_core([&](Core& core) {
                 return core.set_member_option(bond.value()->name, id, args.get("OPTION"), args.get("VALUE"));
               });
             }});
}

}  // namespace xbond::app
