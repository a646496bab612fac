#include "lib/port/link_watch.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <poll.h>
#include <rte_cycles.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "tests/unit/port/fixture.hpp"

namespace xbond::port::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool readable(const LinkWatch& watch, std::chrono::milliseconds wait) {
  pollfd entry{.fd = watch.fd(), .events = POLLIN};
  return poll(&entry, 1, static_cast<int>(wait.count())) == 1;
}

// Handles events until the link is as wanted; how long that took.
std::chrono::milliseconds until(LinkWatch& watch, const Port& port, bool up, std::chrono::milliseconds limit = 2s) {
  const auto start = Clock::now();
  auto passed = [&] { return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start); };
  while (port.link().up != up && passed() < limit)
    if (readable(watch, 10ms)) watch.handle();
  return port.link().up == up ? passed() : 1h;
}

// Without a process each time.
void set_up(const char* iface, bool up) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, iface, IFNAMSIZ - 1);
  EXPECT_EQ(ioctl(fd, SIOCGIFFLAGS, &request), 0);
  request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  EXPECT_EQ(ioctl(fd, SIOCSIFFLAGS, &request), 0);
  close(fd);
}

class LinkWatchTest : public PortTest {
 protected:
  void SetUp() override {
    PortTest::SetUp();
    auto made = LinkWatch::create();
    ASSERT_TRUE(made.ok()) << made.error().text;
    watch_ = std::move(*made);
  }
  void TearDown() override {
    watch_.reset();
    PortTest::TearDown();
  }
  std::unique_ptr<LinkWatch> watch_;
};

TEST_F(LinkWatchTest, FollowsTheCarrierOfAVeth) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE(watch_->add(**port).ok());
  EXPECT_EQ(watch_->add(**port).error().code, EEXIST);
  EXPECT_TRUE((*port)->link().up);
  watch_->handle();
  EXPECT_FALSE(readable(*watch_, 0ms));

  for (int round = 0; round < 3; ++round) {
    set_up("far0", false);  // the peer cuts the carrier
    EXPECT_LE(until(*watch_, **port, false), 100ms);
    set_up("far0", true);
    EXPECT_LE(until(*watch_, **port, true), 100ms);
    set_up("near0", false);  // administratively
    EXPECT_LE(until(*watch_, **port, false), 100ms);
    set_up("near0", true);
    EXPECT_LE(until(*watch_, **port, true), 100ms);
  }
  watch_->remove(**port);
  watch_->remove(**port);  // not followed any more
  set_up("far0", false);
  until(*watch_, **port, false, 100ms);
  EXPECT_TRUE((*port)->link().up);
}

TEST_F(LinkWatchTest, ReadsTheStateAtAdd) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  set_up("far0", false);
  rte_delay_ms(50);
  EXPECT_TRUE((*port)->link().up);  // the driver always says so
  ASSERT_TRUE(watch_->add(**port).ok());
  EXPECT_FALSE((*port)->link().up);
  watch_->remove(**port);
}

TEST_F(LinkWatchTest, TwoPortsDoNotMix) {
  XBOND_NEEDS_NAMESPACE();
  Veth one("near0", "far0"), two("near1", "far1");
  Device first("net_af_packet0", "iface=near0"), second("net_af_packet1", "iface=near1");
  auto a = open("net_af_packet0");
  auto b = open("net_af_packet1");
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(watch_->add(**a).ok() && watch_->add(**b).ok());
  set_up("far1", false);
  EXPECT_LE(until(*watch_, **b, false), 100ms);
  EXPECT_TRUE((*a)->link().up);
  watch_->remove(**a);
  watch_->remove(**b);
}

TEST_F(LinkWatchTest, ARenamedInterfaceIsFollowed) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE(watch_->add(**port).ok());
  ASSERT_EQ(shell("ip link set near0 down && ip link set near0 name other0 && ip link set other0 up"), 0);
  EXPECT_LE(until(*watch_, **port, true), 1s);
  // Another takes the old name: nothing of it is ours.
  ASSERT_EQ(shell("ip link add near0 type veth peer name far9"), 0);
  set_up("far0", false);
  EXPECT_LE(until(*watch_, **port, false), 100ms);
  ASSERT_EQ(shell("ip link set near0 up && ip link set far9 up"), 0);
  until(*watch_, **port, true, 200ms);
  EXPECT_FALSE((*port)->link().up);
  set_up("far0", true);
  EXPECT_LE(until(*watch_, **port, true), 100ms);
  watch_->remove(**port);
  shell("ip link del other0");
}

TEST_F(LinkWatchTest, ARemovedInterfaceStaysDownAsItsSocketDoes) {
  XBOND_NEEDS_NAMESPACE();
  auto veth = std::make_unique<Veth>("near0", "far0");
  const unsigned index = if_nametoindex("near0");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE(watch_->add(**port).ok());
  veth.reset();
  EXPECT_LE(until(*watch_, **port, false), 1s);
  // Back, under another index and then under the very same: the driver's socket is bound to neither.
  veth = std::make_unique<Veth>("near0", "far0");
  EXPECT_NE(if_nametoindex("near0"), index);
  until(*watch_, **port, true, 200ms);
  EXPECT_FALSE((*port)->link().up);
  veth.reset();
  ASSERT_EQ(shell(fmt::format("ip link add near0 index {} type veth peer name far0", index)), 0);
  ASSERT_EQ(shell("ip link set near0 up && ip link set far0 up"), 0);
  until(*watch_, **port, true, 200ms);
  EXPECT_FALSE((*port)->link().up);
  watch_->remove(**port);
  // Added again it still is not the driver's, but the watch cannot know: the index is the driver's own.
  shell("ip link del near0");
}

TEST_F(LinkWatchTest, AnInterfaceGoneBeforeAdd) {
  XBOND_NEEDS_NAMESPACE();
  auto veth = std::make_unique<Veth>("near0", "far0");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  veth.reset();
  ASSERT_TRUE(watch_->add(**port).ok());
  EXPECT_FALSE((*port)->link().up);
  watch_->remove(**port);
}

TEST_F(LinkWatchTest, LostNoticesAreMadeUpFor) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0"), noise("near1", "far1");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE(watch_->add(**port).ok());
  for (const bool up : {false, true}) {
    for (int i = 0; i < 600; ++i) set_up("near1", i % 2 != 0);  // overflows the socket's buffer
    set_up("far0", up);                                         // this notice is lost
    rte_delay_ms(20);
    EXPECT_LE(until(*watch_, **port, up), 100ms);
    // What was queued before the loss must not overtake what was read anew.
    while (readable(*watch_, 0ms)) watch_->handle();
    EXPECT_EQ((*port)->link().up, up);
  }
  watch_->remove(**port);
}

TEST_F(LinkWatchTest, DriverEventsWakeIt) {
  TempDir dir;
  const std::string path = dir.file("vhost.sock");
  Device device("net_vhost0", "iface=" + path);
  auto port = open("net_vhost0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE(watch_->add(**port).ok());
  EXPECT_FALSE((*port)->link().up);
  EXPECT_FALSE(readable(*watch_, 0ms));
  {
    Device peer("net_virtio_user0", "path=" + path + ",queues=1,mac=02:00:00:00:00:01");
    auto guest = open("net_virtio_user0");
    ASSERT_TRUE(guest.ok()) << guest.error().text;
    EXPECT_TRUE(readable(*watch_, 1s));
    EXPECT_LE(until(*watch_, **port, true), 1s);
    while (readable(*watch_, 0ms)) watch_->handle();
  }
  EXPECT_TRUE(readable(*watch_, 1s));
  EXPECT_LE(until(*watch_, **port, false), 1s);
  watch_->handle();
  EXPECT_FALSE(readable(*watch_, 0ms));  // handled: it does not spin
  watch_->remove(**port);
}

TEST_F(LinkWatchTest, MayGoBeforeItsPorts) {
  Device device("net_null0", "");
  auto port = open("net_null0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE(watch_->add(**port).ok());
  watch_.reset();
  EXPECT_TRUE((*port)->link().up);
}

}  // namespace
}  // namespace xbond::port::test
