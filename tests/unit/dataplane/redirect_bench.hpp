// A worker, five ring ports s0 s1 s2 d0 d1 and a bond of the first three, as the kernel's recordings have them, and
// frames that a program redirects.
#pragma once

#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <array>
#include <functional>
#include <map>
#include <memory>

#include "bpf_compat/map/map.hpp"
#include "lib/xdp/receive.hpp"
#include "lib/xdp/redirect.hpp"
#include "tests/unit/dataplane/eal.hpp"

namespace xbond::xdp::test {

using xbond::test::frame;
using xbond::test::pool;

inline constexpr std::array kPorts = {"s0", "s1", "s2", "d0", "d1"};
inline constexpr uint32_t kBond = 6;  // ifindex; ports have 1 to 5
inline uint32_t ifindex_of(std::string_view name) {
  for (uint32_t i = 0; i < kPorts.size(); ++i) {
    if (name == kPorts[i]) return i + 1;
  }
  return name == "bond0" ? kBond : 0;
}

// Says of each frame what the test wants.
class Scripted : public xbond::test::FakeProgram {
 public:
  using Judge = std::function<uint32_t(bpf::XdpFrame&)>;
  explicit Scripted(Judge judge) : judge_(std::move(judge)) {}
  void run_burst(std::span<bpf::XdpFrame> frames, uint32_t* verdicts, uint32_t) const noexcept override {
    for (size_t i = 0; i < frames.size(); ++i) {
      verdicts[i] = judge_(frames[i]);
    }
  }

 private:
  Judge judge_;
};

// By the frame's mark: every verdict there is, and one that there is not.
inline uint32_t by_mark(const bpf::XdpFrame& f) {
  constexpr std::array<uint32_t, 6> kVerdicts = {XDP_PASS, XDP_DROP, XDP_ABORTED, XDP_TX, XDP_REDIRECT, 42};
  return kVerdicts[f.data[14]];
}

// Passes the frame, marked with the first of four bytes of metadata; with 0 where there are not four.
inline uint32_t marked_by_metadata(bpf::XdpFrame& f) {
  f.data[14] = f.data - f.data_meta == 4 ? *f.data_meta : 0;
  return XDP_PASS;
}

inline Scripted redirecting(std::function<bpf::RedirectTarget(const bpf::XdpFrame&)> where) {
  return Scripted([where = std::move(where)](bpf::XdpFrame& f) {
    f.redirect = where(f);
    return uint32_t{XDP_REDIRECT};
  });
}

struct RedirectBench : testing::Test {
  std::unique_ptr<WorkerContext> worker;
  std::vector<std::unique_ptr<xbond::test::RingPort>> ports;
  bond::TxTable table;
  Devices devices;
  PortView view;
  unsigned at_start = 0;

  void SetUp() override {
    xbond::test::start_eal("xb-ut-redirect");
    at_start = rte_mempool_avail_count(pool());
    worker = std::make_unique<WorkerContext>();
    static int number = 0;
    for (const char* name : kPorts) {
      ports.push_back(std::make_unique<xbond::test::RingPort>(name + std::to_string(number)));
      worker->tx[ports.back()->id].port = ports.back()->id;
    }
    ++number;
    bond_mode(bond::Mode::balance_xor);
    receive_by("d0");
  }
  void TearDown() override {
    ports.clear();
    EXPECT_EQ(rte_mempool_avail_count(pool()), at_start) << "a frame leaked";
  }

  // Over s0, s1 and s2, all usable; s0 is the active one.
  void bond_mode(bond::Mode mode) {
    table = {};
    table.mode = mode;
    table.usable = 3;
    for (uint16_t i = 0; i < 3; ++i) {
      table.port[i] = ports[i]->id;
    }
    table.active = ports[0]->id;
    table.seal();
    for (uint32_t i = 0; i < kPorts.size(); ++i) {
      devices.add({.kind = DeviceView::Kind::port,
                   .up = true,
                   .port = ports[i]->id,
                   .ifindex = i + 1,
                   .upper = i < 3 ? kBond : 0,
                   .longest = 1518});
    }
    devices.add({.kind = DeviceView::Kind::bond,
                 .up = true,
                 .transmits = bond::runs_xdp(mode, table.policy),
                 .ifindex = kBond,
                 .longest = 1518,
                 .table = &table});
  }
  void receive_by(std::string_view name) {
    view = {};
    view.ifindex = ifindex_of(name);
    view.port = ports[view.ifindex - 1]->id;
    view.devices = &devices;
    view.bond = view.ifindex <= 3 ? &table : nullptr;
  }
  void receive(const bpf::Program& program, std::vector<rte_mbuf*> pkts) {
    view.program = &program;
    receive_burst(*worker, view, 0, pkts.data(), static_cast<uint16_t>(pkts.size()));
    for (const auto& port : ports) {
      xbond::port::flush(worker->tx[port->id]);
    }
  }
  void change(uint32_t ifindex, const std::function<void(DeviceView&)>& how) {
    DeviceView device = *devices.find(ifindex);
    how(device);
    devices.add(device);
  }
  [[nodiscard]] uint64_t drops(Drop reason) const {
    return worker->counters[view.port].drops[static_cast<size_t>(reason)];
  }
  // The marks of what left by a port, in order; the frames are freed.
  std::vector<uint32_t> left_by(std::string_view name) {
    std::vector<uint32_t> marks;
    for (rte_mbuf* m : ports[ifindex_of(name) - 1]->take()) {
      marks.push_back(xbond::test::mark(m));
      rte_pktmbuf_free(m);
    }
    return marks;
  }
};

inline std::shared_ptr<bpf::Map> device_map(uint32_t type, uint32_t entries, const std::vector<uint32_t>& ifindexes,
                                            uint32_t value_size = 4, bpf::Grace& grace = bpf::BurstGrace::instance()) {
  bpf::MapSpec spec;
  spec.name = "ports";
  spec.type = type;
  spec.key_size = 4;
  spec.value_size = value_size;
  spec.max_entries = entries;
  auto map = bpf::Map::create(spec, 2, grace);
  EXPECT_TRUE(map.ok());
  for (uint32_t key = 0; key < ifindexes.size(); ++key) {
    const std::array<uint32_t, 2> value{ifindexes[key], 0};
    EXPECT_EQ((*map)->copy_update(std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(value)).first(value_size),
                                  BPF_ANY),
              0);
  }
  return *map;
}

}  // namespace xbond::xdp::test
