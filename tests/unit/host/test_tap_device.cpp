#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "lib/host/tap_device.hpp"
#include "tests/unit/host/support.hpp"

namespace xbond::host::test {
namespace {

class TapDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!no_network().empty()) GTEST_SKIP() << no_network();
  }
};

// A child process; killed and waited for at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    body();
    _exit(0);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  int wait() {
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  pid_t pid_;
};

TEST(TapName, RefusesWhatTheKernelWouldRefuseOrChange) {
  for (const std::string_view name : {"", ".", "..", "a/b", "tap%d", "%", "a b", "a\tb", "a\nb", "a:1", "a\x7f",
                                      "sixteen_letters_", "a_very_long_name_that_goes_on_and_on_and_on_and_on"})
    EXPECT_EQ(check_name(name).error().code, EINVAL) << name;
  EXPECT_FALSE(check_name(std::string_view("a\0b", 3)));
  for (const std::string_view name : {"a", "bond0", "net_pcap0", "fifteen_letters", "...", "0", "b-1.100"})
    EXPECT_TRUE(check_name(name)) << name;
}

TEST(TapName, ErrorIsOneCleanLine) {
  for (const std::string_view name : {"a\nb", "\x1b[31m", "a_very_long_name\n_that_goes_on"}) {
    const auto status = check_name(name);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().text.find('\x1b'), std::string::npos);
    EXPECT_EQ(status.error().text.find('\n'), std::string::npos) << status.error().text;
  }
}

TEST_F(TapDeviceTest, IsBornAsAsked) {
  auto tap = TapDevice::create("born0", kMac, 1400);
  ASSERT_TRUE(tap) << tap.error().text;
  EXPECT_EQ(mac_of("born0"), kMac);
  EXPECT_EQ(mtu_of("born0"), 1400U);
  EXPECT_GE(queue_length_of("born0"), 1000);
  EXPECT_EQ(ethtool_value("born0", ETHTOOL_GTXCSUM), 0U);
  EXPECT_EQ(ethtool_value("born0", ETHTOOL_GTSO), 0U);
  const auto settings = tap->settings();
  ASSERT_TRUE(settings);
  EXPECT_EQ(*settings, (LinkSettings{kMac, 1400, false}));
}

TEST_F(TapDeviceTest, TakesEveryMtuOfTheKernel) {
  for (const uint16_t mtu : {68, 1500, 9000, 65521}) {
    auto tap = TapDevice::create("mtu0", kMac, mtu);
    ASSERT_TRUE(tap) << tap.error().text;
    EXPECT_EQ(mtu_of("mtu0"), mtu);
  }
  for (const uint16_t mtu : {0, 67, 65522, 65535}) {
    auto tap = TapDevice::create("mtu0", kMac, mtu);
    ASSERT_FALSE(tap) << mtu;
    EXPECT_EQ(tap.error().code, EINVAL);
    EXPECT_NE(tap.error().text.find(std::to_string(mtu)), std::string::npos) << tap.error().text;
    EXPECT_FALSE(exists("mtu0")) << "left behind";
  }
}

TEST_F(TapDeviceTest, RefusesMacsThatAreNoStation) {
  for (const port::Mac mac : {port::Mac{}, port::Mac{0x01, 0, 0x5e, 0, 0, 1}}) {
    auto tap = TapDevice::create("mac0", mac, 1500);
    ASSERT_FALSE(tap);
    EXPECT_EQ(tap.error().code, EINVAL);
    EXPECT_FALSE(exists("mac0"));
  }
}

TEST_F(TapDeviceTest, CarrierIsWhatTheKernelSees) {
  auto tap = TapDevice::create("carrier0", kMac, 1500);
  ASSERT_TRUE(tap);
  ASSERT_TRUE(ip("link set carrier0 up"));
  EXPECT_FALSE(has_carrier("carrier0"));
  EXPECT_TRUE(tap->set_carrier(true));
  EXPECT_TRUE(has_carrier("carrier0"));
  EXPECT_TRUE(tap->set_carrier(false));
  EXPECT_FALSE(has_carrier("carrier0"));
}

TEST_F(TapDeviceTest, NameInUse) {
  auto first = TapDevice::create("twice0", kMac, 1500);
  ASSERT_TRUE(first);
  const auto second = TapDevice::create("twice0", kOtherMac, 1400);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EBUSY) << second.error().text;
  EXPECT_EQ(mac_of("twice0"), kMac) << "the first one's settings are untouched";

  const auto other = TapDevice::create("lo", kMac, 1500);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, EEXIST) << other.error().text;
}

TEST_F(TapDeviceTest, TakesAFreeTapAndLeavesIt) {
  ASSERT_TRUE(ip("tuntap add dev lent0 mode tap"));
  {
    auto tap = TapDevice::create("lent0", kMac, 1300);
    ASSERT_TRUE(tap) << tap.error().text;
    EXPECT_EQ(mac_of("lent0"), kMac);
    EXPECT_EQ(mtu_of("lent0"), 1300U);
  }
  EXPECT_TRUE(exists("lent0"));
  ASSERT_TRUE(ip("tuntap del dev lent0 mode tap"));
}

TEST_F(TapDeviceTest, WithoutTheCapability) {
  Child child([] {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(2);
    const auto tap = TapDevice::create("denied0", kMac, 1500);
    if (tap || tap.error().code != EPERM) _exit(3);
    const auto& text = tap.error().text;
    _exit(text.find("CAP_NET_ADMIN") != std::string::npos && text.find("host=off") != std::string::npos ? 0 : 4);
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(TapDeviceTest, GoesWithTheProcessHoweverItEnds) {
  Child child([] {
    const auto tap = TapDevice::create("killed0", kMac, 1500);
    if (tap) pause();
  });
  ASSERT_TRUE(eventually([] { return exists("killed0"); }));
  child.kill();
  EXPECT_TRUE(eventually([] { return !exists("killed0"); }));
}

TEST_F(TapDeviceTest, FollowsARename) {
  auto tap = TapDevice::create("before0", kMac, 1500);
  ASSERT_TRUE(tap);
  ASSERT_TRUE(ip("link set before0 name after0"));
  EXPECT_EQ(tap->name(), "before0");
  EXPECT_TRUE(tap->set_mtu(1400));
  EXPECT_TRUE(tap->set_mac(kOtherMac));
  EXPECT_EQ(mtu_of("after0"), 1400U);
  EXPECT_EQ(mac_of("after0"), kOtherMac);
}

TEST_F(TapDeviceTest, SaysThatItWasDeleted) {
  auto tap = TapDevice::create("deleted0", kMac, 1500);
  ASSERT_TRUE(tap);
  ASSERT_TRUE(ip("link del deleted0"));
  EXPECT_EQ(tap->settings().error().code, EBADFD);
  EXPECT_EQ(tap->set_mtu(1400).error().code, EBADFD);
  EXPECT_EQ(tap->set_mac(kOtherMac).error().code, EBADFD);
  EXPECT_EQ(tap->set_carrier(true).error().code, EBADFD);
}

TEST_F(TapDeviceTest, TellsAMovedTapFromOneThatTookItsName) {
  auto tap = TapDevice::create("moved0", kMac, 1500);
  ASSERT_TRUE(tap);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Child other([&] {
    if (unshare(CLONE_NEWNET) != 0 || write(ready[1], "", 1) != 1) _exit(1);
    pause();
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  ASSERT_TRUE(ip("link set moved0 netns " + std::to_string(other.pid())));
  auto usurper = TapDevice::create("moved0", kOtherMac, 1400);
  ASSERT_TRUE(usurper) << usurper.error().text;
  EXPECT_EQ(tap->settings().error().code, ENODEV);
  EXPECT_EQ(tap->set_mtu(1300).error().code, ENODEV);
  EXPECT_EQ(mtu_of("moved0"), 1400U);
  EXPECT_TRUE(tap->set_carrier(true)) << "the descriptor still works";
}

}  // namespace
}  // namespace xbond::host::test
