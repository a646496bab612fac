// The values of single options: numbers, names, and the little languages of --port, --bond and --xdp. Internal to the
// options' room. Errors: one line, without the place where the option was given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/xbond/options.hpp"

namespace xbond::app {

// Decimal, no sign, within [low, high]. `what` begins the error: "--burst".
Result<uint64_t> parse_number(std::string_view what, std::string_view text, uint64_t low, uint64_t high);
// Hexadecimal with or without 0x, at least one bit set.
Result<uint64_t> parse_portmask(std::string_view text);

// The one spelling of a device: port numbers without leading zeros, PCI addresses in lower case with their domain.
std::string canonical_device(std::string_view device);

Result<PortOption> parse_port(std::string_view text);
// Without a mode, balance-rr is put first.
Result<BondOption> parse_bond(std::string_view text);
// A colon belongs to the object's path where a file of that name exists.
Result<XdpOption> parse_xdp(std::string_view text);

}  // namespace xbond::app
