#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/host/addresses.hpp"
#include "lib/host/tap_device.hpp"
#include "tests/unit/host/support.hpp"

namespace xbond::host::test {
namespace {

Ipv6Address v6(const char* text) {
  Ipv6Address out{};
  EXPECT_EQ(inet_pton(AF_INET6, text, out.data()), 1);
  return out;
}

bool contains(const std::vector<Ipv6Address>& all, const char* text) {
  return std::find(all.begin(), all.end(), v6(text)) != all.end();
}

class AddressesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!no_network().empty()) GTEST_SKIP() << no_network();
    tap_ = std::make_unique<Result<TapDevice>>(TapDevice::create("addr0", kMac, 1500));
    ASSERT_TRUE(*tap_) << tap_->error().text;
    std::ofstream("/proc/sys/net/ipv6/conf/addr0/disable_ipv6") << "0\n";
  }
  std::unique_ptr<Result<TapDevice>> tap_;
};

TEST_F(AddressesTest, NoneOrNoSuchInterface) {
  EXPECT_TRUE(ipv4_addresses("addr0").empty());
  EXPECT_TRUE(ipv4_addresses("nosuch0").empty());
  EXPECT_TRUE(ipv6_addresses("nosuch0").empty());
  EXPECT_TRUE(ipv4_addresses("").empty());
  EXPECT_TRUE(ipv4_addresses("a_very_long_name_that_no_interface_has").empty());
}

TEST_F(AddressesTest, ListsItsOwnOnly) {
  ASSERT_TRUE(ip("link set lo up"));
  ASSERT_TRUE(ip("addr add 10.1.2.3/24 dev addr0"));
  ASSERT_TRUE(ip("addr add 10.1.2.4/24 dev addr0 label addr0:x"));  // secondary, with a label
  ASSERT_TRUE(ip("addr add 10.9.0.1 peer 10.9.0.2 dev addr0"));     // ours, not the peer's
  const std::vector<Ipv4Address> expected{{10, 1, 2, 3}, {10, 1, 2, 4}, {10, 9, 0, 1}};
  auto found = ipv4_addresses("addr0");
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(ipv4_addresses("lo"), (std::vector<Ipv4Address>{{127, 0, 0, 1}}));
}

TEST_F(AddressesTest, ManyMoreThanOneMessageHolds) {
  const std::string path = testing::TempDir() + "xbond-test-host-" + std::to_string(getpid());
  std::ofstream batch(path);
  for (int i = 0; i < 1000; ++i) batch << "addr add 10.7." << i / 250 << '.' << 1 + i % 250 << "/32 dev addr0\n";
  batch.close();
  const bool added = ip("-batch " + path);
  std::filesystem::remove(path);
  ASSERT_TRUE(added);
  EXPECT_EQ(ipv4_addresses("addr0").size(), 1000U);
}

TEST_F(AddressesTest, LeavesOutTentativeIpv6) {
  ASSERT_TRUE(ip("link set addr0 up"));
  if (!ip("-6 addr add 2001:db8::1/64 dev addr0 nodad")) GTEST_SKIP() << "no IPv6 on this machine";
  // Without carrier the kernel cannot test for duplicates: tentative for ever
  ASSERT_TRUE(ip("-6 addr add 2001:db8::2/64 dev addr0"));
  const auto without = ipv6_addresses("addr0");
  EXPECT_TRUE(contains(without, "2001:db8::1"));
  EXPECT_FALSE(contains(without, "2001:db8::2"));

  ASSERT_TRUE((*tap_)->set_carrier(true));
  EXPECT_TRUE(eventually([] { return contains(ipv6_addresses("addr0"), "2001:db8::2"); }));
}

}  // namespace
}  // namespace xbond::host::test
