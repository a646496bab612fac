// The loop itself: polling, host frames, control frames, snapshots that change under it.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <thread>

#include "lib/dataplane/worker.hpp"
#include "tests/unit/dataplane/eal.hpp"

namespace xbond::dataplane {
namespace {

using test::frame;
using test::pool;

class Always : public test::FakeProgram {
 public:
  explicit Always(uint32_t verdict) : verdict_(verdict) {}
  ~Always() override { destroyed.fetch_add(1); }
  void run_burst(std::span<bpf::XdpFrame> frames, uint32_t* verdicts, uint32_t) const noexcept override {
    for (size_t i = 0; i < frames.size(); ++i) {
      verdicts[i] = verdict_;
    }
  }
  static inline std::atomic<int> destroyed{0};

 private:
  uint32_t verdict_;
};

struct WorkerLoop : testing::Test {
  std::unique_ptr<Qsbr> qsbr;
  std::unique_ptr<Published> published;
  std::unique_ptr<Worker> worker;
  // Two ports: `in` receives what the test puts there; `out` is where host and control frames leave.
  std::unique_ptr<test::RingPort> in, out;
  rte_ring *to_host = nullptr, *from_host = nullptr, *control = nullptr;
  std::vector<rte_ring*> to, from;
  unsigned at_start = 0;
  std::atomic<bool> stop{false};
  std::thread thread;

  void SetUp() override {
    test::start_eal("xb-ut-worker");
    at_start = rte_mempool_avail_count(pool());
    static int number = 0;
    const std::string tag = std::to_string(number++);
    in = std::make_unique<test::RingPort>("wi" + tag);
    out = std::make_unique<test::RingPort>("wo" + tag);
    const auto ring = [&](const char* name) {
      return rte_ring_create((name + tag).c_str(), 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    };
    to_host = ring("to");
    from_host = ring("from");
    control = ring("control");
    to = {to_host};
    from = {from_host};
    auto made = Qsbr::create(1);
    ASSERT_TRUE(made.ok());
    qsbr = std::move(made.value());
    published = std::make_unique<Published>(*qsbr);
    worker = std::make_unique<Worker>(0, 32, *published, *qsbr);
    worker->poll({in->id, 0});
    worker->transmit_by(in->id, 0);
    worker->transmit_by(out->id, 0);
    worker->drain({out->id, control});
  }
  void run() {
    thread = std::thread([this] { worker->run(stop); });
  }
  void TearDown() override {
    stop = true;
    if (thread.joinable()) {
      thread.join();
    }
    for (rte_ring* ring : {to_host, from_host, control}) {
      void* m = nullptr;
      while (rte_ring_dequeue(ring, &m) == 0) {
        rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
      }
      rte_ring_free(ring);
    }
    in.reset();
    out.reset();
    EXPECT_EQ(rte_mempool_avail_count(pool()), at_start) << "a frame leaked";
  }
  std::unique_ptr<Snapshot> snapshot(std::shared_ptr<const bpf::Program> program) {
    auto s = std::make_unique<Snapshot>();
    for (const uint16_t id : {in->id, out->id}) {
      s->ports[id].port = id;
      s->ports[id].polled = true;
      s->ports[id].to_host = to;
    }
    s->ports[in->id].program = program.get();
    if (program != nullptr) {
      s->keep.push_back(std::move(program));
    }
    s->hosts.push_back({.from_host = from, .bond = nullptr, .up = true, .port = out->id});
    return s;
  }
  static bool soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 4000; ++i) {
      if (condition()) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static void put(rte_ring* ring, rte_mbuf* m) { ASSERT_EQ(rte_ring_enqueue(ring, m), 0); }
};

TEST_F(WorkerLoop, PollsAndPassesToTheHost) {
  published->publish(snapshot(nullptr));
  run();
  put(in->ring, frame(1));
  EXPECT_TRUE(soon([&] { return rte_ring_count(to_host) == 1; }));
}

TEST_F(WorkerLoop, HostAndControlFramesLeaveByTheirPort) {
  published->publish(snapshot(nullptr));
  run();
  put(from_host, frame(1));
  put(control, frame(2));
  EXPECT_TRUE(soon([&] { return rte_ring_count(out->ring) == 2; }));
  EXPECT_TRUE(soon([&] { return port::read_counter(worker->context().counters[out->id].from_host) == 1; }));
}

TEST_F(WorkerLoop, HostFramesForADownDeviceAreCounted) {
  auto s = snapshot(nullptr);
  s->hosts[0].up = false;
  published->publish(std::move(s));
  run();
  put(from_host, frame(1));
  EXPECT_TRUE(soon([&] {
    return port::read_counter(worker->context().counters[out->id].drops[static_cast<size_t>(xdp::Drop::no_member)]) ==
           1;
  }));
}

TEST_F(WorkerLoop, APortThatIsNotPolledKeepsItsFrames) {
  auto s = snapshot(nullptr);
  s->ports[in->id].polled = false;
  s->ports[out->id].polled = false;
  published->publish(std::move(s));
  run();
  put(in->ring, frame(1));
  put(control, frame(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(rte_ring_count(in->ring), 1U);
  EXPECT_EQ(rte_ring_count(control), 1U);
}

TEST_F(WorkerLoop, ReplacedSnapshotIsFreedOnlyWhenTheWorkerHasMovedOn) {
  Always::destroyed = 0;
  published->publish(snapshot(std::make_shared<Always>(XDP_DROP)));
  run();
  put(in->ring, frame(1));
  const auto dropped = [&] {
    return port::read_counter(worker->context().counters[in->id].drops[static_cast<size_t>(xdp::Drop::xdp_drop)]);
  };
  ASSERT_TRUE(soon([&] { return dropped() == 1; }));
  published->publish(snapshot(nullptr));
  EXPECT_TRUE(soon([&] {
    published->reclaim();
    return Always::destroyed == 1;
  }));
}

TEST_F(WorkerLoop, AStoppedWorkerHoldsNothingBack) {
  Always::destroyed = 0;
  published->publish(snapshot(std::make_shared<Always>(XDP_DROP)));
  published->publish(snapshot(nullptr));
  published->reclaim();
  EXPECT_EQ(Always::destroyed, 1) << "offline workers count as passed";
}

TEST_F(WorkerLoop, ReplaceUnderLoadRunsExactlyOneProgramAFrame) {
  published->publish(snapshot(std::make_shared<Always>(XDP_DROP)));
  run();
  constexpr uint32_t kFrames = 20000;
  for (uint32_t i = 0; i < kFrames; ++i) {
    rte_mbuf* m = frame(i);
    while (rte_ring_enqueue(in->ring, m) != 0) {
      std::this_thread::yield();
    }
    if (i % 50 == 0) {
      published->publish(snapshot(std::make_shared<Always>(i % 100 == 0 ? XDP_ABORTED : XDP_DROP)));
    }
  }
  const xdp::PortCounters& counters = worker->context().counters[in->id];
  ASSERT_TRUE(soon([&] { return port::read_counter(counters.rx) == kFrames; }));
  stop = true;
  thread.join();
  EXPECT_EQ(counters.runs, kFrames);
  EXPECT_EQ(counters.verdicts[XDP_DROP] + counters.verdicts[XDP_ABORTED], kFrames);
  EXPECT_GT(counters.verdicts[XDP_ABORTED], 0U);
  EXPECT_GT(counters.verdicts[XDP_DROP], 0U);
}

}  // namespace
}  // namespace xbond::dataplane
