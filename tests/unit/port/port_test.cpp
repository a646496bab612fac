// Ports over every driver that runs without hardware.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstring>
#include <fstream>

#include "tests/unit/port/fixture.hpp"

namespace xbond::port::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// net_ring leaves its rings behind when it is closed: each test takes a name of its own.

constexpr Mac kMac = {2, 0, 0, 0, 0, 0x77};

// The last byte of each frame in a capture file.
std::vector<uint8_t> marks(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(24);
  std::vector<uint8_t> found;
  for (uint32_t record[4]; file.read(reinterpret_cast<char*>(record), sizeof record);) {
    std::string frame(record[2], '\0');
    if (!file.read(frame.data(), static_cast<std::streamsize>(frame.size())) || frame.empty()) break;
    found.push_back(static_cast<uint8_t>(frame.back()));
  }
  return found;
}

// An empty capture file (microseconds, Ethernet), for a port that shall receive nothing.
void write_empty_capture(const std::string& path) {
  const uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(header), sizeof header);
}

bool iface_shows(const std::string& iface, const std::string& text) {
  return shell("ip link show " + iface + " | grep -q '" + text + "'") == 0;
}

TEST_F(PortTest, NoSuchPortSaysWhichThereAre) {
  auto none = open("net_pcap7");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ENODEV);
  EXPECT_THAT(none.error().text, HasSubstr("no such port net_pcap7; there are no ports"));

  Device first("net_null0", ""), second("net_ring0", "");
  for (const char* name : {"net_pcap7", "", "7", "31", "32", "65536", "99999999999999999999", "-1", "0x0", " 0",
                           "net_null", "net_null0 "}) {
    auto missing = open(name);
    ASSERT_FALSE(missing.ok()) << name;
    EXPECT_EQ(missing.error().code, ENODEV) << name;
    EXPECT_EQ(missing.error().text, fmt::format("no such port {}; ports: net_null0, net_ring0", name));
  }
}

TEST_F(PortTest, APciAddressThatIsNotThere) {
  auto none = open("7f:1f.7");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ENODEV);
  EXPECT_THAT(none.error().text, HasSubstr("no such port 0000:7f:1f.7"));
}

TEST_F(PortTest, ByNumberAndByNameButOnce) {
  Device device("net_null0", "");
  {
    auto port = open("0");
    ASSERT_TRUE(port.ok()) << port.error().text;
    EXPECT_EQ((*port)->name(), "net_null0");
    EXPECT_EQ((*port)->driver(), "net_null");
    EXPECT_EQ((*port)->iface(), "");
    EXPECT_TRUE((*port)->admin_up());
    EXPECT_TRUE((*port)->link().up);
    auto again = open("net_null0");
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, EBUSY);
  }
  // Closing gave it back to ethdev.
  EXPECT_EQ(open("0").error().code, ENODEV);
}

TEST_F(PortTest, AFailedOpenLeavesThePortToTryAgain) {
  Device device("net_null0", "");
  EXPECT_EQ(open("net_null0", {.mtu = 20}).error().code, EINVAL);
  EXPECT_EQ(open("net_null0", {.workers = 0}).error().code, EINVAL);
  EXPECT_EQ(open("net_null0", {.rxd = 0}).error().code, EINVAL);
  EXPECT_EQ(Port::open("net_null0", {}, nullptr, {}).error().code, EINVAL);
  auto port = open("net_null0", {.mtu = 1400});
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->mtu(), 1400);
}

TEST_F(PortTest, QueuesPerWorkerAndRss) {
  Device device("net_null0", "");
  auto port = open("net_null0", {.workers = 3});
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->rx_queues(), 3);
  EXPECT_EQ((*port)->tx_queues(), 3);
  EXPECT_TRUE((*port)->own_control_queue());
  EXPECT_EQ((*port)->control_ring(), nullptr);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
  rte_eth_rss_conf rss{};
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get((*port)->id(), &rss), 0);
  EXPECT_NE(rss.rss_hf & RTE_ETH_RSS_IP, 0u);
}

TEST_F(PortTest, MoreQueuesThanTheDriverHas) {
  Device device("net_ring10", "");
  auto port = open("net_ring10", {.workers = 17});
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->rx_queues(), 16);
  EXPECT_EQ((*port)->tx_queues(), 16);
  EXPECT_FALSE((*port)->own_control_queue());
  EXPECT_TRUE(noticed("net_ring10: 16 receive queues where 17 were wanted"));
  EXPECT_TRUE(noticed("net_ring10: 16 transmit queues for 17 workers"));
  EXPECT_TRUE(noticed("no RSS"));
  EXPECT_TRUE(noticed("shares worker 0's"));
}

TEST_F(PortTest, GivenQueueNumbers) {
  Device device("net_null0", "");
  auto port = open("net_null0", {.workers = 2, .rxq = 4, .txq = 2});
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->rx_queues(), 4);
  EXPECT_EQ((*port)->tx_queues(), 2);
  EXPECT_FALSE((*port)->own_control_queue());
}

TEST_F(PortTest, RingGetsARandomAddressThatItsDriverCannotTake) {
  Device device("net_ring11", "");
  auto port = open("net_ring11");
  ASSERT_TRUE(port.ok()) << port.error().text;
  const Mac mac = (*port)->mac();
  EXPECT_EQ(mac[0] & 3, 2);  // local, one station
  EXPECT_EQ((*port)->permanent_mac(), mac);
  EXPECT_TRUE(noticed("random local one"));
  EXPECT_EQ(notices_.size(), 1u);

  const Status refused = (*port)->set_mac(kMac);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ENOTSUP);
  EXPECT_EQ(refused.error().text, "net_ring11: the driver net_ring cannot set the MAC address to 02:00:00:00:00:77");
  EXPECT_EQ((*port)->mac(), mac);
  EXPECT_TRUE((*port)->set_mac(mac).ok());  // it has that one
}

TEST_F(PortTest, RingControlQueueDelivers) {
  Device device("net_ring12", "");
  auto port = open("net_ring12", {.rxq = 2});
  ASSERT_TRUE(port.ok()) << port.error().text;
  ASSERT_TRUE((*port)->own_control_queue());
  EXPECT_EQ((*port)->tx_queues(), 1);
  // net_ring loops transmit queue 1, which is control's, to receive queue 1.
  for (const bool stopped : {false, true}) {
    EXPECT_TRUE((*port)->control_transmit(frame(60, 5), stopped));
    rte_mbuf* got[4];
    EXPECT_EQ(rte_eth_rx_burst((*port)->id(), 0, got, 4), 0);
    ASSERT_EQ(rte_eth_rx_burst((*port)->id(), 1, got, 4), 1);
    EXPECT_EQ(rte_pktmbuf_mtod_offset(got[0], uint8_t*, 59)[0], 5);
    rte_pktmbuf_free(got[0]);
  }
}

TEST_F(PortTest, AFullControlQueueDropsAndFrees) {
  Device device("net_ring13", "");
  auto port = open("net_ring13", {.rxq = 2});
  ASSERT_TRUE(port.ok()) << port.error().text;
  unsigned sent = 0;
  while (sent < 3000 && (*port)->control_transmit(frame(), false)) ++sent;
  EXPECT_LT(sent, 3000u);
  rte_mbuf* got[32];
  unsigned received = 0;
  while (const uint16_t n = rte_eth_rx_burst((*port)->id(), 1, got, 32)) {
    rte_pktmbuf_free_bulk(got, n);
    received += n;
  }
  EXPECT_EQ(received, sent);
}

TEST_F(PortTest, PcapControlRingDeliversInOrder) {
  TempDir dir;
  const std::string out = dir.file("out.pcap");
  write_empty_capture(dir.file("in.pcap"));
  {
    Device device("net_pcap0", fmt::format("rx_pcap={},tx_pcap={}", dir.file("in.pcap"), out));
    auto port = open("net_pcap0", {.workers = 2});
    ASSERT_TRUE(port.ok()) << port.error().text;
    EXPECT_FALSE((*port)->own_control_queue());
    EXPECT_EQ((*port)->rx_queues(), 1);
    EXPECT_EQ((*port)->tx_queues(), 1);
    EXPECT_TRUE(noticed("net_pcap0: 1 transmit queue for 2 workers"));
    EXPECT_TRUE(noticed("net_pcap0: 1 receive queue where 2 were wanted"));
    ASSERT_NE((*port)->control_ring(), nullptr);

    EXPECT_TRUE((*port)->control_transmit(frame(60, 1), false));
    void* waiting = nullptr;  // as worker 0 does
    ASSERT_EQ(rte_ring_sc_dequeue((*port)->control_ring(), &waiting), 0);
    auto* taken = static_cast<rte_mbuf*>(waiting);
    ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, &taken, 1), 1);

    // The worker stops with two in the ring: they go before the next one.
    EXPECT_TRUE((*port)->control_transmit(frame(60, 2), false));
    EXPECT_TRUE((*port)->control_transmit(frame(60, 3), false));
    EXPECT_TRUE((*port)->control_transmit(frame(60, 4), true));
    EXPECT_EQ(rte_ring_count((*port)->control_ring()), 0u);

    // A ring that nobody drains fills, then drops; what is left is freed with the port.
    unsigned taken_in = 0;
    while (taken_in < 1000 && (*port)->control_transmit(frame(), false)) ++taken_in;
    EXPECT_EQ(taken_in, rte_ring_get_capacity((*port)->control_ring()));
  }
  EXPECT_THAT(marks(out), ::testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(PortTest, PcapRefusals) {
  TempDir dir;
  write_empty_capture(dir.file("in.pcap"));
  Device device("net_pcap0", fmt::format("rx_pcap={},tx_pcap={}", dir.file("in.pcap"), dir.file("out.pcap")));
  auto port = open("net_pcap0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  Status status = (*port)->set_mac(kMac);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text, "net_pcap0: the driver net_pcap cannot set the MAC address to 02:00:00:00:00:77");
  status = (*port)->set_mtu(1400);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ENOTSUP);
  EXPECT_EQ(status.error().text, "net_pcap0: the driver net_pcap cannot set the MTU to 1400");
  EXPECT_EQ((*port)->mtu(), 1500);
  EXPECT_TRUE((*port)->set_mtu(1500).ok());
  // Neither zero nor a group is a station's address.
  EXPECT_EQ((*port)->set_mac({}).error().code, EINVAL);
  EXPECT_EQ((*port)->set_mac({1, 0x80, 0xc2, 0, 0, 2}).error().code, EINVAL);
}

TEST_F(PortTest, MemifRefusesAllmulticast) {
  TempDir dir;
  Device device("net_memif0", "role=server,socket-abstract=no,socket=" + dir.file("memif.sock"));
  auto port = open("net_memif0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_FALSE((*port)->link().up);  // no peer
  const Status status = (*port)->set_allmulticast(true);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ENOTSUP);
  EXPECT_EQ(status.error().text, "net_memif0: the driver net_memif cannot turn allmulticast on");
  EXPECT_FALSE((*port)->allmulticast());
}

TEST_F(PortTest, AdminStateTakesTheLinkWithIt) {
  Device device("net_ring14", "");
  auto port = open("net_ring14", {.rxq = 2});
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_TRUE((*port)->link().up);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE((*port)->set_admin(false).ok());
    ASSERT_TRUE((*port)->set_admin(false).ok());  // already
    EXPECT_FALSE((*port)->admin_up());
    EXPECT_EQ((*port)->link(), LinkState{});
    EXPECT_FALSE((*port)->control_transmit(frame(), false));
    EXPECT_FALSE((*port)->control_transmit(frame(), true));
    ASSERT_TRUE((*port)->set_admin(true).ok());
    EXPECT_TRUE((*port)->link().up);
  }
  // The driver's own carrier
  ASSERT_EQ(rte_eth_dev_set_link_down((*port)->id()), 0);
  EXPECT_FALSE((*port)->link().up);
  EXPECT_TRUE((*port)->admin_up());
}

TEST_F(PortTest, StoppingDropsControlFramesThatWait) {
  TempDir dir;
  write_empty_capture(dir.file("in.pcap"));
  Device device("net_pcap0", fmt::format("rx_pcap={},tx_pcap={}", dir.file("in.pcap"), dir.file("out.pcap")));
  auto port = open("net_pcap0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_TRUE((*port)->control_transmit(frame(), false));
  ASSERT_TRUE((*port)->set_admin(false).ok());
  EXPECT_EQ(rte_ring_count((*port)->control_ring()), 0u);
  ASSERT_TRUE((*port)->set_admin(true).ok());
  EXPECT_TRUE((*port)->link().up);
}

TEST_F(PortTest, MtuLimits) {
  Device device("net_null0", "");
  auto port = open("net_null0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->mtu(), 1500);
  EXPECT_TRUE((*port)->set_mtu(2026).ok());  // with header and two tags the mbuf's 2048 bytes
  EXPECT_EQ((*port)->mtu(), 2026);
  Status status = (*port)->set_mtu(2027);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text, "net_null0: MTU 2027 needs mbufs for 2049 bytes and the pool's hold 2048");
  status = (*port)->set_mtu(10);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().text, HasSubstr("MTU 10 is beyond what the driver takes"));
  EXPECT_EQ((*port)->set_mtu(UINT16_MAX).error().code, EINVAL);
  EXPECT_EQ((*port)->mtu(), 2026);
}

TEST_F(PortTest, NullTakesAnAddress) {
  Device device("net_null0", "");
  auto port = open("net_null0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  const Mac permanent = (*port)->permanent_mac();
  ASSERT_TRUE((*port)->set_mac(kMac).ok());
  EXPECT_EQ((*port)->mac(), kMac);
  EXPECT_EQ((*port)->permanent_mac(), permanent);
  rte_ether_addr seen{};
  ASSERT_EQ(rte_eth_macaddr_get((*port)->id(), &seen), 0);
  EXPECT_EQ(std::memcmp(seen.addr_bytes, kMac.data(), kMac.size()), 0);
}

TEST_F(PortTest, NullCannotLeavePromiscuousMode) {
  Device device("net_null0", "");
  auto port = open("net_null0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_TRUE((*port)->promiscuous());
  EXPECT_TRUE((*port)->set_promiscuous(true).ok());
  const Status refused = (*port)->set_promiscuous(false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ENOTSUP);
  EXPECT_EQ(refused.error().text, "net_null0: the driver net_null cannot turn promiscuous mode off");
  EXPECT_TRUE((*port)->promiscuous());
}

TEST_F(PortTest, RingTurnsItsFiltersOnAndOff) {
  Device device("net_ring4", "");
  auto port = open("net_ring4");
  ASSERT_TRUE(port.ok()) << port.error().text;
  for (const bool on : {true, false, true}) {
    EXPECT_TRUE((*port)->set_promiscuous(on).ok());
    EXPECT_EQ((*port)->promiscuous(), on);
    EXPECT_TRUE((*port)->set_allmulticast(on).ok());
    EXPECT_EQ((*port)->allmulticast(), on);
  }
}

TEST_F(PortTest, AfPacket) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  Device device("net_af_packet0", "iface=near0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->driver(), "net_af_packet");
  EXPECT_EQ((*port)->iface(), "near0");
  EXPECT_FALSE((*port)->own_control_queue());
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_THAT(notices_[0], HasSubstr("net_af_packet0: no transmit queue for control"));

  ASSERT_TRUE((*port)->set_mac(kMac).ok());
  EXPECT_TRUE(iface_shows("near0", "02:00:00:00:00:77"));
  ASSERT_TRUE((*port)->set_mtu(1400).ok());
  EXPECT_TRUE(iface_shows("near0", "mtu 1400 "));
  EXPECT_THAT((*port)->set_mtu(2000).error().text, HasSubstr("MTU 2000 is beyond what the driver takes"));
  EXPECT_EQ((*port)->mtu(), 1400);
  EXPECT_EQ((*port)->set_allmulticast(true).error().code, ENOTSUP);
  EXPECT_TRUE((*port)->set_promiscuous(true).ok());
  EXPECT_TRUE((*port)->promiscuous());
}

TEST_F(PortTest, AfPacketPairsGiveControlItsQueue) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  Device near("net_af_packet0", "iface=near0,qpairs=2"), far("net_af_packet1", "iface=far0");
  auto port = open("net_af_packet0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_TRUE((*port)->own_control_queue());
  EXPECT_EQ((*port)->tx_queues(), 1);
  auto peer = open("net_af_packet1");
  ASSERT_TRUE(peer.ok()) << peer.error().text;
  EXPECT_TRUE((*port)->control_transmit(frame(60, 9), false));
  // The host's own neighbour discovery may come in between.
  int arrived = 0;
  for (int tries = 0; tries < 100 && arrived == 0; ++tries) {
    rte_delay_ms(1);
    rte_mbuf* got[8];
    const uint16_t n = rte_eth_rx_burst((*peer)->id(), 0, got, 8);
    for (uint16_t i = 0; i < n; ++i) {
      arrived += rte_pktmbuf_pkt_len(got[i]) == 60 && rte_pktmbuf_mtod_offset(got[i], uint8_t*, 59)[0] == 9 ? 1 : 0;
    }
    rte_pktmbuf_free_bulk(got, n);
  }
  EXPECT_EQ(arrived, 1);
}

TEST_F(PortTest, Tap) {
  XBOND_NEEDS_NAMESPACE();
  Device device("net_tap0", "iface=xtap0");
  ASSERT_TRUE(device.ok());
  auto port = open("net_tap0");
  ASSERT_TRUE(port.ok()) << port.error().text;
  // Without a refused attempt: the driver wants as many receive as transmit queues.
  EXPECT_EQ((*port)->rx_queues(), 1);
  EXPECT_EQ((*port)->tx_queues(), 1);
  EXPECT_FALSE((*port)->own_control_queue());
  EXPECT_TRUE((*port)->link().up);
  // It is polled: no event tells.
  ASSERT_EQ(shell("ip link set xtap0 down"), 0);
  EXPECT_FALSE((*port)->link().up);
  ASSERT_EQ(shell("ip link set xtap0 up"), 0);
  EXPECT_TRUE((*port)->link().up);
  ASSERT_TRUE((*port)->set_admin(false).ok());
  EXPECT_FALSE(iface_shows("xtap0", ",UP"));
  ASSERT_TRUE((*port)->set_admin(true).ok());
  EXPECT_TRUE((*port)->link().up);
  ASSERT_TRUE((*port)->set_mac(kMac).ok());
  EXPECT_TRUE(iface_shows("xtap0", "02:00:00:00:00:77"));
}

TEST_F(PortTest, AfXdp) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  if (rte_vdev_init("net_af_xdp0", "iface=near0") != 0) GTEST_SKIP() << "no AF_XDP here";
  {
    auto port = open("net_af_xdp0");
    if (!port) {
      rte_vdev_uninit("net_af_xdp0");
      driver_keeps_mbufs("net_af_xdp never gives back what its fill ring holds");
      GTEST_SKIP() << "no AF_XDP socket here: " << port.error().text;
    }
    EXPECT_EQ((*port)->iface(), "near0");
    EXPECT_EQ((*port)->rx_queues(), 1);
    EXPECT_EQ((*port)->set_mac(kMac).error().code, ENOTSUP);
  }
  rte_vdev_uninit("net_af_xdp0");
  driver_keeps_mbufs("net_af_xdp never gives back what its fill ring holds");
}

TEST_F(PortTest, AFrameSizeBeyondTheMbufsIsNamed) {
  XBOND_NEEDS_NAMESPACE();
  Veth veth("near0", "far0");
  Device device("net_af_packet0", "iface=near0,framesz=4096,blocksz=8192");
  auto port = open("net_af_packet0");
  ASSERT_FALSE(port.ok());
  EXPECT_THAT(port.error().text, AllOf(HasSubstr("receive queue 0"), HasSubstr("mbufs for 2048 bytes")));
}

}  // namespace
}  // namespace xbond::port::test
