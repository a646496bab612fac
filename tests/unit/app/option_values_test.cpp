#include "app/xbond/option_values.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace xbond::app {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(OptionValues, Numbers) {
  EXPECT_EQ(*parse_number("--x", "1", 1, 128), 1u);
  EXPECT_EQ(*parse_number("--x", "128", 1, 128), 128u);
  EXPECT_EQ(*parse_number("--x", "007", 1, 128), 7u);
  for (const char* bad : {"", "0", "129", "-1", "+1", " 1", "1 ", "1x", "0x1", "1.0", "18446744073709551617"}) {
    const auto number = parse_number("--x", bad, 1, 128);
    ASSERT_FALSE(number.ok()) << bad;
    EXPECT_EQ(number.error().text, "--x: \"" + std::string(bad) + "\" is not a number from 1 to 128");
  }
}

TEST(OptionValues, Portmask) {
  EXPECT_EQ(*parse_portmask("0x3"), 3u);
  EXPECT_EQ(*parse_portmask("3"), 3u);
  EXPECT_EQ(*parse_portmask("0XfFffFFffffffffff"), UINT64_MAX);
  for (const char* bad : {"", "0", "0x", "0x0", "g", "-1", "0x10000000000000000", "3 "}) {
    EXPECT_FALSE(parse_portmask(bad).ok()) << bad;
  }
}

TEST(OptionValues, DevicesHaveOneSpelling) {
  EXPECT_EQ(canonical_device("0"), "0");
  EXPECT_EQ(canonical_device("007"), "7");
  EXPECT_EQ(canonical_device("000"), "0");
  EXPECT_EQ(canonical_device("3B:00.1"), "0000:3b:00.1");
  EXPECT_EQ(canonical_device("0000:3b:00.1"), "0000:3b:00.1");
  EXPECT_EQ(canonical_device("10000:3b:00.1"), "10000:3b:00.1");
  EXPECT_EQ(canonical_device("net_Ring0"), "net_Ring0");
  EXPECT_EQ(canonical_device("a:b"), "a:b");
  EXPECT_EQ(canonical_device("xy:zz:00.0"), "xy:zz:00.0");
  EXPECT_EQ(canonical_device(":00.0"), ":00.0");
}

TEST(OptionValues, Port) {
  const auto port = parse_port("net_pcap0,host=off,rxq=2,txq=3,rxd=512,txd=256,mtu=9000,promiscuous=on");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ(port->device, "net_pcap0");
  EXPECT_FALSE(port->host);
  EXPECT_TRUE(port->promiscuous);
  EXPECT_EQ(port->rxq, 2);
  EXPECT_EQ(port->txq, 3);
  EXPECT_EQ(port->rxd, 512);
  EXPECT_EQ(port->txd, 256);
  EXPECT_EQ(port->mtu, 9000);
  const auto bare = parse_port("0");
  EXPECT_TRUE(bare->host);
  EXPECT_FALSE(bare->promiscuous);
  EXPECT_EQ(bare->rxq, 0);
}

struct Bad {
  std::string text, error;
};

TEST(OptionValues, PortErrors) {
  const std::vector<Bad> cases{
      {"", "--port: the port is missing: give a port number or device name"},
      {",host=off", "--port: the port is missing: give a port number or device name"},
      {"host=off", "--port: port \"host=off\": a name has no blanks, / or ="},
      {"net ring0", "--port: port \"net ring0\": a name has no blanks, / or ="},
      {"../x", "--port: port \"../x\": a name has no blanks, / or ="},
      {std::string(64, 'x'), "--port: port \"" + std::string(60, 'x') + "...\": a name has at most 63 characters"},
      {"p,", "--port p: an empty part (two commas, or one at the end)"},
      {"p,,host=off", "--port p: an empty part (two commas, or one at the end)"},
      {"p,host", "--port p: \"host\" is not KEY=VALUE"},
      {"p,=1", "--port p: \"=1\": the name before = is missing"},
      {"p,rxq=", "--port p: \"rxq=\": the value is missing"},
      {"p,host=maybe", "--port p: host=maybe: on or off"},
      {"p,rxq=0", "--port p: rxq: \"0\" is not a number from 1 to 1024"},
      {"p,txq=1025", "--port p: txq: \"1025\" is not a number from 1 to 1024"},
      {"p,rxd=32769", "--port p: rxd: \"32769\" is not a number from 1 to 32768"},
      {"p,txd=x", "--port p: txd: \"x\" is not a number from 1 to 32768"},
      {"p,mtu=67", "--port p: mtu: \"67\" is not a number from 68 to 65535"},
      {"p,rxq=1,rxq=2", "--port p: rxq is given twice"},
      {"p,hots=off",
       "--port p: unknown key \"hots\"; did you mean \"host\"? allowed: host, promiscuous, rxq, txq, rxd, txd, mtu"},
      {"p,colour=red", "--port p: unknown key \"colour\"; allowed: host, promiscuous, rxq, txq, rxd, txd, mtu"},
  };
  for (const Bad& bad : cases) {
    const auto port = parse_port(bad.text);
    ASSERT_FALSE(port.ok()) << bad.text;
    EXPECT_EQ(port.error().text, bad.error);
  }
}

TEST(OptionValues, Bond) {
  const auto bond = parse_bond(
      "bond0,mode=active-backup,member=net_ring0,arp_ip_target=10.0.0.1,member=3B:00.0,arp_ip_target=10.0.0.2");
  ASSERT_TRUE(bond.ok()) << bond.error().text;
  EXPECT_EQ(bond->name, "bond0");
  EXPECT_EQ(bond->members, (std::vector<std::string>{"net_ring0", "0000:3b:00.0"}));
  EXPECT_EQ(bond->options,
            (Pairs{{"mode", "active-backup"}, {"arp_ip_target", "10.0.0.1"}, {"arp_ip_target", "10.0.0.2"}}));
  EXPECT_EQ(parse_bond("a23456789012345")->name.size(), 15u);
  EXPECT_EQ(parse_bond("b,miimon=100")->options, (Pairs{{"mode", "balance-rr"}, {"miimon", "100"}}));
}

TEST(OptionValues, BondErrors) {
  const char* characters = "a name has no blanks, /, :, = or % and is not . or ..";
  const std::vector<Bad> cases{
      {"", "--bond: the bond's name is missing"},
      {",mode=1", "--bond: the bond's name is missing"},
      {"a234567890123456", "--bond: bond \"a234567890123456\": a name has at most 15 characters"},
      {"a/b", std::string("--bond: bond \"a/b\": ") + characters},
      {"a b", std::string("--bond: bond \"a b\": ") + characters},
      {"a:b", std::string("--bond: bond \"a:b\": ") + characters},
      {"bond%d", std::string("--bond: bond \"bond%d\": ") + characters},
      {"mode=1", std::string("--bond: bond \"mode=1\": ") + characters},
      {"..", std::string("--bond: bond \"..\": ") + characters},
      {"12", "--bond: bond \"12\": a name of digits would be a port number"},
      {"b,", "--bond b: an empty part (two commas, or one at the end)"},
      {"b,member=", "--bond b: \"member=\": the value is missing"},
      {"b,member=a/b", "--bond b: port \"a/b\": a name has no blanks, / or ="},
      {"b,up", "--bond b: \"up\" is not KEY=VALUE"},
      {"b,mode=1,mode=2", "--bond b: mode is given twice"},
  };
  for (const Bad& bad : cases) {
    const auto bond = parse_bond(bad.text);
    ASSERT_FALSE(bond.ok()) << bad.text;
    EXPECT_EQ(bond.error().text, bad.error);
  }
}

void expect_xdp(const std::string& text, const std::string& target, const std::string& object,
                const std::string& program) {
  const auto xdp = parse_xdp(text);
  ASSERT_TRUE(xdp.ok()) << xdp.error().text;
  EXPECT_EQ(xdp->target, target) << text;
  EXPECT_EQ(xdp->object, object) << text;
  EXPECT_EQ(xdp->program, program) << text;
}

TEST(OptionValues, Xdp) {
  expect_xdp("bond0=a.o", "bond0", "a.o", "");
  expect_xdp("bond0=a.o:prog", "bond0", "a.o", "prog");
  expect_xdp("3b:00.0=a.o:xdp/devmap", "0000:3b:00.0", "a.o", "xdp/devmap");
  expect_xdp("bond0=a=b.o", "bond0", "a=b.o", "");
  for (const char* bad : {"", "bond0", "=a.o", "bond0=", "bond0=:prog", "bond0=a.o:"}) {
    const auto xdp = parse_xdp(bad);
    ASSERT_FALSE(xdp.ok()) << bad;
    EXPECT_EQ(xdp.error().text.find("--xdp \"" + std::string(bad) + "\": "), 0u) << xdp.error().text;
  }
}

TEST(OptionValues, XdpObjectsWithColons) {
  const std::string base = testing::TempDir() + "xbond:options:test.o";
  std::ofstream(base) << "x";
  expect_xdp("b=" + base, "b", base, "");
  expect_xdp("b=" + base + ":prog", "b", base, "prog");
  expect_xdp("b=" + base + ":pro:g", "b", base, "pro:g");
  std::filesystem::remove(base);
  expect_xdp("b=" + base, "b", testing::TempDir() + "xbond:options", "test.o");
}

}  // namespace
}  // namespace xbond::app
