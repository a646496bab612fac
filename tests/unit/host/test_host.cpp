// The host thread: its frames, counters and limits.
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <rte_errno.h>
#include <rte_ring.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "tests/unit/host/support.hpp"

namespace xbond::host::test {
namespace {

using namespace std::chrono_literals;

class HostTest : public NetworkTest {
 protected:
  void give(rte_ring* ring, rte_mbuf* frame) {
    ASSERT_NE(frame, nullptr);
    ASSERT_EQ(rte_ring_enqueue(ring, frame), 0);
  }
};

TEST_F(HostTest, RefusesNonsense) {
  EXPECT_EQ(Host::create(nullptr, 1, {}).error().code, EINVAL);
  EXPECT_EQ(Host::create(pool_.get(), 0, {}).error().code, EINVAL);
  auto host = make_host();
  EXPECT_EQ(host->add("a/b", kMac, 1500).error().code, EINVAL);
  EXPECT_EQ(host->set_carrier(12345678, true).error().code, ENOENT);
  EXPECT_EQ(host->set_mac(0, kMac).error().code, ENOENT);
  EXPECT_EQ(host->set_mtu(0, 1500).error().code, ENOENT);
  EXPECT_TRUE(host->rings(0).empty());
  EXPECT_EQ(host->counters(0).to_kernel, 0U);
  host->remove(0);
}

TEST_F(HostTest, OneRingPairAWorker) {
  auto host = make_host(3);
  const auto first = host->add("pair0", kMac, 1500);
  const auto second = host->add("pair1", kMac, 1500);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_GT(*first, 0U);
  EXPECT_NE(*first, *second);
  const auto rings = host->rings(*first);
  ASSERT_EQ(rings.size(), 3U);
  std::map<rte_ring*, int> distinct;
  for (const auto& pair : rings) {
    ++distinct[pair.to_host];
    ++distinct[pair.from_host];
    EXPECT_EQ(rte_ring_get_size(pair.to_host), 1024U);
    EXPECT_EQ(rte_ring_get_prod_sync_type(pair.to_host), RTE_RING_SYNC_ST);
    EXPECT_EQ(rte_ring_get_cons_sync_type(pair.from_host), RTE_RING_SYNC_ST);
  }
  EXPECT_EQ(distinct.size(), 6U);
  EXPECT_EQ(distinct.count(nullptr), 0U);
}

TEST_F(HostTest, DuplicateNameLeavesTheFirstAlone) {
  auto host = make_host();
  const auto handle = add_up(*host, "dup0");
  EXPECT_EQ(host->add("dup0", kOtherMac, 1400).error().code, EBUSY);
  EXPECT_EQ(host->add("lo", kMac, 1500).error().code, EEXIST);
  PacketSocket socket("dup0");
  give(host->rings(handle)[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
  EXPECT_TRUE(socket.receive());
}

TEST_F(HostTest, FramesReachTheKernelUnchanged) {
  auto host = make_host(2);
  const auto handle = add_up(*host, "out0");
  const auto rings = host->rings(handle);
  PacketSocket socket("out0");
  ASSERT_TRUE(socket.ok());
  uint64_t sent = 0;
  for (const size_t size : {14, 60, 64, 1000, 1514}) {
    const auto frame = test_frame(size, static_cast<uint8_t>(size));
    give(rings[sent % 2].to_host, to_mbuf(pool_.get(), frame));
    EXPECT_EQ(socket.receive(), frame) << size;
    ++sent;
  }
  EXPECT_TRUE(eventually([&] { return host->counters(handle).to_kernel == sent; }));
  EXPECT_EQ(host->counters(handle).to_kernel_dropped, 0U);
}

TEST_F(HostTest, FramesComeFromTheKernelUnchanged) {
  auto host = make_host();
  const auto handle = add_up(*host, "in0");
  const auto rings = host->rings(handle);
  const PacketSocket socket("in0");
  uint64_t got = 0;
  for (const size_t size : {14, 60, 64, 1000, 1514}) {
    const auto frame = test_frame(size, static_cast<uint8_t>(size));
    ASSERT_TRUE(socket.send(frame));
    rte_mbuf* mbuf = wait_frame(rings[0].from_host);
    ASSERT_NE(mbuf, nullptr);
    EXPECT_EQ(to_bytes(mbuf), frame);
    EXPECT_EQ(mbuf->pkt_len, size);
    EXPECT_EQ(mbuf->nb_segs, 1);
    EXPECT_GE(rte_pktmbuf_headroom(mbuf), RTE_PKTMBUF_HEADROOM);
    rte_pktmbuf_free(mbuf);
    ++got;
  }
  EXPECT_EQ(host->counters(handle).from_kernel, got);
  EXPECT_EQ(host->counters(handle).from_kernel_dropped, 0U);
}

TEST_F(HostTest, JumboFramesInManySegments) {
  auto host = make_host();
  const auto handle = add_up(*host, "jumbo0", 65521);
  const auto rings = host->rings(handle);
  PacketSocket socket("jumbo0");
  for (const size_t size : {2048, 2049, 4096, 9014, 65535}) {
    const auto frame = test_frame(size);
    give(rings[0].to_host, to_mbuf(pool_.get(), frame));
    EXPECT_EQ(socket.receive(), frame) << size;

    ASSERT_TRUE(socket.send(frame)) << size;
    rte_mbuf* mbuf = wait_frame(rings[0].from_host);
    ASSERT_NE(mbuf, nullptr);
    EXPECT_EQ(to_bytes(mbuf), frame) << size;
    EXPECT_EQ(mbuf->pkt_len, size);
    EXPECT_EQ(mbuf->nb_segs, (size + 2047) / 2048);
    EXPECT_EQ(rte_mbuf_check(mbuf, 1, nullptr), 0);
    rte_pktmbuf_free(mbuf);
  }
}

TEST_F(HostTest, SmallSegmentsAndTooMany) {
  auto host = make_host();
  const auto handle = add_up(*host, "segs0");
  const auto rings = host->rings(handle);
  PacketSocket socket("segs0");
  const auto frame = test_frame(1280);
  give(rings[0].to_host, to_mbuf(pool_.get(), frame, 20));  // 64 segments, the most that are taken
  EXPECT_EQ(socket.receive(), frame);
  give(rings[0].to_host, to_mbuf(pool_.get(), frame, 19));
  EXPECT_TRUE(eventually([&] { return host->counters(handle).to_kernel_dropped == 1; }));
}

TEST_F(HostTest, VlanTagOnTheWireAndStripped) {
  auto host = make_host();
  const auto handle = add_up(*host, "vlan0");
  const auto rings = host->rings(handle);
  // All types: other sockets get the frame when the kernel has forgotten the tag
  PacketSocket socket("vlan0", ETH_P_ALL);

  const auto frame = test_frame(100);
  for (const uint16_t room : {2048, 30}) {
    rte_mbuf* mbuf = to_mbuf(pool_.get(), frame, room);
    mbuf->vlan_tci = 0x6005;
    mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    give(rings[0].to_host, mbuf);
    EXPECT_EQ(socket.receive(), frame);
    EXPECT_EQ(socket.vlan, 0x6005);
  }
  // One too short to hold a tag is dropped
  rte_mbuf* runt = to_mbuf(pool_.get(), test_frame(14));
  rte_pktmbuf_trim(runt, 4);
  runt->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
  give(rings[0].to_host, runt);
  EXPECT_TRUE(eventually([&] { return host->counters(handle).to_kernel_dropped == 1; }));

  // Full MTU and a tag
  auto tagged = test_frame(1514);
  const Bytes tag{0x81, 0x00, 0x00, 0x07};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  ASSERT_TRUE(socket.send(tagged));
  rte_mbuf* mbuf = wait_frame(rings[0].from_host);
  ASSERT_NE(mbuf, nullptr);
  EXPECT_EQ(to_bytes(mbuf), tagged);
  rte_pktmbuf_free(mbuf);
}

TEST_F(HostTest, MalformedFramesAreCountedAndDropped) {
  auto host = make_host();
  const auto handle = add_up(*host, "bad0");
  const auto rings = host->rings(handle);
  rte_mbuf* empty = rte_pktmbuf_alloc(pool_.get());
  give(rings[0].to_host, empty);
  rte_mbuf* runt = to_mbuf(pool_.get(), test_frame(14));
  rte_pktmbuf_trim(runt, 1);
  give(rings[0].to_host, runt);
  give(rings[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
  EXPECT_TRUE(eventually([&] { return host->counters(handle).to_kernel == 1; }));
  EXPECT_EQ(host->counters(handle).to_kernel_dropped, 2U);
}

TEST_F(HostTest, FullRingIsCounted) {
  auto host = make_host();
  const auto handle = add_up(*host, "full0");
  const PacketSocket socket("full0");
  constexpr uint64_t kFrames = 1200, kUsable = 1023;
  for (uint64_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(socket.send(test_frame(60)));
    // No faster than the host thread, or the tap's own queue overflows
    if (i % 200 != 199) continue;
    ASSERT_TRUE(eventually([&] {
      const auto now = host->counters(handle);
      return now.from_kernel + now.from_kernel_dropped == i + 1;
    }));
  }
  EXPECT_EQ(host->counters(handle).from_kernel, kUsable);
  EXPECT_EQ(host->counters(handle).from_kernel_dropped, kFrames - kUsable);
  EXPECT_EQ(rte_ring_count(host->rings(handle)[0].from_host), kUsable);
  // remove() has to free those 1023: TearDown() counts
  host->remove(handle);
  host.reset();
}

TEST_F(HostTest, EmptyPoolIsCounted) {
  auto host = make_host();
  const auto handle = add_up(*host, "empty0", 9000);
  const PacketSocket socket("empty0");
  ASSERT_TRUE(eventually([&] { return rte_mempool_avail_count(pool_.get()) == kMbufs; })) << "stock not given back";
  std::vector<rte_mbuf*> taken(kMbufs);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_.get(), taken.data(), kMbufs), 0);
  ASSERT_TRUE(socket.send(test_frame(60)));
  ASSERT_TRUE(socket.send(test_frame(9014)));
  EXPECT_TRUE(eventually([&] { return host->counters(handle).from_kernel_dropped == 2; }));
  EXPECT_EQ(host->counters(handle).from_kernel, 0U);
  // Enough for what an MTU of 9000 needs, but not for a stock
  rte_pktmbuf_free_bulk(taken.data(), 5);
  ASSERT_TRUE(socket.send(test_frame(9014)));
  rte_mbuf* mbuf = wait_frame(host->rings(handle)[0].from_host);
  ASSERT_NE(mbuf, nullptr);
  EXPECT_EQ(to_bytes(mbuf), test_frame(9014));
  rte_pktmbuf_free(mbuf);
  rte_pktmbuf_free_bulk(taken.data() + 5, kMbufs - 5);
}

TEST_F(HostTest, DownTapDropsAndCounts) {
  auto host = make_host();
  const auto handle = host->add("down0", kMac, 1500);
  ASSERT_TRUE(handle);
  const auto rings = host->rings(*handle);
  for (int i = 0; i < 100; ++i) give(rings[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
  EXPECT_TRUE(eventually([&] { return host->counters(*handle).to_kernel_dropped == 100; }));
  EXPECT_EQ(host->counters(*handle).to_kernel, 0U);
  ASSERT_TRUE(ip("link set down0 up"));
  give(rings[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
  EXPECT_TRUE(eventually([&] { return host->counters(*handle).to_kernel == 1; }));
}

TEST_F(HostTest, DeletedTapDropsAndCounts) {
  std::atomic<int> gone{0};
  auto host = make_host(1, [&](const TapChange& change) { gone += change.up ? 0 : 1; });
  const auto handle = add_up(*host, "gone0");
  const auto rings = host->rings(handle);
  ASSERT_TRUE(ip("link del gone0"));
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
  give(rings[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
  EXPECT_TRUE(eventually([&] { return host->counters(handle).to_kernel_dropped == 1; }));
  EXPECT_EQ(host->set_carrier(handle, false).error().code, EBADFD);
  // Its name is free again, and the next one works
  const auto next = add_up(*host, "gone0");
  PacketSocket socket("gone0");
  give(host->rings(next)[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
  EXPECT_TRUE(socket.receive());
  host->remove(handle);
  EXPECT_EQ(gone, 1);
}

TEST_F(HostTest, AFlowKeepsItsWorkerAndItsOrder) {
  constexpr uint16_t kWorkers = 4;
  constexpr uint8_t kFlows = 64, kEach = 8;
  auto host = make_host(kWorkers);
  const auto handle = add_up(*host, "flow0");
  const PacketSocket socket("flow0");
  auto frame = test_frame(60);
  std::fill(frame.begin() + 12, frame.end(), uint8_t{0});
  frame[12] = 0x08;
  frame[14] = 0x45;
  frame[23] = 17;
  for (uint8_t sequence = 0; sequence < kEach; ++sequence) {
    for (uint8_t flow = 0; flow < kFlows; ++flow) {
      frame[35] = flow;
      frame[50] = sequence;
      ASSERT_TRUE(socket.send(frame));
    }
    ASSERT_TRUE(eventually([&] { return host->counters(handle).from_kernel == (sequence + 1U) * kFlows; }));
  }
  std::map<uint8_t, std::vector<uint8_t>> seen;  // flow: sequence numbers
  size_t used = 0;
  for (const auto& pair : host->rings(handle)) {
    std::map<uint8_t, std::vector<uint8_t>> here;
    for (void* item = nullptr; rte_ring_dequeue(pair.from_host, &item) == 0;) {
      const auto bytes = to_bytes(static_cast<rte_mbuf*>(item));
      rte_pktmbuf_free(static_cast<rte_mbuf*>(item));
      here[bytes[35]].push_back(bytes[50]);
    }
    used += here.empty() ? 0 : 1;
    for (const auto& [flow, order] : here) EXPECT_TRUE(seen.emplace(flow, order).second) << "flow on two workers";
  }
  EXPECT_EQ(used, kWorkers);
  EXPECT_EQ(seen.size(), kFlows);
  const std::vector<uint8_t> in_order{0, 1, 2, 3, 4, 5, 6, 7};
  for (const auto& [flow, order] : seen) EXPECT_EQ(order, in_order);
}

// A worker that floods one tap must not keep the others, nor control, waiting.
TEST_F(HostTest, AFloodedTapDoesNotStarveOthers) {
  auto host = make_host();
  const auto flooded = add_up(*host, "flood0");
  const auto quiet = add_up(*host, "quiet0");
  std::atomic<bool> stop{false};
  std::thread flood([&, ring = host->rings(flooded)[0].to_host] {
    while (!stop) {
      rte_mbuf* frame = rte_ring_full(ring) != 0 ? nullptr : to_mbuf(pool_.get(), test_frame(60));
      if (frame == nullptr)
        std::this_thread::yield();
      else if (rte_ring_enqueue(ring, frame) != 0)
        rte_pktmbuf_free(frame);
    }
  });
  PacketSocket socket("quiet0");
  EXPECT_TRUE(eventually([&] { return host->counters(flooded).to_kernel > 1000; }));
  for (int i = 0; i < 20; ++i) {
    give(host->rings(quiet)[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
    EXPECT_TRUE(socket.receive(1000ms));
  }
  EXPECT_TRUE(host->set_mtu(quiet, 1400));
  const auto third = host->add("third0", kMac, 1500);
  EXPECT_TRUE(third);
  host->remove(*third);
  stop = true;
  flood.join();
}

TEST_F(HostTest, ChecksumsAreComputedBeforeWeReadTheFrame) {
  auto host = make_host();
  const auto handle = add_up(*host, "sum0");
  ASSERT_TRUE(ip("addr add 10.3.0.1/24 dev sum0"));
  ASSERT_TRUE(ip("neigh add 10.3.0.2 lladdr 02:00:00:00:00:99 dev sum0"));
  ASSERT_EQ(std::system("bash -c 'echo hello > /dev/udp/10.3.0.2/9'"), 0);
  rte_mbuf* mbuf = wait_frame(host->rings(handle)[0].from_host);
  while (mbuf != nullptr && to_bytes(mbuf)[23] != 17) {
    rte_pktmbuf_free(mbuf);
    mbuf = wait_frame(host->rings(handle)[0].from_host);
  }
  ASSERT_NE(mbuf, nullptr);
  const auto bytes = to_bytes(mbuf);
  rte_pktmbuf_free(mbuf);
  // Pseudo header, UDP header and data sum up to all ones
  uint32_t sum = 17 + static_cast<uint32_t>(bytes.size() - 34);
  for (size_t i = 26; i < bytes.size(); i += 2)
    sum += static_cast<uint32_t>(bytes[i] << 8) | (i + 1 < bytes.size() ? bytes[i + 1] : 0U);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  EXPECT_EQ(sum, 0xffffU);
}

TEST_F(HostTest, AddAndRemoveLeakNothing) {
  auto host = make_host(2);
  // The first one makes what stays: EAL's tables, the thread's vectors
  host->remove(*host->add("cycle0", kMac, 1500));
  const auto descriptors = open_descriptors();
  const auto zones = memzones();
  for (int i = 0; i < 1000; ++i) {
    const auto handle = host->add("cycle0", kMac, 1500);
    ASSERT_TRUE(handle) << i << ": " << handle.error().text;
    const auto rings = host->rings(*handle);
    // In every state a ring can be in: frames towards the kernel, and frames that no worker took
    give(rings[0].to_host, to_mbuf(pool_.get(), test_frame(60)));
    give(rings[1].from_host, to_mbuf(pool_.get(), test_frame(60)));
    host->remove(*handle);
    ASSERT_FALSE(exists("cycle0"));
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(memzones(), zones);
}

TEST_F(HostTest, DestructorCleansUp) {
  const auto descriptors = open_descriptors();
  const auto zones = memzones();
  {
    auto host = make_host(2);
    for (const auto* name : {"end0", "end1"}) {
      const auto handle = add_up(*host, name);
      const PacketSocket socket(name);
      for (int i = 0; i < 50; ++i) ASSERT_TRUE(socket.send(test_frame(60)));
      give(host->rings(handle)[1].to_host, to_mbuf(pool_.get(), test_frame(60)));
    }
  }
  EXPECT_FALSE(exists("end0"));
  EXPECT_FALSE(exists("end1"));
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(memzones(), zones);
}

// Of a processor: far more than an idle thread takes, also with sanitizers, and far less than one that spins.
constexpr double kIdle = 0.15;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& value) {
    return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_F(HostTest, IdlesCheaply) {
  auto host = make_host(4);
  for (const auto* name : {"idle0", "idle1", "idle2"}) add_up(*host, name);
  std::this_thread::sleep_for(300ms);  // until the last frame's echo has died away
  const double before = cpu_seconds();
  std::this_thread::sleep_for(2s);
  const double share = (cpu_seconds() - before) / 2;
  std::printf("idle: %.2f %% of a CPU\n", share * 100);
  EXPECT_LT(share, kIdle);
}

// A deleted tap's descriptor is readable for ever.
TEST_F(HostTest, IdlesCheaplyWithADeletedTap) {
  auto host = make_host();
  add_up(*host, "husk0");
  ASSERT_TRUE(ip("link del husk0"));
  std::this_thread::sleep_for(300ms);
  const double before = cpu_seconds();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT((cpu_seconds() - before) / 0.5, kIdle);
}

}  // namespace
}  // namespace xbond::host::test
