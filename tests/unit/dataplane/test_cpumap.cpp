// CPU maps: from one worker to another, the entry's program there, and what does not fit.
#include "lib/xdp/cpumap.hpp"
#include "lib/xdp/frame_view.hpp"
#include "tests/unit/dataplane/redirect_bench.hpp"

namespace xbond::xdp::test {
namespace {

using Marks = std::vector<uint32_t>;

struct Cpumap : RedirectBench {
  std::unique_ptr<WorkerContext> other;
  CpuMesh mesh;
  std::shared_ptr<bpf::Map> map;
  std::array<PortView, RTE_MAX_ETHPORTS> views;
  std::array<rte_ring*, 2> to_host{};

  void SetUp() override {
    RedirectBench::SetUp();
    auto made = CpuMesh::create(2, SOCKET_ID_ANY);
    ASSERT_TRUE(made.ok());
    mesh = std::move(made.value());
    map = device_map(BPF_MAP_TYPE_CPUMAP, 2, {});
    other = std::make_unique<WorkerContext>();
    other->cpu = 1;
    worker->cpus = mesh.of(0);
    other->cpus = mesh.of(1);
    for (const auto& port : ports) {
      other->tx[port->id].port = port->id;
    }
    for (unsigned i = 0; i < 2; ++i) {
      to_host[i] = rte_ring_create(("cpuhost" + std::to_string(i)).c_str(), 64, SOCKET_ID_ANY, 0);
    }
    view.to_host = to_host;
  }
  void TearDown() override {
    (void)passed(0);
    (void)passed(1);
    for (rte_ring* ring : to_host) {
      rte_ring_free(ring);
    }
    mesh = {};
    RedirectBench::TearDown();
  }

  void to_worker(uint32_t cpu, const bpf::Program* program, std::vector<rte_mbuf*> pkts, uint32_t queue = 64) {
    receive(redirecting([&](const bpf::XdpFrame&) {
              return bpf::RedirectTarget{.map = map.get(), .program = program, .key = cpu, .ifindex = queue};
            }),
            std::move(pkts));
  }
  void round_of(WorkerContext& who) {
    views[view.port] = view;
    receive_from_cpus(who, views);
    for (const auto& port : ports) {
      xbond::port::flush(who.tx[port->id]);
    }
  }
  Marks passed(unsigned cpu) const {
    Marks marks;
    for (void* m = nullptr; rte_ring_dequeue(to_host[cpu], &m) == 0;) {
      marks.push_back(xbond::test::mark(static_cast<rte_mbuf*>(m)));
      rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
    }
    return marks;
  }
  [[nodiscard]] uint64_t other_drops(Drop reason) const {
    return other->counters[view.port].drops[static_cast<size_t>(reason)];
  }
};

TEST_F(Cpumap, WithoutAProgramFramesPassThere) {
  to_worker(1, nullptr, {frame(1), frame(2), frame(3)});
  EXPECT_TRUE(passed(0).empty());
  round_of(*worker);
  EXPECT_TRUE(passed(1).empty()) << "they are not this worker's";
  round_of(*other);
  EXPECT_EQ(passed(1), (Marks{1, 2, 3}));
}

TEST_F(Cpumap, ToTheSameWorker) {
  to_worker(0, nullptr, {frame(1)});
  round_of(*worker);
  EXPECT_EQ(passed(0), (Marks{1}));
}

TEST_F(Cpumap, ThereTheEntrysProgramJudges) {
  bpf::XdpFrame seen{};
  const Scripted program([&](bpf::XdpFrame& f) {
    seen = f;
    f.redirect = {.ifindex = 5};
    return by_mark(f);
  });
  to_worker(1, &program, {frame(0), frame(1), frame(2), frame(3), frame(4), frame(5)});
  round_of(*other);
  EXPECT_EQ(seen.ingress_ifindex, view.ifindex);
  EXPECT_EQ(seen.egress_ifindex, 0U);
  EXPECT_EQ(passed(1), (Marks{0}));
  EXPECT_EQ(left_by("d1"), (Marks{4}));
  EXPECT_EQ(other_drops(Drop::xdp_cpumap_drop), 1U);
  EXPECT_EQ(other_drops(Drop::xdp_aborted), 1U);
  EXPECT_EQ(other_drops(Drop::xdp_unknown), 2U) << "TX and 42";
}

TEST_F(Cpumap, MetadataTravels) {
  const Scripted program(marked_by_metadata);
  receive(Scripted([&](bpf::XdpFrame& f) {
            f.data_meta = f.data - 4;
            *f.data_meta = 55;
            f.redirect = {.map = map.get(), .program = &program, .key = 1, .ifindex = 8};
            return uint32_t{XDP_REDIRECT};
          }),
          {frame(0)});
  round_of(*other);
  EXPECT_EQ(passed(1), (Marks{55}));
}

TEST_F(Cpumap, WhatTheQueueDoesNotHoldIsCounted) {
  to_worker(1, nullptr, {frame(1), frame(2), frame(3)}, 2);
  EXPECT_EQ(drops(Drop::xdp_cpumap_enqueue), 1U);
  to_worker(1, nullptr, {frame(4)}, 2);
  EXPECT_EQ(drops(Drop::xdp_cpumap_enqueue), 2U);
  round_of(*other);
  EXPECT_EQ(passed(1), (Marks{1, 2}));
  to_worker(1, nullptr, {frame(5)}, 2);
  round_of(*other);
  EXPECT_EQ(passed(1), (Marks{5}));
}

TEST_F(Cpumap, AQueueCannotBeLongerThanItsRing) {
  for (unsigned sent = 0; sent < CpuMesh::kFrames / 2; sent += xbond::port::kMaxBurst / 2) {
    std::vector<rte_mbuf*> pkts;
    for (unsigned i = 0; i < xbond::port::kMaxBurst / 2; ++i) {
      pkts.push_back(frame(i));
    }
    to_worker(1, nullptr, pkts, 16384);
  }
  EXPECT_EQ(drops(Drop::xdp_cpumap_enqueue), 0U);
}

TEST_F(Cpumap, StoppedWorkersCountWhatWaited) {
  to_worker(1, nullptr, {frame(1), frame(2)});
  discard_from_cpus(*other);
  EXPECT_EQ(other_drops(Drop::workers_stopped), 2U);
  round_of(*other);
  EXPECT_TRUE(passed(1).empty());
}

TEST_F(Cpumap, AProgramThatSendsToItsOwnWorkerDoesNotHoldItUp) {
  const Scripted* self = nullptr;
  const Scripted program([&](bpf::XdpFrame& f) {
    f.redirect = {.map = map.get(), .program = self, .key = 1, .ifindex = 64};
    return uint32_t{XDP_REDIRECT};
  });
  self = &program;
  to_worker(1, &program, {frame(1)});
  round_of(*other);
  round_of(*other);
  discard_from_cpus(*other);
  EXPECT_EQ(other_drops(Drop::workers_stopped), 1U);
}

}  // namespace
}  // namespace xbond::xdp::test
