// What the host changes on a tap comes back; what we change does not.
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "lib/host/netlink.hpp"
#include "lib/host/tap_device.hpp"
#include "tests/unit/host/support.hpp"

namespace xbond::host::test {
namespace {

class Recorder {
 public:
  void operator()(const TapChange& change) {
    const std::lock_guard lock(mutex_);
    changes_.push_back(change);
  }
  std::vector<TapChange> all() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  bool waits_for(size_t count) {
    return eventually([&] { return all().size() >= count; });
  }

 private:
  std::mutex mutex_;
  std::vector<TapChange> changes_;
};

class ChangesTest : public NetworkTest {
 protected:
  Recorder recorder_;
  std::unique_ptr<Host> host() {
    return make_host(1, [this](const TapChange& change) { recorder_(change); });
  }
};

TEST_F(ChangesTest, EachChangeOnce) {
  auto taps = host();
  const auto handle = taps->add("chg0", kMac, 1500);
  ASSERT_TRUE(handle);
  ASSERT_TRUE(ip("link set chg0 address 02:00:5e:10:00:02"));
  ASSERT_TRUE(recorder_.waits_for(1));
  ASSERT_TRUE(ip("link set chg0 mtu 1400"));
  ASSERT_TRUE(recorder_.waits_for(2));
  ASSERT_TRUE(ip("link set chg0 up"));
  ASSERT_TRUE(recorder_.waits_for(3));
  ASSERT_TRUE(ip("link set chg0 down"));
  ASSERT_TRUE(recorder_.waits_for(4));
  const auto all = recorder_.all();
  ASSERT_EQ(all.size(), 4U);
  for (const auto& change : all) {
    EXPECT_EQ(change.name, "chg0");
    EXPECT_EQ(change.mac, kOtherMac);
  }
  EXPECT_EQ(all[0].mtu, 1500U);
  EXPECT_EQ(all[1].mtu, 1400U);
  EXPECT_FALSE(all[1].up);
  EXPECT_TRUE(all[2].up);
  EXPECT_FALSE(all[3].up);
}

TEST_F(ChangesTest, OursDoNotComeBack) {
  auto taps = host();
  const auto handle = taps->add("own0", kMac, 1500);
  ASSERT_TRUE(handle);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(taps->set_mac(*handle, i % 2 == 0 ? kOtherMac : kMac));
    ASSERT_TRUE(taps->set_mtu(*handle, static_cast<uint16_t>(1400 + i)));
    ASSERT_TRUE(taps->set_carrier(*handle, i % 2 == 0));
  }
  EXPECT_EQ(mac_of("own0"), kMac);
  EXPECT_EQ(mtu_of("own0"), 1419U);
  // Notices come in order: when this one was handled, all of ours were.
  ASSERT_TRUE(ip("link set own0 mtu 1300"));
  ASSERT_TRUE(recorder_.waits_for(1));
  const auto all = recorder_.all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].mtu, 1300U);
  EXPECT_EQ(all[0].mac, kMac);
}

TEST_F(ChangesTest, RefusedChangesLeaveTheKnownState) {
  auto taps = host();
  const auto handle = taps->add("ref0", kMac, 1500);
  ASSERT_TRUE(handle);
  EXPECT_EQ(taps->set_mac(*handle, port::Mac{}).error().code, EINVAL);
  EXPECT_EQ(taps->set_mtu(*handle, 10).error().code, EINVAL);
  ASSERT_TRUE(ip("link set ref0 up"));
  ASSERT_TRUE(recorder_.waits_for(1));
  EXPECT_EQ(recorder_.all()[0].mac, kMac);
  EXPECT_EQ(recorder_.all()[0].mtu, 1500U);
}

TEST_F(ChangesTest, OfItsOwnTapOnlyAndAfterARename) {
  auto taps = host();
  ASSERT_TRUE(taps->add("one0", kMac, 1500));
  ASSERT_TRUE(taps->add("two0", kMac, 1500));
  ASSERT_TRUE(ip("link set two0 name three0"));
  ASSERT_TRUE(ip("link set three0 mtu 1450"));
  ASSERT_TRUE(recorder_.waits_for(1));
  ASSERT_EQ(recorder_.all().size(), 1U);
  EXPECT_EQ(recorder_.all()[0].name, "two0") << "our name for it stays";
  EXPECT_EQ(recorder_.all()[0].mtu, 1450U);
}

// As control does when a port cannot take the MAC: it sets the old one again.
TEST_F(ChangesTest, TheCallbackMayCallTheHost) {
  Host* back = nullptr;
  std::atomic<uint32_t> handle{0};
  auto taps = make_host(1, [&](const TapChange& change) {
    EXPECT_TRUE(back->set_mac(handle, kMac));
    recorder_(change);
  });
  back = taps.get();
  const auto added = taps->add("back0", kMac, 1500);
  ASSERT_TRUE(added);
  handle = *added;
  ASSERT_TRUE(ip("link set back0 address 02:00:5e:10:00:02"));
  ASSERT_TRUE(recorder_.waits_for(1));
  EXPECT_EQ(mac_of("back0"), kMac);
  ASSERT_TRUE(ip("link set back0 mtu 1400"));
  ASSERT_TRUE(recorder_.waits_for(2));
  EXPECT_EQ(recorder_.all().size(), 2U);
}

// Makes more notices than a socket holds.
void flood_notices() {
  auto other = TapDevice::create("noise0", kMac, 1500);
  ASSERT_TRUE(other);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(other->set_mtu(static_cast<uint16_t>(1400 + i % 2)));
}

TEST_F(ChangesTest, ASocketThatOverflowsSaysSo) {
  auto events = LinkEvents::open();
  ASSERT_TRUE(events);
  std::vector<int> changed;
  EXPECT_TRUE(events->read(changed));
  EXPECT_TRUE(changed.empty());
  flood_notices();
  bool complete = true;
  size_t before = 0;
  do {
    before = changed.size();
    complete &= events->read(changed);
  } while (changed.size() > before);
  EXPECT_FALSE(complete);
  // And is good again
  ASSERT_TRUE(ip("link set lo mtu 60000"));
  changed.clear();
  EXPECT_TRUE(events->read(changed));
  EXPECT_FALSE(changed.empty());
}

TEST_F(ChangesTest, LostNoticesLoseNoChange) {
  std::promise<void> go_on;
  auto released = go_on.get_future().share();
  auto taps = make_host(1, [&](const TapChange& change) {
    recorder_(change);
    released.wait();  // the thread does not read its socket meanwhile
  });
  ASSERT_TRUE(taps->add("lost0", kMac, 1500));
  ASSERT_TRUE(taps->add("held0", kMac, 1500));
  ASSERT_TRUE(ip("link set held0 up"));
  ASSERT_TRUE(recorder_.waits_for(1));
  flood_notices();
  ASSERT_TRUE(ip("link set lost0 mtu 1234"));  // its notice finds no room
  go_on.set_value();
  ASSERT_TRUE(recorder_.waits_for(2));
  const auto all = recorder_.all();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "lost0");
  EXPECT_EQ(all[1].mtu, 1234U);
}

}  // namespace
}  // namespace xbond::host::test
