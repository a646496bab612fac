#include "app/xbond/check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "lib/bond/bond.hpp"

namespace xbond::app {
namespace {

// Names of the virtual devices that the EAL options make: --vdev=NAME[,ARGS] or --vdev NAME[,ARGS].
std::vector<std::string> virtual_devices(const std::vector<std::string>& eal) {
  std::vector<std::string> names;
  for (size_t i = 0; i < eal.size(); ++i) {
    std::string_view argument = eal[i];
    if (argument == "--vdev" && i + 1 < eal.size()) {
      argument = eal[++i];
    } else if (argument.starts_with("--vdev=")) {
      argument.remove_prefix(std::string_view("--vdev=").size());
    } else {
      continue;
    }
    names.emplace_back(argument.substr(0, argument.find(',')));
  }
  return names;
}

Status check_device(const std::string& device, const std::vector<std::string>& known) {
  if (std::all_of(device.begin(), device.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return {};  // a port number has a meaning only once EAL has counted
  }
  if (std::find(known.begin(), known.end(), device) != known.end()) {
    return {};
  }
  if (access(fmt::format("/sys/bus/pci/devices/{}", device).c_str(), F_OK) == 0) {
    return {};
  }
  return fail(
      ENODEV,
      fmt::format("no such port {}: neither a PCI device of this machine nor a --vdev of the EAL options", device));
}

}  // namespace

Status check_configuration(const Options& options) {
  const std::vector<std::string> known = virtual_devices(options.eal);
  for (const PortOption& port : options.ports) {
    if (Status ok = check_device(port.device, known); !ok) {
      return ok;
    }
  }
  uint8_t index = 0;
  for (const BondOption& bond : options.bonds) {
    for (const std::string& member : bond.members) {
      if (Status ok = names_bond(options, member) ? Status() : check_device(member, known); !ok) {
        return fail(ok.error().code, fmt::format("--bond {}: {}", bond.name, ok.error().text));
      }
    }
    if (auto made = bond::Bond::create(bond.name, index++, bond.options); !made) {
      return fail(made.error().code, fmt::format("--bond {}: {}", bond.name, made.error().text));
    }
  }
  for (const XdpOption& xdp : options.xdp) {
    const auto say = [&](const Error& error) {
      return fail(error.code, fmt::format("--xdp {}: {}", xdp.target, error.text));
    };
    auto object = bpf::Object::open(xdp.object);
    if (!object) {
      return say(object.error());
    }
    auto spec = object->select(xdp.program);
    if (!spec) {
      return say(spec.error());
    }
    if (auto loaded = bpf::Program::load(
            *object, *spec.value(),
            {.engine = options.engine, .proven = bpf::needs_proof(options.engine), .cpus = options.nb_cores});
        !loaded) {
      return say(loaded.error());
    }
  }
  return {};
}

}  // namespace xbond::app
