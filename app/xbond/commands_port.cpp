// show port …, port start|stop, set port …
#include <fmt/format.h>
#include <netinet/ether.h>
#include <rte_ethdev.h>

#include <charconv>
#include <cstring>

#include "app/xbond/commands.hpp"
#include "bpf_compat/json.hpp"

namespace xbond::app {
namespace {

std::string speed_text(uint32_t mbps) {
  return mbps == 0 || mbps == UINT32_MAX ? "unknown" : fmt::format("{} Mbps", mbps);
}

// All ports, or the one that was named.
Result<std::vector<const Device*>> chosen(const Appliance& appliance, const std::string& name) {
  std::vector<const Device*> out;
  if (name.empty() || name == "all") {
    for (const Device& device : appliance.devices()) {
      if (device.port != nullptr) {
        out.push_back(&device);
      }
    }
    return out;
  }
  auto device = appliance.find_port(name);
  if (!device) {
    return device.error();
  }
  out.push_back(device.value());
  return out;
}

// The name of the bond that a port is in, or empty.
std::string bond_name(Appliance& appliance, const port::Port& port) {
  return appliance.with_core([&](Core& core) {
    const bond::Bond* bond = core.bond_of(port.id());
    return bond == nullptr ? std::string() : bond->name();
  });
}

void info_text(Appliance& appliance, const Device& device, std::string& out) {
  const port::Port& port = *device.port;
  const port::LinkState link = port.link();
  const std::string bond = bond_name(appliance, port);
  out += fmt::format("\n********************* Infos for port {:<2} *********************\n", port.id());
  out += fmt::format("Device name: {}\nDriver name: {}\n", port.name(), port.driver());
  if (!port.iface().empty()) {
    out += fmt::format("Kernel interface: {}\n", port.iface());
  }
  out += fmt::format("ifindex: {}\n", device.ifindex);
  out +=
      fmt::format("MAC address: {}\nPermanent MAC address: {}\n", mac_text(port.mac()), mac_text(port.permanent_mac()));
  out += fmt::format("Connect to socket: {}\n", port.socket());
  out += fmt::format("Link status: {}\nLink speed: {}\nLink duplex: {}-duplex\n", link.up ? "up" : "down",
                     speed_text(link.speed_mbps), link.full_duplex ? "full" : "half");
  out += fmt::format("Admin state: {}\nMTU: {}\n", port.admin_up() ? "up" : "down", port.mtu());
  out += fmt::format("Promiscuous mode: {}\nAllmulticast mode: {}\n", port.promiscuous() ? "enabled" : "disabled",
                     port.allmulticast() ? "enabled" : "disabled");
  out += fmt::format("Rx queues: {}\nTx queues: {}{}\n", port.rx_queues(), port.tx_queues(),
                     port.own_control_queue() ? " and one for control" : "; control's frames go by a ring");
  if (port.has_slow_protocol_queue()) {
    out += fmt::format("Slow protocols: queue {}, {}\n", port.rx_queues(),
                       port.steers_slow_protocols() ? "by a flow rule" : "not in use");
  }
  out += fmt::format("Bond: {}\nHost tap: {}\n", bond.empty() ? "none" : bond,
                     appliance.has_tap(device) ? device.name : "none");
}

void info_json(Appliance& appliance, const Device& device, json::Writer& w) {
  const port::Port& port = *device.port;
  const port::LinkState link = port.link();
  w.begin_object().member("port", port.id()).member("name", port.name()).member("driver", port.driver());
  w.member("iface", port.iface()).member("ifindex", device.ifindex);
  w.member("mac", mac_text(port.mac())).member("permanent_mac", mac_text(port.permanent_mac()));
  w.member("socket", port.socket()).member("admin", port.admin_up() ? "up" : "down");
  w.member("link", link.up ? "up" : "down").key("speed_mbps");
  if (link.speed_mbps == 0 || link.speed_mbps == UINT32_MAX) {
    w.null();
  } else {
    w.value(link.speed_mbps);
  }
  w.member("duplex", link.full_duplex ? "full" : "half").member("mtu", port.mtu());
  w.member("promiscuous", port.promiscuous()).member("allmulticast", port.allmulticast());
  w.member("rx_queues", port.rx_queues()).member("tx_queues", port.tx_queues());
  w.member("own_control_queue", port.own_control_queue());
  w.member("steers_slow_protocols", port.steers_slow_protocols()).member("bond", bond_name(appliance, port));
  w.member("tap", appliance.has_tap(device)).end_object();
}

void stats_text_of(const Device& device, std::string& out) {
  const uint16_t id = device.port->id();
  rte_eth_stats stats{};
  rte_eth_stats_get(id, &stats);
  out += fmt::format("\n  ######################## NIC statistics for port {:<2} ({}) ########################\n", id,
                     device.name);
  out +=
      fmt::format("  RX-packets: {:<12} RX-missed: {:<12} RX-bytes: {}\n", stats.ipackets, stats.imissed, stats.ibytes);
  out += fmt::format("  RX-errors: {:<13} RX-nombuf: {}\n", stats.ierrors, stats.rx_nombuf);
  out +=
      fmt::format("  TX-packets: {:<12} TX-errors: {:<12} TX-bytes: {}\n", stats.opackets, stats.oerrors, stats.obytes);
}

void stats_json_of(const Device& device, json::Writer& w) {
  rte_eth_stats stats{};
  rte_eth_stats_get(device.port->id(), &stats);
  w.begin_object().member("port", device.port->id()).member("name", device.name);
  w.member("rx_packets", stats.ipackets).member("rx_bytes", stats.ibytes).member("rx_missed", stats.imissed);
  w.member("rx_errors", stats.ierrors).member("rx_nombuf", stats.rx_nombuf);
  w.member("tx_packets", stats.opackets)
      .member("tx_bytes", stats.obytes)
      .member("tx_errors", stats.oerrors)
      .end_object();
}

std::vector<std::pair<std::string, uint64_t>> xstats_of(uint16_t id) {
  const int count = rte_eth_xstats_get_names(id, nullptr, 0);
  if (count <= 0) {
    return {};
  }
  std::vector<rte_eth_xstat_name> names(count);
  std::vector<rte_eth_xstat> values(count);
  if (rte_eth_xstats_get_names(id, names.data(), count) != count ||
      rte_eth_xstats_get(id, values.data(), count) != count) {
    return {};
  }
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const rte_eth_xstat& value : values) {
    if (value.id < names.size()) {
      out.emplace_back(names[value.id].name, value.value);
    }
  }
  return out;
}

void summary_row(Appliance& appliance, const Device& device, std::string& out) {
  const port::Port& port = *device.port;
  const port::LinkState link = port.link();
  const std::string bond = bond_name(appliance, port);
  out += fmt::format("{:<4} {:<18} {:<18} {:<17} {:<6} {:<6} {:<13} {:<6} {}\n", port.id(), port.name(), port.driver(),
                     mac_text(port.mac()), port.admin_up() ? "up" : "down", link.up ? "up" : "down",
                     speed_text(link.speed_mbps), port.mtu(), bond.empty() ? "-" : bond);
}

Status show_port(Appliance& appliance, const control::Args& args, std::string& out) {
  auto ports = chosen(appliance, args.get("PORT"));
  if (!ports) {
    return ports.error();
  }
  const std::string& what = args.get("info");
  if (args.has("json")) {
    json::Writer w;
    w.begin_array();
    for (const Device* device : *ports) {
      if (what == "info" || what == "summary") {
        info_json(appliance, *device, w);
      } else if (what == "stats") {
        stats_json_of(*device, w);
      } else {
        w.begin_object().member("port", device->port->id()).member("name", device->name).key("xstats").begin_object();
        for (const auto& [name, value] : xstats_of(device->port->id())) {
          w.member(name, value);
        }
        w.end_object().end_object();
      }
    }
    out += w.end_array().take() + "\n";
    return {};
  }
  if (what == "summary") {
    out += fmt::format("{:<4} {:<18} {:<18} {:<17} {:<6} {:<6} {:<13} {:<6} {}\n", "Port", "Name", "Driver", "MAC",
                       "Admin", "Link", "Speed", "MTU", "Bond");
  }
  for (const Device* device : *ports) {
    if (what == "info") {
      info_text(appliance, *device, out);
    } else if (what == "stats") {
      stats_text_of(*device, out);
    } else if (what == "xstats") {
      out += fmt::format("###### NIC extended statistics for port {} ({})\n", device->port->id(), device->name);
      for (const auto& [name, value] : xstats_of(device->port->id())) {
        out += fmt::format("{}: {}\n", name, value);
      }
    } else {
      summary_row(appliance, *device, out);
    }
  }
  return {};
}

Result<port::Mac> parse_mac(const std::string& text) {
  port::Mac mac{};
  ether_addr parsed{};
  if (ether_aton_r(text.c_str(), &parsed) == nullptr) {
    return fail(EINVAL, fmt::format("\"{}\" is not a MAC address", text));
  }
  std::memcpy(mac.data(), parsed.ether_addr_octet, mac.size());
  return mac;
}

Status set_mac(Appliance& appliance, const control::Args& args) {
  auto device = appliance.find_port(args.get("PORT"));
  if (!device) {
    return device.error();
  }
  auto mac = parse_mac(args.get("MAC"));
  if (!mac) {
    return mac.error();
  }
  if (const std::string bond = bond_name(appliance, *device.value()->port); !bond.empty()) {
    return fail(EBUSY, fmt::format("{} has the MAC address of {}; set that one (ip link set {} address {})",
                                   device.value()->name, bond, bond, args.get("MAC")));
  }
  return appliance.reconfigure(*device.value(), [&](port::Port& port) { return port.set_mac(*mac); });
}

Status set_mtu(Appliance& appliance, const control::Args& args) {
  auto device = appliance.find_port(args.get("PORT"));
  if (!device) {
    return device.error();
  }
  const std::string& text = args.get("MTU");
  uint16_t mtu = 0;
  if (const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), mtu);
      ec != std::errc() || end != text.data() + text.size()) {
    return fail(EINVAL, fmt::format("\"{}\" is not an MTU (68 to 65535)", text));
  }
  return appliance.reconfigure(*device.value(), [&](port::Port& port) { return port.set_mtu(mtu); });
}

}  // namespace

void add_port_commands(control::CommandTable& table, Appliance& appliance) {
  table.add({"show port info|stats|xstats|summary [PORT|all] [json]",
             "a port's state, its driver's counters, or a table of all",
             [&](const control::Args& args, std::string& out) { return show_port(appliance, args, out); }});
  table.add({"port start|stop PORT|all", "bring a port administratively up or down",
             [&](const control::Args& args, std::string&) -> Status {
               auto ports = chosen(appliance, args.get("PORT"));
               if (!ports) {
                 return ports.error();
               }
               for (const Device* device : *ports) {
                 if (Status ok = appliance.set_port_admin(*device, args.get("start") == "start"); !ok) {
                   return ok;
                 }
               }
               return {};
             }});
  table.add({"mac_addr set PORT MAC", "give a port that is in no bond another MAC address",
             [&](const control::Args& args, std::string&) { return set_mac(appliance, args); }});
  table.add({"port config mtu PORT MTU", "set a port's MTU",
             [&](const control::Args& args, std::string&) { return set_mtu(appliance, args); }});
  table.add({"set promisc|allmulti PORT|all on|off", "promiscuous or all-multicast mode of a port",
             [&](const control::Args& args, std::string&) -> Status {
               auto ports = chosen(appliance, args.get("PORT"));
               if (!ports) {
                 return ports.error();
               }
               const bool on = args.get("on") == "on";
               for (const Device* device : *ports) {
                 port::Port& port = *device->port;
                 Status ok = args.get("promisc") == "promisc" ? port.set_promiscuous(on) : port.set_allmulticast(on);
                 if (!ok) {
                   return ok;
                 }
               }
               return {};
             }});
}

}  // namespace xbond::app
