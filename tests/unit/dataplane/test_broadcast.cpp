// BPF_F_BROADCAST and BPF_F_EXCLUDE_INGRESS: every row that was recorded from a kernel, and what a frame's copies
// share.
#include <fmt/format.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "lib/dataplane/qsbr.hpp"
#include "tests/made/instructions.hpp"
#include "tests/unit/dataplane/redirect_bench.hpp"

namespace xbond::xdp::test {
namespace {

using Marks = std::vector<uint32_t>;

struct Broadcast : RedirectBench {
  // The frames of the recording: broadcast address, a source that ends in the frame's number.
  static rte_mbuf* recorded(uint8_t number) {
    rte_mbuf* m = frame(number);
    auto* bytes = rte_pktmbuf_mtod(m, uint8_t*);
    constexpr std::array<uint8_t, 12> kAddresses = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0xee, 0};
    std::memcpy(bytes, kAddresses.data(), kAddresses.size());
    bytes[11] = number;
    return m;
  }

  // "s0,s1*2 none …" as the recording has it: who got the frames 0 to 3.
  std::string who_got_copies() {
    std::array<std::string, 4> text;
    for (const char* port : kPorts) {
      std::array<int, 4> copies{};
      for (const uint32_t mark : left_by(port)) {
        ++copies.at(mark);
      }
      for (size_t i = 0; i < copies.size(); ++i) {
        if (copies[i] == 0) continue;
        text[i] +=
            (text[i].empty() ? "" : ",") + std::string(port) + (copies[i] > 1 ? fmt::format("*{}", copies[i]) : "");
      }
    }
    std::string line;
    for (const std::string& one : text) {
      line += (one.empty() ? "none" : one) + " ";
    }
    return line;
  }

  std::string outcome(const Scripted& program, bool one_burst, uint32_t turn) {
    worker->bonds[0].rr_counter = turn;
    if (one_burst) {
      receive(program, {recorded(0), recorded(1), recorded(2), recorded(3)});
    } else {
      for (uint8_t i = 0; i < 4; ++i) {
        receive(program, {recorded(i)});
      }
    }
    return who_got_copies();
  }

  void all_of(const std::shared_ptr<bpf::Map>& map, std::vector<rte_mbuf*> pkts, uint32_t flags = BPF_F_BROADCAST) {
    receive(redirecting([&](const bpf::XdpFrame&) { return bpf::RedirectTarget{.map = map.get(), .flags = flags}; }),
            std::move(pkts));
  }
};

bond::Mode mode_named(const std::string& name) {
  if (name == "balance-rr") return bond::Mode::balance_rr;
  if (name == "active-backup") return bond::Mode::active_backup;
  if (name == "balance-xor") return bond::Mode::balance_xor;
  if (name == "broadcast") return bond::Mode::broadcast;
  return name == "balance-tlb" ? bond::Mode::balance_tlb : bond::Mode::balance_alb;
}

TEST_F(Broadcast, EachRecordedRow) {
  std::ifstream file(fmt::format("{}/golden/xdp_bcast.tsv", XBOND_TEST_DATA));
  std::string line;
  std::getline(file, line);
  unsigned rows = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, '\t');) {
      cells.push_back(cell);
    }
    ASSERT_EQ(cells.size(), 5U);
    std::vector<uint32_t> ifindexes;
    std::istringstream names(cells[3]);
    for (std::string name; names >> name;) {
      ifindexes.push_back(ifindex_of(name));
    }
    ++rows;
    bond_mode(mode_named(cells[0]));
    receive_by(cells[1]);
    const auto hash = device_map(BPF_MAP_TYPE_DEVMAP_HASH, 64, ifindexes);
    const auto array = device_map(BPF_MAP_TYPE_DEVMAP, 64, ifindexes);
    for (const auto& map : {hash, array}) {
      const uint32_t flags = cells[2] == "x_redir"   ? 0
                             : cells[2] == "x_bcast" ? uint32_t{BPF_F_BROADCAST}
                                                     : uint32_t{BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS};
      const auto program = redirecting([&](const bpf::XdpFrame&) {
        return bpf::RedirectTarget{.map = map.get(), .ifindex = ifindexes[0], .flags = flags};
      });
      for (const bool one_burst : {false, true}) {
        // Of balance-rr only the rotation counts: its start is arbitrary.
        std::vector<std::string> outcomes;
        for (uint32_t turn = 0; turn < (cells[0] == "balance-rr" ? 3U : 1U); ++turn) {
          outcomes.push_back(outcome(program, one_burst, turn));
        }
        EXPECT_TRUE(std::find(outcomes.begin(), outcomes.end(), cells[4]) != outcomes.end())
            << line << "\ngot " << fmt::format("{}", fmt::join(outcomes, "| "));
      }
    }
  }
  EXPECT_EQ(rows, 124U);
}

TEST_F(Broadcast, ExcludesEveryBondAbove) {
  // s0 is in bond 6, and that one in bond 7.
  change(kBond, [](DeviceView& d) { d.upper = 7; });
  bond::TxTable upper = table;
  devices.add({.kind = DeviceView::Kind::bond, .up = true, .ifindex = 7, .longest = 1518, .table = &upper});
  receive_by("s0");
  all_of(device_map(BPF_MAP_TYPE_DEVMAP, 8, {1, 2, kBond, 7}), {frame(0)}, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
  EXPECT_TRUE(left_by("s0").empty());
  EXPECT_EQ(left_by("s1").size(), 1U);
  EXPECT_TRUE(left_by("s2").empty());
}

TEST_F(Broadcast, DestinationsThatAreDownOrHaveNoRoomAreSkipped) {
  change(1, [](DeviceView& d) { d.up = false; });
  change(2, [](DeviceView& d) { d.longest = 100; });
  const auto map = device_map(BPF_MAP_TYPE_DEVMAP, 8, {1, 2, 3, 99});
  all_of(map, {frame(1, 60), frame(2, 200), frame(3, 100)});
  EXPECT_TRUE(left_by("s0").empty());
  EXPECT_EQ(left_by("s1"), (Marks{1, 3}));
  EXPECT_EQ(left_by("s2"), (Marks{1, 2, 3}));
  EXPECT_EQ(drops(Drop::xdp_no_destination), 0U);
}

TEST_F(Broadcast, OnlyNarrowDestinations) {
  for (const uint32_t ifindex : {1U, 2U}) {
    change(ifindex, [](DeviceView& d) { d.longest = 100; });
  }
  all_of(device_map(BPF_MAP_TYPE_DEVMAP, 8, {1, 2}), {frame(1, 60), frame(2, 200)});
  EXPECT_EQ(left_by("s0"), (Marks{1}));
  EXPECT_EQ(left_by("s1"), (Marks{1}));
  EXPECT_EQ(drops(Drop::xdp_no_destination), 1U);
}

TEST_F(Broadcast, NobodyLeft) {
  all_of(device_map(BPF_MAP_TYPE_DEVMAP_HASH, 8, {}), {frame(1), frame(2)});
  receive_by("s0");
  all_of(device_map(BPF_MAP_TYPE_DEVMAP, 8, {1, kBond}), {frame(1)}, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
  EXPECT_EQ(drops(Drop::xdp_no_destination), 1U);
  receive_by("d0");
  EXPECT_EQ(drops(Drop::xdp_no_destination), 2U);
}

TEST_F(Broadcast, CopiesShareTheFrameAndTheLastTakesTheOriginal) {
  rte_mbuf* original = frame(1);
  all_of(device_map(BPF_MAP_TYPE_DEVMAP, 8, {1, 2, 5}), {original});
  EXPECT_EQ(rte_mempool_avail_count(pool()), at_start - 1) << "no buffer but the frame's own";
  EXPECT_EQ(rte_mbuf_refcnt_read(original), 3);
  EXPECT_EQ(left_by("s0").size() + left_by("s1").size() + left_by("d1").size(), 3U);
}

TEST_F(Broadcast, ABondWithoutAMemberLosesItsCopyOnly) {
  table.usable = 0;
  all_of(device_map(BPF_MAP_TYPE_DEVMAP, 8, {kBond, 5, kBond}), {frame(1), frame(2)});
  EXPECT_EQ(left_by("d1"), (Marks{1, 2}));
  EXPECT_EQ(drops(Drop::xdp_devmap_xmit), 4U);
}

// A devmap whose entries run "mark", which writes the interface that the frame leaves by into the first marked byte.
struct WithPrograms : Broadcast {
  std::shared_ptr<bpf::Program> program;
  std::shared_ptr<const bpf::Program> mark;

  std::shared_ptr<bpf::Map> map(uint32_t type, const std::vector<std::pair<uint32_t, bool>>& entries) {
    using namespace bpf::test;  // instructions by name
    bpf::MapSpec spec;
    spec.name = "ports";
    spec.type = type;
    spec.key_size = 4;
    spec.value_size = 8;
    spec.max_entries = 8;
    const auto object = bpf::Object::of(
        "test.o", {spec},
        {{.name = "p", .section = "xdp", .insns = {mov(0, XDP_PASS), leave()}},
         {.name = "mark",
          .section = "xdp/devmap",
          .insns = {load(BPF_W, 2, 1, offsetof(xdp_md, data)), load(BPF_W, 3, 1, offsetof(xdp_md, egress_ifindex)),
                    store(BPF_B, 2, 14, 3), mov(0, XDP_PASS), leave()}}});
    program = *bpf::Program::load(object, object.programs()[0], {});
    mark = *program->sibling("mark");
    const auto& ports_map = program->maps()[0];
    for (uint32_t key = 0; key < entries.size(); ++key) {
      const std::array<uint32_t, 2> value{entries[key].first, entries[key].second ? mark->id() : 0};
      EXPECT_EQ(ports_map->copy_update(std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(value)), BPF_ANY), 0);
    }
    return ports_map;
  }
};

TEST_F(WithPrograms, EachWritesToItsOwnCopy) {
  for (const uint32_t type : {BPF_MAP_TYPE_DEVMAP, BPF_MAP_TYPE_DEVMAP_HASH}) {
    all_of(map(type, {{1, true}, {2, false}, {3, true}, {4, false}, {5, true}}), {frame(0x100), frame(0x200)});
    EXPECT_EQ(left_by("s0"), (Marks{0x101, 0x201}));
    EXPECT_EQ(left_by("s1"), (Marks{0x100, 0x200}));
    EXPECT_EQ(left_by("s2"), (Marks{0x103, 0x203}));
    EXPECT_EQ(left_by("d0"), (Marks{0x100, 0x200}));
    EXPECT_EQ(left_by("d1"), (Marks{0x105, 0x205}));
  }
}

TEST_F(WithPrograms, TheOnlyOneWritesToTheOriginal) {
  all_of(map(BPF_MAP_TYPE_DEVMAP, {{5, true}}), {frame(0x100)});
  EXPECT_EQ(rte_mempool_avail_count(pool()), at_start - 1);
  EXPECT_EQ(left_by("d1"), (Marks{0x105}));
}

TEST_F(WithPrograms, WithoutBuffersTheOthersAreServed) {
  std::vector<rte_mbuf*> pkts = {frame(0x100), frame(0x200)};
  std::vector<rte_mbuf*> rest;
  while (rte_mbuf* m = rte_pktmbuf_alloc(pool())) {
    rest.push_back(m);
  }
  all_of(map(BPF_MAP_TYPE_DEVMAP, {{1, true}, {2, false}, {5, true}}), pkts);
  EXPECT_TRUE(left_by("s0").empty());
  EXPECT_EQ(left_by("s1"), (Marks{0x100, 0x200}));
  EXPECT_TRUE(left_by("d1").empty()) << "what others hold is not written to";
  EXPECT_EQ(drops(Drop::no_buffer), 4U);
  rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
}

TEST_F(Broadcast, SegmentedFrames) {
  for (int round = 0; round < 1000; ++round) {
    rte_mbuf* m = frame(9, 60);
    for (int more = 0; more < 2; ++more) {
      rte_pktmbuf_chain(m, frame(1, 500));
    }
    std::array<uint8_t, 1> at{};
    worker->frames[0] = {};
    broadcast(*worker, view, *device_map(BPF_MAP_TYPE_DEVMAP, 4, {1, 2, kBond, 5}), false, {&m, at.data(), 1});
    for (const auto& port : ports) {
      xbond::port::flush(worker->tx[port->id]);
    }
    size_t copies = 0;
    for (const auto& port : ports) {
      for (rte_mbuf* sent : port->take()) {
        ++copies;
        ASSERT_EQ(sent->nb_segs, 3);
        ASSERT_EQ(sent->pkt_len, 1060U);
        rte_pktmbuf_free(sent);
      }
    }
    ASSERT_EQ(copies, 4U);
    ASSERT_EQ(rte_mempool_avail_count(pool()), at_start);
  }
}

TEST_F(Broadcast, HundredsOfEntriesForTheSameInterfaces) {
  std::vector<uint32_t> ifindexes;
  for (uint32_t i = 0; i < 500; ++i) {
    ifindexes.push_back(i % 2 == 0 ? 5 : 1);
  }
  for (const uint32_t type : {BPF_MAP_TYPE_DEVMAP, BPF_MAP_TYPE_DEVMAP_HASH}) {
    all_of(device_map(type, 600, ifindexes), {frame(1), frame(2), frame(3)});
    EXPECT_EQ(left_by("d1").size(), 750U);
    EXPECT_EQ(left_by("s0").size(), 750U);
  }
}

TEST_F(Broadcast, MoreHoldersThanAFrameCanCount) {
  const auto map = device_map(BPF_MAP_TYPE_DEVMAP, 70000, std::vector<uint32_t>(70000, 5));
  all_of(map, {frame(1)});
  const auto& tx = worker->tx[ports[4]->id];
  EXPECT_EQ(tx.sent + tx.dropped, 70000U);
  EXPECT_EQ(left_by("d1").size(), 1023U);
}

// The walk comes after the program's own burst: entries last until the worker's round ends, as in the appliance.
TEST_F(Broadcast, EntriesThatComeAndGo) {
  auto qsbr = dataplane::Qsbr::create(1);
  ASSERT_TRUE(qsbr.ok());
  const auto map = device_map(BPF_MAP_TYPE_DEVMAP_HASH, 64, {1, 3, 5}, 4, **qsbr);
  const auto array = device_map(BPF_MAP_TYPE_DEVMAP, 64, {1, 3, 5}, 4, **qsbr);
  (*qsbr)->online(0);
  std::atomic<bool> stop{false};
  std::thread control([&] {
    for (uint32_t i = 0; !stop; ++i) {
      const uint32_t key = 10 + i % 40;
      const uint32_t value = 2;
      for (const auto& m : {map, array}) {
        m->copy_update(std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(&value, 1)), BPF_ANY);
        m->copy_erase(std::as_bytes(std::span(&key, 1)));
        const uint32_t stays = 2, same = 5;  // put anew, never away
        m->copy_update(std::as_bytes(std::span(&stays, 1)), std::as_bytes(std::span(&same, 1)), BPF_ANY);
      }
    }
  });
  for (int round = 0; round < 2000 && !HasFailure(); ++round) {
    for (const auto& m : {map, array}) {
      all_of(m, {frame(1), frame(2)});
      (*qsbr)->quiescent(0);
      EXPECT_EQ(left_by("s0"), (Marks{1, 2}));
      EXPECT_EQ(left_by("d1"), (Marks{1, 2}));
      EXPECT_EQ(left_by("s2"), (Marks{1, 2}));
      (void)left_by("s1");
    }
  }
  (*qsbr)->offline(0);
  stop = true;
  control.join();
}

}  // namespace
}  // namespace xbond::xdp::test
