// A burst through a program: where each verdict's frames end, and that each one is counted.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "lib/xdp/punt.hpp"
#include "lib/xdp/receive.hpp"
#include "tests/unit/dataplane/eal.hpp"

namespace xbond::xdp {
namespace {

using test::frame;
using test::mark;
using test::pool;

// Returns for each frame the verdict that stands in its marking.
class FromFrame : public test::FakeProgram {
 public:
  void run_burst(std::span<bpf::XdpFrame> frames, uint32_t* verdicts, uint32_t cpu) const noexcept override {
    for (size_t i = 0; i < frames.size(); ++i) {
      std::memcpy(&verdicts[i], frames[i].data + 14, 4);
      frames[i].data += cut_front;
      frames[i].data_end -= cut_back;
      last = frames[i];
      last_cpu = cpu;
    }
  }
  uint32_t cut_front = 0, cut_back = 0;
  mutable bpf::XdpFrame last{};
  mutable uint32_t last_cpu = 0;
};

struct Receive : testing::Test {
  std::unique_ptr<WorkerContext> worker;
  std::unique_ptr<test::RingPort> a, b;
  rte_ring* host = nullptr;
  std::vector<rte_ring*> host_rings;
  FromFrame program;
  PortView view;
  unsigned at_start = 0;

  void SetUp() override {
    test::start_eal("xb-ut-receive");
    at_start = rte_mempool_avail_count(pool());
    static int number = 0;
    const std::string tag = std::to_string(number++);
    a = std::make_unique<test::RingPort>("rxa" + tag);
    b = std::make_unique<test::RingPort>("rxb" + tag);
    host = rte_ring_create(("host" + tag).c_str(), 16, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    host_rings = {host};
    worker = std::make_unique<WorkerContext>();
    for (const uint16_t id : {a->id, b->id}) {
      worker->tx[id].port = id;
    }
    view.port = a->id;
    view.ifindex = 7;
    view.program = &program;
    view.to_host = host_rings;
  }
  void TearDown() override {
    void* m = nullptr;
    while (rte_ring_dequeue(host, &m) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
    }
    rte_ring_free(host);
    a.reset();
    b.reset();
    EXPECT_EQ(rte_mempool_avail_count(pool()), at_start) << "a frame leaked";
  }
  void receive(std::vector<rte_mbuf*> pkts) {
    receive_burst(*worker, view, 3, pkts.data(), static_cast<uint16_t>(pkts.size()));
  }
  void flush() const {
    for (const uint16_t id : {a->id, b->id}) {
      port::flush(worker->tx[id]);
    }
  }
  [[nodiscard]] const PortCounters& counters() const { return worker->counters[a->id]; }
  [[nodiscard]] uint64_t drops(Drop reason) const { return counters().drops[static_cast<size_t>(reason)]; }
  bond::TxTable xor_over_b() const {
    bond::TxTable table;
    table.mode = bond::Mode::active_backup;
    table.usable = 1;
    table.port[0] = b->id;
    table.active = b->id;
    table.seal();
    return table;
  }
};

TEST_F(Receive, EachVerdictEndsWhereItShould) {
  receive({frame(XDP_DROP), frame(XDP_TX), frame(XDP_PASS), frame(XDP_ABORTED), frame(XDP_REDIRECT), frame(42),
           frame(XDP_TX)});
  flush();
  auto sent = a->take();
  ASSERT_EQ(sent.size(), 2U);
  for (rte_mbuf* m : sent) {
    rte_pktmbuf_free(m);
  }
  EXPECT_EQ(rte_ring_count(host), 1U);
  EXPECT_EQ(counters().rx, 7U);
  EXPECT_EQ(counters().runs, 7U);
  EXPECT_EQ(drops(Drop::xdp_drop), 1U);
  EXPECT_EQ(drops(Drop::xdp_aborted), 1U);
  EXPECT_EQ(drops(Drop::xdp_redirect_einval), 1U);
  EXPECT_EQ(drops(Drop::xdp_unknown), 1U);
  EXPECT_EQ(counters().verdicts[XDP_ABORTED], 2U) << "an unknown value counts as aborted";
  EXPECT_EQ(counters().verdicts[XDP_TX], 2U);
}

TEST_F(Receive, ProgramSeesThePortAndTheRoom) {
  receive({frame(XDP_DROP, 100)});
  EXPECT_EQ(program.last.ingress_ifindex, 7U);
  EXPECT_EQ(program.last.rx_queue_index, 3U);
  EXPECT_EQ(program.last.data_end - program.last.data, 100);
  EXPECT_EQ(program.last.data_meta, program.last.data);
  EXPECT_EQ(program.last.data - program.last.hard_start, RTE_PKTMBUF_HEADROOM);
  EXPECT_GE(program.last.hard_end, program.last.data_end);
  EXPECT_EQ(program.last_cpu, 0U);
}

TEST_F(Receive, TheFrameLeavesAsTheProgramLeftIt) {
  program.cut_front = 4;
  program.cut_back = 6;
  receive({frame(XDP_TX, 100)});
  flush();
  auto sent = a->take();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(rte_pktmbuf_pkt_len(sent[0]), 90U);
  EXPECT_EQ(rte_pktmbuf_data_len(sent[0]), 90U);
  EXPECT_EQ(*rte_pktmbuf_mtod_offset(sent[0], uint8_t*, 8), 0x88) << "byte 12 of the frame that came in";
  rte_pktmbuf_free(sent[0]);
}

TEST_F(Receive, TxOnABondLeavesByTheMemberThatTheModePicks) {
  const bond::TxTable table = xor_over_b();
  view.bond = &table;
  receive({frame(XDP_TX)});
  flush();
  EXPECT_TRUE(a->take().empty());
  auto sent = b->take();
  ASSERT_EQ(sent.size(), 1U);
  rte_pktmbuf_free(sent[0]);
}

TEST_F(Receive, TxOnABondThatIsDownIsAborted) {
  const bond::TxTable table = xor_over_b();
  view.bond = &table;
  view.bond_up = false;
  receive({frame(XDP_TX)});
  flush();
  EXPECT_TRUE(a->take().empty());
  EXPECT_TRUE(b->take().empty());
  EXPECT_EQ(drops(Drop::xdp_bond_down), 1U);
}

TEST_F(Receive, TxOnABondWithoutUsableMemberIsAPlainTx) {
  bond::TxTable table;
  table.seal();
  view.bond = &table;
  receive({frame(XDP_TX)});
  flush();
  auto sent = a->take();
  ASSERT_EQ(sent.size(), 1U) << "back by the member it came in by";
  rte_pktmbuf_free(sent[0]);
}

TEST_F(Receive, PassOnAnInactiveMemberIsDroppedAfterTheProgram) {
  view.inactive = true;
  receive({frame(XDP_PASS), frame(XDP_TX)});
  flush();
  EXPECT_EQ(rte_ring_count(host), 0U);
  EXPECT_EQ(drops(Drop::inactive_member), 1U);
  EXPECT_EQ(counters().verdicts[XDP_PASS], 1U);
  auto sent = a->take();
  ASSERT_EQ(sent.size(), 1U) << "TX is not the receive rules' business";
  rte_pktmbuf_free(sent[0]);
}

TEST_F(Receive, PassWithoutTapAndWithAFullRingAndWithTheBondDown) {
  view.to_host = {};
  receive({frame(XDP_PASS)});
  EXPECT_EQ(drops(Drop::no_host), 1U);
  view.to_host = host_rings;
  view.host_up = false;
  receive({frame(XDP_PASS)});
  EXPECT_EQ(drops(Drop::bond_down), 1U);
  view.host_up = true;
  std::vector<rte_mbuf*> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(frame(XDP_PASS));
  }
  receive(many);
  EXPECT_EQ(rte_ring_count(host), 15U);
  EXPECT_EQ(drops(Drop::host_ring_full), 5U);
}

TEST_F(Receive, WithoutProgramEverythingPasses) {
  view.program = nullptr;
  receive({frame(XDP_DROP), frame(42)});
  EXPECT_EQ(rte_ring_count(host), 2U);
  EXPECT_EQ(counters().runs, 0U);
  EXPECT_EQ(counters().rx, 2U);
}

TEST_F(Receive, SegmentsAreJoinedForTheProgramOrDroppedAndCounted) {
  rte_mbuf* head = frame(XDP_TX, 100);
  rte_mbuf* tail = frame(0, 200);
  ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
  rte_mbuf* big = frame(XDP_TX, 1500);
  rte_mbuf* more = frame(0, 1500);  // together they do not fit one buffer
  ASSERT_EQ(rte_pktmbuf_chain(big, more), 0);
  receive({head, frame(XDP_TX, 60), big});
  flush();
  auto sent = a->take();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0]->nb_segs, 1);
  EXPECT_EQ(rte_pktmbuf_pkt_len(sent[0]), 300U);
  EXPECT_EQ(rte_pktmbuf_pkt_len(sent[1]), 60U);
  for (rte_mbuf* m : sent) {
    rte_pktmbuf_free(m);
  }
  EXPECT_EQ(drops(Drop::xdp_not_linear), 1U);
  EXPECT_EQ(counters().runs, 2U);
}

TEST_F(Receive, AFlowKeepsItsOrderThroughAFullBurst) {
  std::vector<rte_mbuf*> many;
  for (uint32_t i = 0; i < port::kMaxBurst; ++i) {
    rte_mbuf* m = frame(XDP_TX, 64);
    std::memcpy(rte_pktmbuf_mtod_offset(m, uint8_t*, 20), &i, sizeof i);
    many.push_back(m);
  }
  receive(many);
  flush();
  auto sent = a->take();
  ASSERT_EQ(sent.size(), port::kMaxBurst);
  for (uint32_t i = 0; i < sent.size(); ++i) {
    uint32_t number = 0;
    std::memcpy(&number, rte_pktmbuf_mtod_offset(sent[i], uint8_t*, 20), sizeof number);
    EXPECT_EQ(number, i);
    rte_pktmbuf_free(sent[i]);
  }
}

// --- a bond's receive rules on PASS

rte_mbuf* of_type(uint16_t ethertype, uint16_t size = 60) {
  rte_mbuf* m = frame(XDP_PASS, size);
  auto* bytes = rte_pktmbuf_mtod(m, uint8_t*);
  bytes[12] = static_cast<uint8_t>(ethertype >> 8);
  bytes[13] = static_cast<uint8_t>(ethertype);
  return m;
}

TEST_F(Receive, ProbesAreCopiedAlsoFromInactiveMembers) {
  auto ring = PuntRing::create(900, SOCKET_ID_ANY);
  ASSERT_TRUE(ring) << ring.error().text;
  worker->punt = ring->worker_end();
  view.program = nullptr;
  view.inactive = true;
  rte_mbuf* solicitation = of_type(0x86dd, 90);
  rte_pktmbuf_mtod(solicitation, uint8_t*)[14 + 6] = 58;
  rte_pktmbuf_mtod(solicitation, uint8_t*)[54] = 135;
  rte_mbuf* echo = of_type(0x86dd, 90);
  rte_pktmbuf_mtod(echo, uint8_t*)[14 + 6] = 58;
  rte_pktmbuf_mtod(echo, uint8_t*)[54] = 128;
  rte_mbuf* tagged = of_type(0x8100);
  rte_pktmbuf_mtod(tagged, uint8_t*)[16] = 0x08;
  rte_pktmbuf_mtod(tagged, uint8_t*)[17] = 0x06;
  const std::vector<rte_mbuf*> burst{of_type(0x0806), of_type(0x0800),     solicitation,       echo,
                                     tagged,          of_type(0x0806, 14), of_type(0x86dd, 54)};
  receive(burst);
  unsigned copies = 0;
  ring->drain([&](rte_mbuf* m, PuntKind, uint16_t) {
    ++copies;
    rte_pktmbuf_free(m);
  });
  EXPECT_EQ(copies, 0U) << "nobody asked for them";

  view.probes = true;
  rte_mbuf* na = of_type(0x86dd, 200);
  rte_pktmbuf_mtod(na, uint8_t*)[14 + 6] = 58;
  rte_pktmbuf_mtod(na, uint8_t*)[54] = 136;
  rte_mbuf* vlan = of_type(0x8100);
  rte_pktmbuf_mtod(vlan, uint8_t*)[16] = 0x08;
  rte_pktmbuf_mtod(vlan, uint8_t*)[17] = 0x06;
  receive({of_type(0x0806), of_type(0x0800), na, vlan, of_type(0x0806, 13), of_type(0x86dd, 54)});
  std::vector<uint16_t> lengths;
  ring->drain([&](rte_mbuf* m, PuntKind kind, uint16_t port) {
    EXPECT_EQ(kind, PuntKind::probe);
    EXPECT_EQ(port, a->id);
    lengths.push_back(m->data_len);
    rte_pktmbuf_free(m);
  });
  EXPECT_EQ(lengths, (std::vector<uint16_t>{60, 128, 60})) << "no more than the headers";
  EXPECT_EQ(drops(Drop::inactive_member), 13U);
}

TEST_F(Receive, AFullPuntRingLosesCopiesOnly) {
  auto ring = PuntRing::create(901, SOCKET_ID_ANY);
  ASSERT_TRUE(ring);
  worker->punt = ring->worker_end();
  view.program = nullptr;
  view.probes = true;
  view.inactive = true;
  for (unsigned i = 0; i < PuntRing::kFrames; ++i) {
    receive({of_type(0x0806)});
  }
  EXPECT_EQ(drops(Drop::inactive_member), PuntRing::kFrames);
  EXPECT_EQ(at_start - rte_mempool_avail_count(pool()), PuntRing::kFrames - 1);
}  // the ring gives its copies back (TearDown looks)

TEST_F(Receive, InactiveMembersOfAlbTakeUnicast) {
  const AlbAddresses addresses;
  view.program = nullptr;
  view.no_groups = true;
  view.alb = &addresses;
  rte_mbuf* group = of_type(0x0800);
  *rte_pktmbuf_mtod(group, uint8_t*) |= 1U;
  receive({of_type(0x0800), group, of_type(0x0806)});
  EXPECT_EQ(rte_ring_count(host), 2U);
  EXPECT_EQ(drops(Drop::inactive_member), 1U);
}

TEST_F(Receive, InAlbAMembersAddressBecomesTheBonds) {
  AlbAddresses addresses{.bond = {2, 0, 0, 0, 0, 0xb0}, .members = {{2, 0, 0, 0, 0, 0xb0}, {2, 0, 0, 0, 0, 0xb1}}};
  view.program = nullptr;
  view.alb = &addresses;
  const auto to = [](std::array<uint8_t, 6> mac) {
    rte_mbuf* frame = of_type(0x0800);
    std::copy(mac.begin(), mac.end(), rte_pktmbuf_mtod(frame, uint8_t*));
    return frame;
  };
  const std::array<uint8_t, 6> other{2, 0, 0, 0, 0, 0xb7};
  receive({to(addresses.bond), to(addresses.members[1]), to(other)});
  for (const auto& wanted : {addresses.bond, addresses.bond, other}) {
    void* m = nullptr;
    ASSERT_EQ(rte_ring_dequeue(host, &m), 0);
    auto* frame = static_cast<rte_mbuf*>(m);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), rte_pktmbuf_mtod(frame, const uint8_t*)));
    rte_pktmbuf_free(frame);
  }
}

TEST_F(Receive, StrippedTagsAreBackBeforeTheProgramLooks) {
  view.restore_tags = true;
  view.program = nullptr;
  rte_mbuf* one = of_type(0x0800);
  one->vlan_tci = 0x6007;
  one->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  rte_mbuf* two = of_type(0x0800);
  two->vlan_tci = 5;
  two->vlan_tci_outer = 6;
  two->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
  receive({of_type(0x0800), one, two});
  const auto words = [&] {
    void* m = nullptr;
    EXPECT_EQ(rte_ring_dequeue(host, &m), 0);
    auto* frame = static_cast<rte_mbuf*>(m);
    const auto* bytes = rte_pktmbuf_mtod(frame, const uint8_t*);
    std::vector<uint16_t> all;
    for (uint16_t at = 12; at < 22; at += 2) {
      all.push_back(static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]));
    }
    EXPECT_EQ(frame->ol_flags & (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED), 0U);
    rte_pktmbuf_free(frame);
    return all;
  };
  EXPECT_EQ(words()[0], 0x0800);
  const auto tagged = words();
  EXPECT_EQ((std::vector<uint16_t>{tagged[0], tagged[1], tagged[2]}), (std::vector<uint16_t>{0x8100, 0x6007, 0x0800}));
  EXPECT_EQ(words(), (std::vector<uint16_t>{0x88a8, 6, 0x8100, 5, 0x0800}));
}

}  // namespace
}  // namespace xbond::xdp
