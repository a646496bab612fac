#include "app/xbond/commands.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

namespace xbond::app {

std::string mac_text(const port::Mac& m) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3], m[4], m[5]);
}

Result<std::vector<const Device*>> bonds_named(const Appliance& appliance, const std::string& name) {
  std::vector<const Device*> bonds;
  if (!name.empty()) {
    auto bond = appliance.find_bond(name);
    if (!bond) {
      return bond.error();
    }
    bonds.push_back(bond.value());
    return bonds;
  }
  for (const Device& device : appliance.devices()) {
    if (device.port == nullptr) {
      bonds.push_back(&device);
    }
  }
  return bonds;
}

void add_commands(control::CommandTable& table, Appliance& appliance, std::function<void()> quit) {
  const auto names = [&appliance](auto wanted) {
    return [&appliance, wanted](const control::Args&) {
      std::vector<std::string> out;
      for (const Device& device : appliance.devices()) {
        if (wanted(device)) {
          out.push_back(device.name);
        }
      }
      return out;
    };
  };
  table.completer("PORT", names([](const Device& device) { return device.port != nullptr; }));
  table.completer("NAME", names([](const Device& device) { return device.port == nullptr; }));
  table.completer("TARGET", names([](const Device&) { return true; }));

  table.add({"start", "start forwarding on all workers", [&](const control::Args&, std::string& out) -> Status {
               Status ok = appliance.start();
               if (ok) {
                 const size_t n = appliance.workers().workers().size();
                 out += fmt::format("started: {} worker{}, {} ports\n", n, n == 1 ? "" : "s", appliance.port_count());
               }
               return ok;
             }});
  table.add({"stop", "stop forwarding; buffers drain, statistics are kept",
             [&](const control::Args&, std::string& out) -> Status {
               Status ok = appliance.stop();
               if (ok) {
                 out += "stopped\n";
               }
               return ok;
             }});
  table.add(
      {"quit", "stop everything and leave", [quit = std::move(quit)](const control::Args&, std::string&) -> Status {
         quit();
         return {};
       }});
  add_port_commands(table, appliance);
  add_bond_commands(table, appliance);
  add_hash_commands(table, appliance);
  add_lacp_commands(table, appliance);
  add_xdp_commands(table, appliance);
  add_map_commands(table, appliance);
  add_stats_commands(table, appliance);
}

}  // namespace xbond::app
