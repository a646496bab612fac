// XDP_REDIRECT to one target: ports, bonds, entries with a program, and what the kernel refuses.
#include "tests/unit/dataplane/redirect_bench.hpp"

namespace xbond::xdp::test {
namespace {

using Marks = std::vector<uint32_t>;

// The frame's mark names the interface.
Scripted to_marked() {
  return redirecting([](const bpf::XdpFrame& f) {
    uint32_t mark = 0;
    std::memcpy(&mark, f.data + 14, sizeof mark);
    return bpf::RedirectTarget{.ifindex = mark & 0xff};
  });
}
Scripted always_to(uint32_t ifindex) {
  return redirecting([=](const bpf::XdpFrame&) { return bpf::RedirectTarget{.ifindex = ifindex}; });
}

struct Redirect : RedirectBench {};

TEST_F(Redirect, EachPortGetsItsFramesInOrder) {
  receive(to_marked(), {frame(0x105), frame(0x201), frame(0x305), frame(0x405), frame(0x501)});
  EXPECT_EQ(left_by("d1"), (Marks{0x105, 0x305, 0x405}));
  EXPECT_EQ(left_by("s0"), (Marks{0x201, 0x501}));
  EXPECT_EQ(worker->counters[view.port].verdicts[XDP_REDIRECT], 5U);
}

TEST_F(Redirect, OtherVerdictsOfTheBurstStayApart) {
  const Scripted program([](bpf::XdpFrame& f) {
    f.redirect = {.ifindex = 5};
    return f.data[14] == 0 ? uint32_t{XDP_DROP} : uint32_t{XDP_REDIRECT};
  });
  receive(program, {frame(0), frame(1), frame(0), frame(2)});
  EXPECT_EQ(left_by("d1"), (Marks{1, 2}));
  EXPECT_EQ(drops(Drop::xdp_drop), 2U);
}

TEST_F(Redirect, BackByThePortItCameFrom) {
  receive(always_to(4), {frame(7)});
  EXPECT_EQ(left_by("d0"), (Marks{7}));
}

TEST_F(Redirect, ABondPicksTheMemberForEachFrame) {
  receive(always_to(kBond), {frame(0), frame(1), frame(2), frame(0)});
  const size_t sent = left_by("s0").size() + left_by("s1").size() + left_by("s2").size();
  EXPECT_EQ(sent, 4U);
  bond_mode(bond::Mode::active_backup);
  receive(always_to(kBond), {frame(1), frame(2)});
  EXPECT_EQ(left_by("s0"), (Marks{1, 2}));
}

TEST_F(Redirect, WithoutAUsableMember) {
  table.usable = 0;
  receive(always_to(kBond), {frame(1), frame(2)});
  EXPECT_EQ(drops(Drop::xdp_devmap_xmit), 2U) << "ENXIO of bond_xdp_xmit";
}

TEST_F(Redirect, WhatTheKernelRefuses) {
  receive(always_to(77), {frame(1)});
  receive(always_to(0), {frame(1)});
  EXPECT_EQ(drops(Drop::xdp_redirect_einval), 2U);
  change(5, [](DeviceView& d) { d.up = false; });
  receive(always_to(5), {frame(1), frame(2)});
  EXPECT_EQ(drops(Drop::xdp_redirect_enetdown), 2U);
  bond_mode(bond::Mode::balance_alb);
  receive(always_to(kBond), {frame(1)});
  EXPECT_EQ(drops(Drop::xdp_redirect_eopnotsupp), 1U);
  for (const char* port : kPorts) {
    EXPECT_TRUE(left_by(port).empty());
  }
}

TEST_F(Redirect, NothingWithoutATable) {
  view.devices = nullptr;
  receive(always_to(5), {frame(1)});
  EXPECT_EQ(drops(Drop::xdp_redirect_einval), 1U);
}

TEST_F(Redirect, FramesAboveTheMtuStay) {
  change(5, [](DeviceView& d) { d.longest = 100; });
  receive(always_to(5), {frame(1, 100), frame(2, 101), frame(3, 60)});
  EXPECT_EQ(left_by("d1"), (Marks{1, 3}));
  EXPECT_EQ(drops(Drop::xdp_redirect_emsgsize), 1U);
}

TEST_F(Redirect, ByTheEntriesOfAMap) {
  const auto map = device_map(BPF_MAP_TYPE_DEVMAP, 4, {0, 5, 1});
  const auto program = redirecting([&](const bpf::XdpFrame& f) {
    return bpf::RedirectTarget{.map = map.get(), .key = f.data[14], .ifindex = f.data[14] == 1 ? 5U : 1U};
  });
  receive(program, {frame(1), frame(2), frame(1)});
  EXPECT_EQ(left_by("d1"), (Marks{1, 1}));
  EXPECT_EQ(left_by("s0"), (Marks{2}));
}

TEST_F(Redirect, AProgramAtTheExit) {
  const auto map = device_map(BPF_MAP_TYPE_DEVMAP, 4, {});
  bpf::XdpFrame seen{};
  const Scripted exit([&](bpf::XdpFrame& f) {
    seen = f;
    const uint32_t verdict = by_mark(f);
    f.data[15] = 0xee;
    f.data_end -= 4;
    return verdict;
  });
  const auto program = redirecting(
      [&](const bpf::XdpFrame&) { return bpf::RedirectTarget{.map = map.get(), .program = &exit, .ifindex = 5}; });
  receive(program, {frame(0), frame(1), frame(2), frame(3), frame(4), frame(5), frame(0)});
  EXPECT_EQ(seen.ingress_ifindex, 4U);
  EXPECT_EQ(seen.egress_ifindex, 5U);
  EXPECT_EQ(left_by("d1"), (Marks{0xee00, 0xee00}));
  EXPECT_EQ(drops(Drop::xdp_devmap_drop), 1U);
  EXPECT_EQ(drops(Drop::xdp_aborted), 1U);
  EXPECT_EQ(drops(Drop::xdp_unknown), 3U) << "TX, REDIRECT and 42 mean nothing there";
}

TEST_F(Redirect, MetadataReachesTheProgramAtTheExit) {
  const Scripted exit(marked_by_metadata);
  const Scripted program([&](bpf::XdpFrame& f) {
    f.data_meta = f.data - 4;
    *f.data_meta = 99;
    f.redirect = {.program = &exit, .ifindex = 5};
    return uint32_t{XDP_REDIRECT};
  });
  receive(program, {frame(0)});
  EXPECT_EQ(left_by("d1"), (Marks{99}));
}

TEST_F(Redirect, AFrameThatOthersHoldIsNotWrittenTo) {
  const Scripted program([](bpf::XdpFrame& f) {
    f.data[14] = 77;
    f.redirect = {.ifindex = 5};
    return uint32_t{XDP_REDIRECT};
  });
  rte_mbuf* shared = frame(1);
  rte_mbuf_refcnt_update(shared, 1);
  receive(program, {shared, frame(2)});
  EXPECT_EQ(xbond::test::mark(shared), 1U);
  rte_pktmbuf_free(shared);
  EXPECT_EQ(left_by("d1"), (Marks{77, 77}));
}

TEST_F(Redirect, AFullBurstToOnePort) {
  std::vector<rte_mbuf*> pkts;
  Marks wanted;
  for (uint32_t i = 0; i < xbond::port::kMaxBurst; ++i) {
    pkts.push_back(frame(i << 8 | (i % 2 == 0 ? 5 : 1)));
    if (i % 2 == 0) wanted.push_back(i << 8 | 5);
  }
  receive(to_marked(), pkts);
  EXPECT_EQ(left_by("d1"), wanted);
  EXPECT_EQ(left_by("s0").size(), size_t{xbond::port::kMaxBurst} / 2);
}

}  // namespace
}  // namespace xbond::xdp::test
