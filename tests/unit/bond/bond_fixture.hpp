// A bond under virtual time, for the tests of its control side.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/bond/bond.hpp"

namespace xbond::bond::test {

using Options = std::vector<std::pair<std::string, std::string>>;
using Lines = std::vector<std::string>;
using Ports = std::vector<uint16_t>;

inline constexpr LinkReport kUp{.up = true, .speed_mbps = 10000, .full_duplex = true};
inline constexpr LinkReport kDown{.up = false, .speed_mbps = 0, .full_duplex = true};

inline Mac mac_of(uint16_t port) {
  return {0x02, 0, 0, 0, 0x0a, static_cast<uint8_t>(port)};
}

inline NewMember new_member(uint16_t port, LinkReport link = kUp) {
  return {.port = port, .name = fmt::format("s{}", port), .permanent_mac = mac_of(port), .link = link};
}

// Throws when it is refused: the test is wrong then.
inline Bond make(const Options& options) {
  auto made = Bond::create("bond0", 3, options);
  if (!made) throw std::runtime_error(made.error().text);
  return std::move(*made);
}

// A bond that is up, with members s0, s1, … of the given links.
inline Bond make_up(const Options& options, const std::vector<LinkReport>& links, uint64_t now = 0) {
  Bond bond = make(options);
  bond.set_up(true, now);
  for (uint16_t port = 0; port < links.size(); ++port) {
    if (auto ok = bond.add_member(new_member(port, links[port]), now); !ok) throw std::runtime_error(ok.error().text);
  }
  return bond;
}

// The ports that frames can leave by, in order.
inline Ports usable(const Bond& bond) {
  const TxTable table = bond.table();
  return {table.port.begin(), table.port.begin() + table.usable};
}

// Everything that can be seen of a bond.
inline std::string all_of(const Bond& bond) {
  std::string text = bond.show("6.1.0") + bond.json();
  text += bond.up() ? " up" : " down";
  text += " next " + (bond.next_deadline_ms() ? std::to_string(*bond.next_deadline_ms()) : "none");
  text += " active " + (bond.active() ? std::to_string(*bond.active()) : "none");
  for (const uint16_t port : usable(bond)) text += " usable " + std::to_string(port);
  const TxTable table = bond.table();
  text += " table " + std::to_string(table.active) + "/" + std::to_string(table.packets_per_slave);
  for (const uint16_t port : bond.ports()) text += bond.member_inactive(port) ? " inactive" : " taken";
  return text;
}

inline void set(Bond& bond, std::string_view option, std::string_view value, uint64_t now = 0) {
  const auto ok = bond.set_option(option, value, now);
  ASSERT_TRUE(ok) << ok.error().text;
}

inline std::string refusal(Bond& bond, std::string_view option, std::string_view value, int code) {
  const std::string before = all_of(bond);
  const auto ok = bond.set_option(option, value, 0);
  EXPECT_FALSE(ok) << option << " " << value << " was taken";
  EXPECT_EQ(all_of(bond), before) << "a refused call left a trace: " << option << " " << value;
  if (ok) return "";
  EXPECT_EQ(ok.error().code, code) << ok.error().text;
  EXPECT_EQ(ok.error().text.find('\n'), std::string::npos) << "more than one line";
  return ok.error().text;
}

}  // namespace xbond::bond::test
