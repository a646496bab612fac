// xbond-count CASE: runs one case over a fixed number of packets inside counted(), which callgrind collects. Prints the
// number of packets. xbond-count --list: the cases. Driven by count_instructions.py.
#include <fmt/core.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/perf/eal.hpp"
#include "tests/perf/p1_sides.hpp"
#include "tests/perf/ring_loop.hpp"

namespace xbond::perf {

using Run = std::function<uint64_t(uint64_t rounds)>;

// The function that callgrind is told to collect (--toggle-collect): it and all that it calls.
[[gnu::noinline]] uint64_t counted(const Run& run, uint64_t rounds) {
  return run(rounds);
}

namespace {

constexpr unsigned kFlows = 256;
constexpr uint64_t kRounds = 64;

struct Case {
  std::string name;
  const BondCase* bond;  // nullptr: no bond
  unsigned members;
  uint32_t packets_per_slave = 1;
  Frames frames = Frames::ipv4_udp;
};

std::vector<Case> cases() {
  std::vector<Case> all{{"no bond", nullptr, 0}};
  for (const unsigned members : {2u, 3u}) {
    for (const BondCase& c : kBondCases) {
      all.push_back({fmt::format("{} {} members", c.name, members), &c, members});
    }
  }
  const BondCase* rr = &kBondCases[0];
  const BondCase* l34 = &kBondCases[4];
  all.push_back({"rr random 2 members", rr, 2, 0});
  all.push_back({"rr 3 packets 2 members", rr, 2, 3});
  all.push_back({"xor l34 8 members", l34, 8});
  all.push_back({"xor l34 2 members IPv6", l34, 2, 1, Frames::ipv6_udp});
  return all;
}

Result<uint64_t> run_case(const Case& c) {
  Result<std::unique_ptr<RingLoop>> created = RingLoop::create("loop", kFlows, c.frames);
  if (!created) {
    return created.error();
  }
  RingLoop& ring = **created;
  const uint16_t source = ring.source();
  std::vector<uint16_t> members;
  for (unsigned i = 0; i < c.members; ++i) {
    const bool frees = i > 0 && leaves(c.bond->mode) == Leaves::copies;
    const std::string name = fmt::format("member{}", i);
    Result<uint16_t> member = frees ? ring.add_sink(name, true) : ring.add_port(name, true);
    if (!member) {
      return member.error();
    }
    members.push_back(*member);
  }
  auto worker = std::make_unique<BondWorker>();
  Run run = [=](uint64_t rounds) { return plain_loop(source, source, rounds); };
  if (c.bond != nullptr) {
    set_up(*worker, *c.bond, members);
    worker->table.packets_per_slave = c.packets_per_slave;
    worker->table.seal();
    worker->state.random = 1;
    run = [source, w = worker.get()](uint64_t rounds) { return bond_loop(source, *w, rounds); };
  }
  const uint64_t packets = counted(run, kRounds);
  if (packets != kRounds * kBurst || ring.frames() != kFlows) {
    return fail(EIO, fmt::format("{} packets, {} frames left", packets, ring.frames()));
  }
  return packets;
}

int list() {
  for (const Case& c : cases()) {
    fmt::print("{}\n", c.name);
  }
  return 0;
}

int run_named(const std::string& name) {
  for (const Case& c : cases()) {
    if (c.name != name) {
      continue;
    }
    if (Status eal = start_eal("xbond-count"); !eal) {
      fmt::print(stderr, "xbond-count: {}\n", eal.error().text);
      return 1;
    }
    Result<uint64_t> packets = run_case(c);
    if (!packets) {
      fmt::print(stderr, "xbond-count: {}: {}\n", name, packets.error().text);
      return 1;
    }
    fmt::print("{}\n", *packets);
    return 0;
  }
  fmt::print(stderr, "xbond-count: no case \"{}\"; see --list\n", name);
  return 1;
}

}  // namespace
}  // namespace xbond::perf

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: xbond-count CASE | --list\n");
    return 1;
  }
  const std::string argument = argv[1];
  return argument == "--list" ? xbond::perf::list() : xbond::perf::run_named(argument);
}
