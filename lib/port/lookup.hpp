// Which ethdev port a user means. Internal to the room. Thread: control.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bpf_compat/result.hpp"

namespace xbond::port {

// `device`: a port number, an ethdev or device name, or a PCI address (probed if EAL has not yet).
// Errors: ENODEV, with the ports that there are.
Result<uint16_t> find_port(std::string_view device);

// The name that ethdev gave to a port; empty where there is no such port.
std::string port_name(uint16_t id);

// The value of `key` in a virtual device's arguments ("iface=veth0,qpairs=2"); empty where it is absent.
std::string device_argument(uint16_t id, const char* key);

}  // namespace xbond::port
