// LACP and marker PDUs leave the packet path for the protocol thread, each once, and nothing else does.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "lib/xdp/punt.hpp"
#include "lib/xdp/receive.hpp"
#include "tests/unit/dataplane/eal.hpp"

namespace xbond::xdp {
namespace {

using test::pool;

class Says : public test::FakeProgram {
 public:
  explicit Says(uint32_t verdict) : verdict_(verdict) {}
  void run_burst(std::span<bpf::XdpFrame> frames, uint32_t* verdicts, uint32_t) const noexcept override {
    for (size_t i = 0; i < frames.size(); ++i) verdicts[i] = verdict_;
    seen += frames.size();
  }
  mutable size_t seen = 0;

 private:
  uint32_t verdict_;
};

// `subtype`, after the header of a slow protocol's frame; what differs from it is for the caller to change.
rte_mbuf* slow(uint8_t subtype, uint16_t length = 124) {
  rte_mbuf* m = rte_pktmbuf_alloc(pool());
  m->data_len = length;
  m->pkt_len = length;
  auto* bytes = rte_pktmbuf_mtod(m, uint8_t*);
  std::memset(bytes, 0, 124);
  constexpr uint8_t kStart[] = {0x01, 0x80, 0xc2, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x88, 0x09};
  std::memcpy(bytes, kStart, sizeof kStart);
  bytes[14] = subtype;
  return m;
}
rte_mbuf* changed(rte_mbuf* m, size_t at, uint8_t value) {
  rte_pktmbuf_mtod(m, uint8_t*)[at] = value;
  return m;
}

struct SlowProtocol : testing::Test {
  std::unique_ptr<WorkerContext> worker;
  std::unique_ptr<test::RingPort> port;
  std::unique_ptr<PuntRing> punts;
  Says drop{XDP_DROP}, pass{XDP_PASS};
  PortView view;
  unsigned at_start = 0;

  void SetUp() override {
    test::start_eal("xb-ut-receive");
    at_start = rte_mempool_avail_count(pool());
    static unsigned number = 100;
    port = std::make_unique<test::RingPort>("slow" + std::to_string(number));
    auto ring = PuntRing::create(number++, SOCKET_ID_ANY);
    ASSERT_TRUE(ring);
    punts = std::make_unique<PuntRing>(std::move(ring.value()));
    worker = std::make_unique<WorkerContext>();
    worker->punt = punts->worker_end();
    view.port = port->id;
    view.slow = SlowProtocols::before_program;
  }
  void TearDown() override {
    punts.reset();
    port.reset();
    EXPECT_EQ(rte_mempool_avail_count(pool()), at_start) << "a frame leaked";
  }
  void receive(std::vector<rte_mbuf*> pkts) {
    receive_burst(*worker, view, 0, pkts.data(), static_cast<uint16_t>(pkts.size()));
  }
  // Subtypes of what arrived, in order.
  std::vector<int> punted() const {
    std::vector<int> subtypes;
    punts->drain([&](rte_mbuf* m, PuntKind kind, uint16_t from) {
      EXPECT_EQ(kind, PuntKind::slow_protocol);
      EXPECT_EQ(from, view.port);
      subtypes.push_back(rte_pktmbuf_mtod(m, const uint8_t*)[14]);
      rte_pktmbuf_free(m);
    });
    return subtypes;
  }
  [[nodiscard]] uint64_t drops(Drop reason) const {
    return worker->counters[view.port].drops[static_cast<size_t>(reason)];
  }
};

TEST_F(SlowProtocol, GoesBeforeAProgramThatDropsEverything) {
  view.program = &drop;
  receive({slow(9), slow(1), slow(10), slow(2)});
  EXPECT_EQ(punted(), (std::vector<int>{1, 2}));
  EXPECT_EQ(drop.seen, 2U) << "other slow protocols are data";
  EXPECT_EQ(worker->counters[view.port].slow_protocols, 2U);
  EXPECT_EQ(worker->counters[view.port].rx, 4U);
}

TEST_F(SlowProtocol, ABurstOfNothingElseLeavesNothingForTheProgram) {
  view.program = &drop;
  receive({slow(1)});
  EXPECT_EQ(punted(), (std::vector<int>{1}));
  EXPECT_EQ(drop.seen, 0U);
}

TEST_F(SlowProtocol, IsTakenWithoutAProgramToo) {
  view.inactive = true;
  receive({slow(1), slow(3)});
  EXPECT_EQ(punted(), (std::vector<int>{1}));
  EXPECT_EQ(drops(Drop::inactive_member), 1U);
}

TEST_F(SlowProtocol, InTheKernelsOrderTheProgramDecidesFirst) {
  view.slow = SlowProtocols::after_program;
  view.program = &drop;
  receive({slow(1)});
  EXPECT_TRUE(punted().empty());
  EXPECT_EQ(drops(Drop::xdp_drop), 1U);
  view.program = &pass;
  receive({slow(1)});
  EXPECT_EQ(punted(), (std::vector<int>{1}));
}

TEST_F(SlowProtocol, OtherModesTreatItAsData) {
  view.slow = SlowProtocols::are_data;
  view.program = &drop;
  receive({slow(1), slow(2)});
  EXPECT_TRUE(punted().empty());
  EXPECT_EQ(drop.seen, 2U);
}

TEST_F(SlowProtocol, IsUntaggedToTheGroupAndLongEnough) {
  view.program = &drop;
  receive({changed(slow(1), 5, 0x03), changed(slow(1), 0, 0x03), changed(slow(1), 13, 0x0a), slow(1, 14), slow(1, 3),
           slow(0), slow(1, 15)});
  EXPECT_EQ(punted(), (std::vector<int>{1})) << "of 15 bytes: LACP counts it as too short";
  EXPECT_EQ(drop.seen, 6U);
}

TEST_F(SlowProtocol, AFullRingIsACountedDrop) {
  constexpr unsigned kRounds = PuntRing::kFrames / 32 + 2;
  unsigned sent = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    std::vector<rte_mbuf*> burst;
    for (unsigned i = 0; i < 32; ++i, ++sent) burst.push_back(slow(1));
    receive(burst);
  }
  const size_t arrived = punted().size();
  EXPECT_GE(arrived, PuntRing::kFrames - 1);
  EXPECT_EQ(arrived + drops(Drop::punt_full), sent);
  EXPECT_GT(drops(Drop::punt_full), 0U);
}

TEST_F(SlowProtocol, WithoutARingItIsACountedDrop) {
  worker->punt = nullptr;
  receive({slow(1)});
  EXPECT_EQ(drops(Drop::punt_full), 1U);
}

}  // namespace
}  // namespace xbond::xdp
