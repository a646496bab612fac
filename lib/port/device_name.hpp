// Names that a user gives to a device. Internal to the room. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xbond::port {

// The address in full ("0000:3b:00.0") when `device` is a PCI address, with or without its domain; else nothing.
std::optional<std::string> pci_address(std::string_view device);

}  // namespace xbond::port
