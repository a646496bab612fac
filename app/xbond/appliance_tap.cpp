// What the host sets on a tap, its port or its bond's members follow; all of them, or none.
#include <fmt/format.h>

#include <algorithm>

#include "app/xbond/appliance.hpp"

namespace xbond::app {

// Most drivers change it while frames flow; for the others the port leaves the workers for a moment.
Status Appliance::change_port(const Device& device, const PortChange& change) {
  Status status = change(*device.port, port::Restart::never);
  if (status || status.error().code != EBUSY) {
    return status;
  }
  return reconfigure(device, [&](port::Port& port) { return change(port, port::Restart::allowed); });
}

Status Appliance::change_each(const Device& device, const PortChange& change, const PortChange& undo) {
  const std::vector<port::Port*> ports = ports_below(device);
  for (size_t done = 0; done < ports.size(); ++done) {
    Status status = change_port(device_of(*ports[done]), change);
    if (status) {
      continue;
    }
    for (size_t i = 0; i < done; ++i) {
      (void)change_port(device_of(*ports[i]), undo);
    }
    return status;
  }
  return {};
}

const Device& Appliance::device_of(const port::Port& port) const {
  return *std::find_if(devices_.begin(), devices_.end(), [&](const Device& device) { return device.port == &port; });
}

port::Mac Appliance::mac_of(const Device& device) {
  return device.port != nullptr ? device.port->mac()
                                : with_core([&](Core& core) { return core.bond_mac(device.name); });
}

Status Appliance::set_mac(const Device& device, const port::Mac& mac) {
  // A member whose driver can't take it is promiscuous since it was enslaved.
  const auto to = [&](const port::Mac& address) {
    return [&address, bond = device.port == nullptr](port::Port& port, port::Restart restart) -> Status {
      Status status = port.set_mac(address, restart);
      return bond && !status && status.error().code == ENOTSUP ? Status() : status;
    };
  };
  // Where members carry addresses of their own the bond knows which of them follow.
  const bool all = device.port != nullptr || with_core([&](Core& core) {
                     const bond::Params& params = core.find_bond(device.name)->params();
                     return !bond::is_load_balancing(params.mode) && params.fail_over_mac == bond::FailOverMac::none &&
                            !core.has_nested(device.name);
                   });
  const port::Mac before = mac_of(device);
  if (all) {
    if (Status ok = change_each(device, to(mac), to(before)); !ok) {
      return ok;
    }
  }
  return device.port != nullptr ? Status() : with_core([&](Core& core) { return core.set_bond_mac(device.name, mac); });
}

Status Appliance::set_mtu(const Device& device, uint16_t mtu) {
  const std::vector<port::Port*> ports = ports_below(device);
  if (ports.empty()) {
    return {};
  }
  const uint16_t before = ports.front()->mtu();
  const auto to = [](uint16_t bytes) {
    return [bytes](port::Port& port, port::Restart restart) {
      return port.mtu() == bytes ? Status() : port.set_mtu(bytes, restart);
    };
  };
  Status changed = change_each(device, to(mtu), to(before));
  with_core([](Core& core) { core.publish(); });  // what may be redirected there
  return changed;
}

// A change that can't be followed is taken back on the tap, so that it tells the truth.
void Appliance::tap_changed(const host::TapChange& change) {
  const auto device = std::find_if(devices_.begin(), devices_.end(), [&](const Device& d) {
    return taps_.contains(d.name) && tap_name(d.name) == change.name;
  });
  if (device == devices_.end()) {
    return;
  }
  const uint32_t tap = taps_.at(device->name);
  if (change.mac != mac_of(*device)) {
    if (Status ok = set_mac(*device, change.mac); !ok) {
      notice_(
          fmt::format("{}: the MAC address set on the host stays off its ports: {}", device->name, ok.error().text));
      (void)host_->set_mac(tap, mac_of(*device));
    }
  }
  const std::vector<port::Port*> ports = ports_below(*device);
  if (ports.empty() || change.mtu == ports.front()->mtu()) {
    return;
  }
  Status ok = change.mtu > UINT16_MAX ? Status(fail(EINVAL, "it is beyond what an Ethernet port takes"))
                                      : set_mtu(*device, static_cast<uint16_t>(change.mtu));
  if (!ok) {
    notice_(fmt::format("{}: the MTU set on the host stays off its ports: {}", device->name, ok.error().text));
    (void)host_->set_mtu(tap, ports.front()->mtu());
  }
}

}  // namespace xbond::app
