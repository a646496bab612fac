// rtnetlink datagrams, well-formed and hostile.
#include "lib/port/rtnl.hpp"

#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <random>

namespace xbond::port {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& out, const T& value) {
  const auto* raw = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), raw, raw + sizeof value);
  while (out.size() % 4 != 0) out.push_back(std::byte{0});
}

struct Shape {
  uint16_t type = RTM_NEWLINK;
  unsigned char family = AF_UNSPEC;
  int ifindex = 7;
  unsigned flags = IFF_UP | IFF_LOWER_UP;
  int operstate = IF_OPER_UP;  // negative: no attribute
};

Bytes message(const Shape& shape) {
  Bytes payload;
  append(payload, ifinfomsg{.ifi_family = shape.family, .ifi_index = shape.ifindex, .ifi_flags = shape.flags});
  append(payload, rtattr{.rta_len = sizeof(rtattr) + 4, .rta_type = IFLA_MTU});
  append(payload, uint32_t{1500});
  if (shape.operstate >= 0) {
    append(payload, rtattr{.rta_len = sizeof(rtattr) + 1, .rta_type = IFLA_OPERSTATE});
    append(payload, static_cast<uint8_t>(shape.operstate));
  }
  Bytes out;
  append(out,
         nlmsghdr{.nlmsg_len = static_cast<uint32_t>(sizeof(nlmsghdr) + payload.size()), .nlmsg_type = shape.type});
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

std::vector<IfaceState> parse(const Bytes& datagram) {
  std::vector<IfaceState> seen;
  // A copy of the exact size, so that a sanitizer sees every byte read beyond
  const Bytes exact(datagram.begin(), datagram.end());
  parse_link_messages(exact, [&](const IfaceState& state) { seen.push_back(state); });
  return seen;
}

bool up(const Shape& shape) {
  const auto seen = parse(message(shape));
  EXPECT_EQ(seen.size(), 1u);
  return !seen.empty() && seen[0].ifindex == 7 && seen[0].present && seen[0].up;
}

TEST(Rtnl, Operstate) {
  EXPECT_TRUE(up({}));
  EXPECT_TRUE(up({.operstate = IF_OPER_UNKNOWN}));
  EXPECT_FALSE(up({.flags = IFF_UP, .operstate = IF_OPER_UNKNOWN}));
  EXPECT_FALSE(up({.flags = IFF_LOWER_UP}));  // administratively down
  for (const int down : {IF_OPER_NOTPRESENT, IF_OPER_DOWN, IF_OPER_LOWERLAYERDOWN, IF_OPER_TESTING, IF_OPER_DORMANT})
    EXPECT_FALSE(up({.operstate = down})) << down;
}

TEST(Rtnl, Deletion) {
  const auto seen = parse(message({.type = RTM_DELLINK}));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(seen[0].present || seen[0].up);
}

TEST(Rtnl, WhatIsNotALinkNoticeIsSkipped) {
  EXPECT_TRUE(parse(message({.type = RTM_DELLINK, .family = AF_BRIDGE})).empty());  // it left a bridge
  EXPECT_TRUE(parse(message({.type = RTM_NEWADDR})).empty());
  EXPECT_TRUE(parse(message({.operstate = -1})).empty());
  EXPECT_TRUE(parse(message({.ifindex = 0})).empty());
  EXPECT_TRUE(parse(message({.ifindex = -5})).empty());
}

TEST(Rtnl, SeveralInOneDatagramInOrder) {
  Bytes both = message({.operstate = IF_OPER_DOWN});
  const Bytes second = message({});
  both.insert(both.end(), second.begin(), second.end());
  const auto seen = parse(both);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen[0].up);
  EXPECT_TRUE(seen[1].up);
}

TEST(Rtnl, EveryCutIsHarmless) {
  const Bytes whole = message({});
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(parse(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length))).empty()) << length;
}

TEST(Rtnl, LyingLengthsAreHarmless) {
  const Bytes whole = message({});
  for (const uint32_t length : {0u, 1u, 15u, 17u, 20u, 0x7fffffffu, 0xfffffffcu, 0xffffffffu}) {
    Bytes bad = whole;
    std::memcpy(bad.data(), &length, sizeof length);
    EXPECT_TRUE(parse(bad).empty()) << length;
  }
  const size_t attribute = sizeof(nlmsghdr) + sizeof(ifinfomsg);
  for (const uint16_t length : {0, 1, 3, 0x7fff, 0xffff}) {
    Bytes bad = whole;
    const auto value = static_cast<uint16_t>(length);
    std::memcpy(bad.data() + attribute, &value, sizeof value);
    EXPECT_TRUE(parse(bad).empty()) << length;
  }
}

TEST(Rtnl, NoiseEndsAndStaysInside) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Bytes noise = message({});
    for (int i = 0; i < 4; ++i) noise[random() % noise.size()] = static_cast<std::byte>(random());
    noise.resize(random() % (noise.size() + 1));
    EXPECT_LE(parse(noise).size(), 4u);
  }
}

TEST(Rtnl, AsksTheKernel) {
  auto socket = RtnlSocket::open(false);
  ASSERT_TRUE(socket.ok()) << socket.error().text;
  const auto loopback = socket->query(1);
  ASSERT_TRUE(loopback.has_value());
  EXPECT_TRUE(loopback->present);
  const auto none = socket->query(0x7ffffff0);
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->present || none->up);
}

}  // namespace
}  // namespace xbond::port
