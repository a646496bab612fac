// Every transition of the mux machine, under both controls.
#include <gtest/gtest.h>

#include "lib/lacp/mux_machine.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

using namespace state;

constexpr Time kNow = 1000 * kSecond;
constexpr uint8_t kWork = kSynchronization | kCollecting | kDistributing;
constexpr MuxControl kCoupled{true, false};
constexpr MuxControl kIndependent{false, false};

struct Bench {
  Ports ports;

  explicit Bench(std::size_t count = 1) {
    for (std::size_t i = 0; i < count; ++i) {
      ports.push_back(std::make_unique<Port>(fresh_port(static_cast<uint16_t>(i + 1))));
      join(i);
    }
    ports[0]->own.active = true;
    ports[0]->own.partner_system = system_mac(0xbb);
  }
  Port& operator[](std::size_t i) { return *ports[i]; }
  void join(std::size_t i) {
    ports[i]->aggregator = &ports[0]->own;
    ports[i]->selected = true;
  }
  void step(const MuxControl& control = kCoupled, Time now = kNow, std::size_t i = 0) {
    mux_step(*ports[i], ports, control, now);
  }
  // Leads the first port to a state, as in life.
  void lead_to(MuxState wanted) {
    Port& port = *ports[0];
    const bool coupled = wanted == MuxState::collecting_distributing;
    if (wanted != MuxState::detached) step();
    if (wanted != MuxState::detached && wanted != MuxState::waiting) step(kCoupled, kNow + kAggregateWait);
    if (wanted > MuxState::attached) {
      port.partner.set(kSynchronization, true);
      step(coupled ? kCoupled : kIndependent);
    }
    if (wanted == MuxState::distributing) {
      port.partner.set(kCollecting, true);
      step(kIndependent);
    }
    port.ntt = false;
    ASSERT_EQ(port.mux, wanted);
  }
};

constexpr std::array kAll{MuxState::detached,   MuxState::waiting,      MuxState::attached,
                          MuxState::collecting, MuxState::distributing, MuxState::collecting_distributing};
constexpr std::array kAtWork{MuxState::collecting, MuxState::distributing, MuxState::collecting_distributing};

const MuxControl& control_of(MuxState state) {
  return state == MuxState::collecting_distributing ? kCoupled : kIndependent;
}

TEST(MuxMachine, BeginLeadsFromEveryStateToDetached) {
  for (MuxState from : kAll) {
    Bench bench;
    bench.lead_to(from);
    bench[0].begin = true;
    bench.step();
    EXPECT_EQ(bench[0].mux, MuxState::detached);
    EXPECT_EQ(bench[0].actor.state & kWork, 0);
    EXPECT_TRUE(bench[0].ntt);
  }
}

TEST(MuxMachine, DetachedToWaitingWhenSelected) {
  Bench bench;
  bench[0].selected = false;
  bench.step();
  EXPECT_EQ(bench[0].mux, MuxState::detached);
  bench[0].selected = true;
  bench.step();
  EXPECT_EQ(bench[0].mux, MuxState::waiting);
  EXPECT_EQ(bench[0].wait_while, kNow + kAggregateWait);
  EXPECT_FALSE(bench[0].ntt);
}

TEST(MuxMachine, WaitingToAttachedAfterTwoSeconds) {
  Bench bench;
  bench.lead_to(MuxState::waiting);
  bench.step(kCoupled, kNow + kAggregateWait - 1);
  EXPECT_EQ(bench[0].mux, MuxState::waiting);
  bench.step(kCoupled, kNow + kAggregateWait);
  EXPECT_EQ(bench[0].mux, MuxState::attached);
  EXPECT_EQ(bench[0].actor.state & kWork, kSynchronization);
  EXPECT_TRUE(bench[0].ntt);
}

TEST(MuxMachine, WaitingToAttachedWithoutSyncInAnInactiveAggregator) {
  Bench bench;
  bench[0].own.active = false;
  bench.step();
  bench.step(kCoupled, kNow + kAggregateWait);
  EXPECT_EQ(bench[0].mux, MuxState::attached);
  EXPECT_EQ(bench[0].actor.state & kWork, 0);
}

TEST(MuxMachine, WaitingToDetachedWhenUnselected) {
  Bench bench;
  bench.lead_to(MuxState::waiting);
  bench[0].selected = false;
  bench.step(kCoupled, kNow + kAggregateWait);
  EXPECT_EQ(bench[0].mux, MuxState::detached);
  EXPECT_TRUE(bench[0].ntt);
}

TEST(MuxMachine, PortsOfAnAggregatorWaitForEachOther) {
  Bench bench(3);
  bench.step(kCoupled, kNow, 0);
  bench.step(kCoupled, kNow + kSecond, 1);
  bench[2].enabled = false;  // no link: holds up nobody
  bench.step(kCoupled, kNow + kSecond, 2);
  ASSERT_EQ(bench[2].mux, MuxState::waiting);

  bench.step(kCoupled, kNow + kAggregateWait, 0);
  EXPECT_EQ(bench[0].mux, MuxState::waiting);
  const Time later = kNow + kSecond + kAggregateWait;
  // Both in one tick, whoever is asked first.
  bench.step(kCoupled, later, 0);
  EXPECT_EQ(bench[0].mux, MuxState::attached);
  bench.step(kCoupled, later, 1);
  EXPECT_EQ(bench[1].mux, MuxState::attached);
}

TEST(MuxMachine, AttachedPortsAreNotHeldUpByNewOnes) {
  Bench bench(2);
  bench.lead_to(MuxState::collecting_distributing);
  bench.step(kCoupled, kNow, 1);
  bench.step();
  EXPECT_EQ(bench[0].mux, MuxState::collecting_distributing);
}

TEST(MuxMachine, AttachedToWorkWhenThePartnerIsInSync) {
  for (bool coupled : {true, false}) {
    Bench bench;
    bench.lead_to(MuxState::attached);
    bench.step(coupled ? kCoupled : kIndependent);
    EXPECT_EQ(bench[0].mux, MuxState::attached);
    EXPECT_FALSE(bench[0].ntt);
    bench[0].partner.set(kSynchronization, true);
    bench.step(coupled ? kCoupled : kIndependent);
    EXPECT_EQ(bench[0].mux, coupled ? MuxState::collecting_distributing : MuxState::collecting);
    EXPECT_EQ(bench[0].actor.state & kWork, coupled ? kWork : kSynchronization | kCollecting);
    EXPECT_TRUE(bench[0].ntt);
  }
}

TEST(MuxMachine, AttachedWaitsForTheSelectTimer) {
  Bench bench;
  bench.lead_to(MuxState::attached);
  bench[0].partner.set(kSynchronization, true);
  bench.step({true, true});
  EXPECT_EQ(bench[0].mux, MuxState::attached);
  EXPECT_TRUE(bench[0].actor.has(kSynchronization));
  bench.step();
  EXPECT_EQ(bench[0].mux, MuxState::collecting_distributing);
}

TEST(MuxMachine, AttachedToDetachedWhenUnselected) {
  Bench bench;
  bench.lead_to(MuxState::attached);
  bench[0].selected = false;
  bench[0].partner.set(kSynchronization, true);
  bench.step();
  EXPECT_EQ(bench[0].mux, MuxState::detached);
  EXPECT_EQ(bench[0].actor.state & kWork, 0);
  EXPECT_TRUE(bench[0].ntt);
}

TEST(MuxMachine, SyncOfAnAttachedPortFollowsItsAggregatorAndIsToldAtOnce) {
  Bench bench;
  bench.lead_to(MuxState::attached);
  bench[0].own.active = false;
  bench[0].partner.set(kSynchronization, true);
  bench.step();
  EXPECT_EQ(bench[0].mux, MuxState::attached);
  EXPECT_FALSE(bench[0].actor.has(kSynchronization));
  EXPECT_TRUE(bench[0].ntt);
  bench[0].partner.set(kSynchronization, false);
  bench[0].ntt = false;
  bench[0].own.active = true;
  bench.step();
  EXPECT_TRUE(bench[0].actor.has(kSynchronization));
  EXPECT_TRUE(bench[0].ntt);
}

TEST(MuxMachine, CollectingToDistributingWhenThePartnerCollects) {
  Bench bench;
  bench.lead_to(MuxState::collecting);
  bench.step(kIndependent);
  EXPECT_EQ(bench[0].mux, MuxState::collecting);
  bench[0].partner.set(kCollecting, true);
  bench.step(kIndependent);
  EXPECT_EQ(bench[0].mux, MuxState::distributing);
  EXPECT_EQ(bench[0].actor.state & kWork, kWork);
  EXPECT_FALSE(bench[0].ntt);  // as Linux: told by the next periodic PDU
}

TEST(MuxMachine, DistributingToCollectingWhenThePartnerStopsCollecting) {
  Bench bench;
  bench.lead_to(MuxState::distributing);
  bench.step(kIndependent);
  EXPECT_EQ(bench[0].mux, MuxState::distributing);
  bench[0].partner.set(kCollecting, false);
  bench.step(kIndependent);
  EXPECT_EQ(bench[0].mux, MuxState::collecting);
  EXPECT_EQ(bench[0].actor.state & kWork, kSynchronization | kCollecting);
  EXPECT_TRUE(bench[0].ntt);
}

TEST(MuxMachine, WorkEndsInAttachedForEachReason) {
  for (MuxState from : kAtWork) {
    for (int why = 0; why < 3; ++why) {
      Bench bench;
      bench.lead_to(from);
      if (why == 0) bench[0].selected = false;
      if (why == 1) bench[0].own.active = false;
      if (why == 2) bench[0].partner.set(kSynchronization, false);
      bench.step(control_of(from));
      EXPECT_EQ(bench[0].mux, MuxState::attached);
      EXPECT_EQ(bench[0].actor.state & kWork, why == 1 ? 0 : kSynchronization);
      EXPECT_TRUE(bench[0].ntt);
    }
  }
}

TEST(MuxMachine, WorkGoesOnWhileNothingChanges) {
  for (MuxState state : kAtWork) {
    Bench bench;
    bench.lead_to(state);
    for (int i = 0; i < 10; ++i) bench.step(control_of(state), kNow + static_cast<Time>(i) * kTick);
    EXPECT_EQ(bench[0].mux, state);
    EXPECT_FALSE(bench[0].ntt);
  }
}

TEST(MuxMachine, ControlMayChangeAtWorkWithoutAGap) {
  Bench to_independent;
  to_independent.lead_to(MuxState::collecting_distributing);
  to_independent[0].partner.set(kCollecting, true);
  to_independent.step(kIndependent);
  EXPECT_EQ(to_independent[0].mux, MuxState::distributing);
  EXPECT_EQ(to_independent[0].actor.state & kWork, kWork);

  Bench not_collecting;
  not_collecting.lead_to(MuxState::collecting_distributing);
  not_collecting.step(kIndependent);
  EXPECT_EQ(not_collecting[0].mux, MuxState::collecting);

  for (MuxState from : {MuxState::collecting, MuxState::distributing}) {
    Bench to_coupled;
    to_coupled.lead_to(from);
    to_coupled.step(kCoupled);
    EXPECT_EQ(to_coupled[0].mux, MuxState::collecting_distributing);
    EXPECT_EQ(to_coupled[0].actor.state & kWork, kWork);
  }
}

TEST(MuxMachine, AnAttachedPortThatLeavesItsWaitKeepsItsHistory) {
  Bench bench;
  bench.lead_to(MuxState::collecting_distributing);
  std::vector<uint16_t> path;
  for (std::size_t i = 0; i < bench[0].history.size(); ++i) {
    const Transition& step = bench[0].history[i];
    EXPECT_EQ(step.machine, Machine::mux);
    path.push_back(step.to);
  }
  EXPECT_EQ(path, (std::vector<uint16_t>{1, 2, 5}));
  EXPECT_EQ(bench[0].history[2].reason, Reason::partner_in_sync);
  EXPECT_EQ(bench[0].history[1].at, kNow + kAggregateWait);
}

}  // namespace
}  // namespace xbond::lacp
