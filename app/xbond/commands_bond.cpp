// show bond, set bond …, bond hash
#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>

#include "app/xbond/commands.hpp"
#include "bpf_compat/json.hpp"
#include "lib/bond/hash.hpp"
#include "lib/bond/options.hpp"

namespace xbond::app {
namespace {

constexpr size_t kMaxFrame = 64 * 1024;

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

int nibble(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Result<std::vector<uint8_t>> parse_frame(std::string_view hex) {
  std::vector<uint8_t> bytes;
  int high = -1;
  for (const char c : hex) {
    if (c == ':' || c == ' ' || c == '\t' || c == '\r') {
      continue;
    }
    const int value = nibble(c);
    if (value < 0) {
      return fail(EINVAL, fmt::format("frame: '{}' is not a hexadecimal digit", c));
    }
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<uint8_t>(high << 4 | value));
      high = -1;
    }
  }
  if (high >= 0) {
    return fail(EINVAL, "frame: an odd number of hexadecimal digits");
  }
  if (bytes.empty() || bytes.size() > kMaxFrame) {
    return fail(EINVAL, fmt::format("frame: {} bytes; between 1 and {} are possible", bytes.size(), kMaxFrame));
  }
  return bytes;
}

std::string_view policy_name(bond::Policy policy) {
  return bond::value_name(bond::OptionId::xmit_hash_policy, static_cast<int64_t>(policy));
}

struct HashAnswer {
  bond::Mode mode;
  bond::Policy policy;
  bond::TxTable table;
};

// One line a frame: member, and why.
void hash_line(Appliance& appliance, const HashAnswer& answer, bond::Path path, std::span<const uint8_t> frame,
               bool as_json, std::string& out) {
  const auto member_name = [&](uint16_t id) {
    for (const Device& device : appliance.devices()) {
      if (device.port != nullptr && device.port->id() == id) {
        return device.name;
      }
    }
    return std::string();
  };
  const bond::TxTable& table = answer.table;
  const bool hashed = answer.mode == bond::Mode::balance_xor || answer.mode == bond::Mode::ieee8023ad;
  const uint32_t value = bond::hash(answer.policy, path, frame);
  const uint32_t index = hashed && table.usable != 0 ? value % table.usable : 0;
  std::string member;
  if (table.usable != 0) {
    if (hashed) {
      member = member_name(table.port[index]);
    } else if (answer.mode == bond::Mode::active_backup) {
      member = member_name(table.active);
    }
  }
  if (as_json) {
    json::Writer w;
    w.begin_object().member("policy", policy_name(answer.policy)).member("hash", value).member("index", index);
    w.key("member");
    member.empty() ? w.null() : w.value(member);
    out += w.end_object().take() + "\n";
    return;
  }
  if (table.usable == 0) {
    out += "no usable member\n";
  } else if (hashed) {
    out +=
        fmt::format("{}: hash 0x{:08x} by {} ({} path), {} % {} usable = {}\n", member, value,
                    policy_name(answer.policy), path == bond::Path::xdp ? "xdp" : "host", value, table.usable, index);
  } else if (answer.mode == bond::Mode::active_backup) {
    out += fmt::format("{}: the active member; active-backup does not hash\n", member);
  } else if (answer.mode == bond::Mode::broadcast) {
    out += fmt::format("each of {} usable; broadcast does not hash\n", table.usable);
  } else if (bond::is_load_balancing(answer.mode)) {
    out += fmt::format("by load, of {} usable; hash 0x{:08x} by {}\n", table.usable, value, policy_name(answer.policy));
  } else {
    out += fmt::format("any of {} usable in turn; balance-rr does not hash (hash 0x{:08x} by {})\n", table.usable,
                       value, policy_name(answer.policy));
  }
}

Status bond_hash(Appliance& appliance, const control::Args& args, std::string& out) {
  auto bond = appliance.find_bond(args.get("NAME"));
  if (!bond) {
    return bond.error();
  }
  const HashAnswer answer = appliance.with_core([&](Core& core) {
    const bond::Bond& b = *core.find_bond(bond.value()->name);
    return HashAnswer{b.mode(), b.policy(), b.table()};
  });
  const bond::Path path = args.get("xdp") == "host" ? bond::Path::host : bond::Path::xdp;
  const std::string& what = args.get("FRAME");
  std::vector<std::string> lines;
  if (what.starts_with('@')) {
    std::ifstream file(what.substr(1));
    if (!file) {
      return fail(ENOENT, fmt::format("{}: cannot be read", what.substr(1)));
    }
    for (std::string line; std::getline(file, line);) {
      if (line.size() > 3 * kMaxFrame) {
        return fail(EINVAL, fmt::format("{}: line {} is too long for a frame", what.substr(1), lines.size() + 1));
      }
      lines.push_back(std::move(line));
    }
  } else {
    lines.push_back(what);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].starts_with('#')) {
      continue;
    }
    auto frame = parse_frame(lines[i]);
    if (!frame) {
      return lines.size() == 1 ? frame.error()
                               : fail(EINVAL, fmt::format("{}:{}: {}", what.substr(1), i + 1, frame.error().text));
    }
    hash_line(appliance, answer, path, *frame, args.has("json"), out);
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
      for (const port::Port* port : appliance.ports_below(*bond.value())) {
        names.push_back(port->name());
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
  table.add({"add bond member NAME PORT", "makes a port a member of a bond",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               auto port = appliance.find_port(args.get("PORT"));
               if (!bond || !port) {
                 return bond.ok() ? port.error() : bond.error();
               }
               return appliance.add_member(*bond.value(), *port.value());
             }});
  table.add({"remove bond member NAME MEMBER", "releases a member; the port is as before",
             [&](const control::Args& args, std::string&) -> Status {
               auto bond = appliance.find_bond(args.get("NAME"));
               auto port = appliance.find_port(args.get("MEMBER"));
               if (!bond || !port) {
                 return bond.ok() ? port.error() : bond.error();
               }
               return appliance.remove_member(*bond.value(), *port.value());
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
               auto member = appliance.find_port(args.get("MEMBER"));
               if (!member) {
                 return member.error();
               }
               return appliance.with_core([&](Core& core) {
                 return core.set_member_option(bond.value()->name, member.value()->port->id(), args.get("OPTION"),
                                               args.get("VALUE"));
               });
             }});
  table.add({"bond hash NAME FRAME [path xdp|host] [json]",
             "which member a frame (hex, or @FILE of lines) would take, and why",
             [&](const control::Args& args, std::string& out) { return bond_hash(appliance, args, out); }});
}

}  // namespace xbond::app
