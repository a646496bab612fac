#include "app/xbond/option_values.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <system_error>
#include <vector>

#include "lib/control/nearest.hpp"
#include "lib/control/text.hpp"

namespace xbond::app {
namespace {

using control::quoted;

constexpr size_t kMaxInterfaceName = 15;  // IFNAMSIZ less its NUL: bonds appear as kernel interfaces
constexpr size_t kMaxDeviceName = 63;     // RTE_DEV_NAME_MAX_LEN less its NUL
constexpr uint64_t kMaxQueues = 1024, kMaxDescriptors = 32768;
constexpr uint64_t kMinMtu = 68, kMaxMtu = 65535;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = std::min(text.find(by), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool all_hex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

bool graphic(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

struct KeyValue {
  std::string_view key, value;
};

Result<KeyValue> key_value(std::string_view part) {
  const size_t equals = part.find('=');
  if (part.empty()) return fail(EINVAL, "an empty part (two commas, or one at the end)");
  if (equals == std::string_view::npos) return fail(EINVAL, fmt::format("{} is not KEY=VALUE", quoted(part)));
  const KeyValue pair{part.substr(0, equals), part.substr(equals + 1)};
  if (pair.key.empty()) return fail(EINVAL, fmt::format("{}: the name before = is missing", quoted(part)));
  if (pair.value.empty()) return fail(EINVAL, fmt::format("{}: the value is missing", quoted(part)));
  return pair;
}

Status check_device(std::string_view device) {
  if (device.empty()) return fail(EINVAL, "the port is missing: give a port number or device name");
  if (device.size() > kMaxDeviceName) {
    return fail(EINVAL, fmt::format("port {}: a name has at most {} characters", quoted(device), kMaxDeviceName));
  }
  if (!graphic(device) || device.find_first_of("/=") != std::string_view::npos) {
    return fail(EINVAL, fmt::format("port {}: a name has no blanks, / or =", quoted(device)));
  }
  return {};
}

// As the kernel's dev_valid_name, less what options and console could not tell from something else.
Status check_bond_name(std::string_view name) {
  if (name.empty()) return fail(EINVAL, "the bond's name is missing");
  if (name.size() > kMaxInterfaceName) {
    return fail(EINVAL, fmt::format("bond {}: a name has at most {} characters", quoted(name), kMaxInterfaceName));
  }
  if (!graphic(name) || name.find_first_of("/:=%") != std::string_view::npos || name == "." || name == "..") {
    return fail(EINVAL, fmt::format("bond {}: a name has no blanks, /, :, = or % and is not . or ..", quoted(name)));
  }
  if (all_digits(name))
    return fail(EINVAL, fmt::format("bond {}: a name of digits would be a port number", quoted(name)));
  return {};
}

Result<bool> parse_switch(std::string_view key, std::string_view value) {
  if (value == "on") return true;
  if (value == "off") return false;
  return fail(EINVAL, fmt::format("{}={}: on or off", key, value));
}

struct NumberKey {
  std::string_view name;
  uint16_t PortOption::*field;
  uint64_t low, high;
};
constexpr std::array<NumberKey, 5> kNumberKeys{{{"rxq", &PortOption::rxq, 1, kMaxQueues},
                                                {"txq", &PortOption::txq, 1, kMaxQueues},
                                                {"rxd", &PortOption::rxd, 1, kMaxDescriptors},
                                                {"txd", &PortOption::txd, 1, kMaxDescriptors},
                                                {"mtu", &PortOption::mtu, kMinMtu, kMaxMtu}}};
struct SwitchKey {
  std::string_view name;
  bool PortOption::*field;
};
constexpr std::array<SwitchKey, 2> kSwitchKeys{
    {{"host", &PortOption::host}, {"promiscuous", &PortOption::promiscuous}}};

Error unknown_key(std::string_view key) {
  std::vector<std::string> names;
  names.reserve(kSwitchKeys.size() + kNumberKeys.size());
  for (const SwitchKey& known : kSwitchKeys) names.emplace_back(known.name);
  for (const NumberKey& known : kNumberKeys) names.emplace_back(known.name);
  const std::vector<std::string> near = control::nearest(key, names);
  return fail(EINVAL, fmt::format("unknown key {}{}{} allowed: {}", quoted(key), control::did_you_mean(near),
                                  near.empty() ? ";" : "", control::joined(names, ", ")));
}

Status set_key(PortOption& port, const KeyValue& pair) {
  for (const SwitchKey& known : kSwitchKeys) {
    if (known.name != pair.key) continue;
    const Result<bool> on = parse_switch(pair.key, pair.value);
    if (!on) return on.error();
    port.*known.field = *on;
    return {};
  }
  for (const NumberKey& known : kNumberKeys) {
    if (known.name != pair.key) continue;
    const Result<uint64_t> number = parse_number(pair.key, pair.value, known.low, known.high);
    if (!number) return number.error();
    port.*known.field = static_cast<uint16_t>(*number);
    return {};
  }
  return unknown_key(pair.key);
}

Error in_option(std::string_view option, std::string_view subject, const Error& error) {
  return fail(error.code, fmt::format("--{} {}: {}", option, subject, error.text));
}

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

// Where the program's colon stands in "OBJ[:PROGRAM]", or npos.
size_t program_colon(const std::string& text) {
  if (is_file(text)) return std::string::npos;
  const size_t last = text.rfind(':');
  for (size_t colon = last; colon != std::string::npos && colon > 0; colon = text.rfind(':', colon - 1)) {
    if (is_file(text.substr(0, colon))) return colon;
  }
  return last;  // no such file: whoever opens it says so
}

}  // namespace

Result<uint64_t> parse_number(std::string_view what, std::string_view text, uint64_t low, uint64_t high) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    return fail(EINVAL, fmt::format("{}: {} is not a number from {} to {}", what, quoted(text), low, high));
  }
  return number;
}

Result<uint64_t> parse_portmask(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  uint64_t mask = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || mask == 0) {
    return fail(EINVAL,
                fmt::format("--portmask: {} is not a hexadecimal mask of 64 bits with a bit set", quoted(text)));
  }
  return mask;
}

std::string canonical_device(std::string_view device) {
  if (all_digits(device)) {
    device.remove_prefix(std::min(device.find_first_not_of('0'), device.size() - 1));
    return std::string(device);
  }
  // [DDDD:]BB:DD.F
  const std::vector<std::string_view> parts = split(device, ':');
  const std::string_view slot = parts.back();
  const bool pci = (parts.size() == 2 || parts.size() == 3) && slot.size() == 4 && slot[2] == '.' &&
                   all_hex(slot.substr(0, 2)) && all_digits(slot.substr(3)) && all_hex(parts[parts.size() - 2]) &&
                   all_hex(parts.front());
  if (!pci) return std::string(device);
  std::string name = (parts.size() == 2 ? "0000:" : "") + std::string(device);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

Result<PortOption> parse_port(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  if (Status valid = check_device(parts.front()); !valid) return fail(EINVAL, "--port: " + valid.error().text);
  PortOption port;
  port.device = canonical_device(parts.front());
  std::set<std::string_view> seen;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Result<KeyValue> pair = key_value(parts[i]);
    if (!pair) return in_option("port", port.device, pair.error());
    if (!seen.insert(pair->key).second) {
      return in_option("port", port.device, fail(EINVAL, fmt::format("{} is given twice", pair->key)));
    }
    if (Status set = set_key(port, *pair); !set) return in_option("port", port.device, set.error());
  }
  return port;
}

Result<BondOption> parse_bond(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  if (Status valid = check_bond_name(parts.front()); !valid) return fail(EINVAL, "--bond: " + valid.error().text);
  BondOption bond;
  bond.name = parts.front();
  bool mode = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Result<KeyValue> pair = key_value(parts[i]);
    if (!pair) return in_option("bond", bond.name, pair.error());
    if (pair->key == "member") {
      if (Status valid = check_device(pair->value); !valid) return in_option("bond", bond.name, valid.error());
      bond.members.push_back(canonical_device(pair->value));
      continue;
    }
    if (pair->key == "mode" && std::exchange(mode, true)) {
      return in_option("bond", bond.name, fail(EINVAL, "mode is given twice"));
    }
    bond.options.emplace_back(pair->key, pair->value);
  }
  if (!mode) bond.options.emplace(bond.options.begin(), "mode", "balance-rr");
  return bond;
}

Result<XdpOption> parse_xdp(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(EINVAL, fmt::format("--xdp {}: TARGET=OBJ[:PROGRAM] is wanted", quoted(text)));
  }
  XdpOption xdp;
  xdp.target = canonical_device(text.substr(0, equals));
  const std::string object(text.substr(equals + 1));
  const size_t colon = program_colon(object);
  xdp.object = object.substr(0, colon);
  if (colon != std::string::npos) {
    xdp.program = object.substr(colon + 1);
    if (xdp.program.empty()) return fail(EINVAL, fmt::format("--xdp {}: the program after : is missing", quoted(text)));
  }
  if (xdp.object.empty()) return fail(EINVAL, fmt::format("--xdp {}: the object file is missing", quoted(text)));
  return xdp;
}

}  // namespace xbond::app
