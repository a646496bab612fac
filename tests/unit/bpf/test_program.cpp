// Loading real objects and running them; engines; maps that outlive a program; xdp-filter as its users know it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

std::string path_of(const std::string& name) {
  return std::string(XBOND_BPF_OBJECTS) + "/" + name;
}

Result<std::shared_ptr<Program>> load_file(const std::string& path, const LoadOptions& options = {},
                                           std::string_view wanted = "") {
  const auto object = Object::open(path);
  if (!object) return object.error();
  const auto spec = object->select(wanted);
  if (!spec) return spec.error();
  return Program::load(*object, **spec, options);
}

uint32_t run_one(const Program& program, Frame& frame, uint32_t cpu = 0) {
  uint32_t verdict = 0xdead;
  program.run_burst({&frame.view, 1}, &verdict, cpu);
  return verdict;
}

TEST(Program, SmallObjectsGiveTheirVerdicts) {
  const auto verdict = [](const std::string& name, std::string_view wanted = "") {
    const auto program = load_file(path_of(name), {}, wanted);
    EXPECT_TRUE(program) << program.error().text;
    Frame frame;
    return program ? run_one(**program, frame) : 0xdead;
  };
  EXPECT_EQ(verdict("xdp_pass.o"), XDP_PASS);
  EXPECT_EQ(verdict("xdp_drop.o"), XDP_DROP);
  EXPECT_EQ(verdict("xdp_tx.o"), XDP_TX);
  EXPECT_EQ(verdict("xdp_aborted.o"), XDP_ABORTED);
  EXPECT_EQ(verdict("xdp_unknown.o"), 42U);
  EXPECT_EQ(verdict("xdp_two.o", "first"), XDP_PASS);
  EXPECT_EQ(verdict("xdp_two.o", "second"), XDP_DROP);
}

TEST(Program, SwapsAddresses) {
  const auto program = load_file(path_of("xdp_tx_swap.o"));
  ASSERT_TRUE(program) << program.error().text;
  Frame frame;
  EXPECT_EQ(run_one(**program, frame), XDP_TX);
  const auto packet = frame.packet();
  EXPECT_EQ((std::vector<uint8_t>{packet.begin(), packet.begin() + 13}),
            (std::vector<uint8_t>{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12}));
  Frame brief(13);
  EXPECT_EQ(run_one(**program, brief), XDP_DROP);
}

TEST(Program, OutOfBoundsIsAbortedCountedAndExplained) {
  const auto program = load_file(path_of("xdp_oob.o"));
  ASSERT_TRUE(program) << program.error().text;
  EXPECT_EQ((*program)->faults().count, 0U);
  EXPECT_EQ((*program)->faults().last, "");
  Frame frame;
  EXPECT_EQ(run_one(**program, frame), XDP_ABORTED);
  EXPECT_EQ(run_one(**program, frame), XDP_ABORTED);
  EXPECT_EQ((*program)->faults().count, 2U);
  EXPECT_TRUE((*program)->faults().last.ends_with(": read outside stack, packet and map values"));
}

TEST(Program, RefusedProgramsDoNotLoad) {
  const auto object = Object::of(
      "o", {},
      {{.name = "p", .section = "xdp", .insns = {mov(0, 2), leave()}, .refused = "it needs what is not here"}});
  const auto program = Program::load(object, object.programs()[0], {});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ENOTSUP);
  EXPECT_EQ(program.error().text, "object o: program p: it needs what is not here");
  EXPECT_FALSE(object.select("p"));
}

TEST(Program, SaysWhatItIs) {
  const auto program = load_file(path_of("xdp_count.o"), {.cpus = 2});
  ASSERT_TRUE(program);
  EXPECT_EQ((*program)->name(), "xdp_count");
  EXPECT_EQ((*program)->section(), "xdp");
  EXPECT_EQ((*program)->object_name(), path_of("xdp_count.o"));
  EXPECT_GT((*program)->instructions(), 20U);
  const bool llvm = engine_available(EngineKind::llvm).ok();
  EXPECT_EQ((*program)->engine(), llvm ? EngineKind::llvm : EngineKind::interpreter);
  EXPECT_EQ((*program)->why_engine(), llvm ? "rte_bpf: not in this build" : "rte_bpf, llvm: not in this build");
  ASSERT_EQ((*program)->maps().size(), 2U);
  const auto other = load_file(path_of("xdp_count.o"));
  ASSERT_TRUE(other);
  EXPECT_NE((*program)->id(), (*other)->id());
}

TEST(Program, EnginesByName) {
  for (const auto kind : {EngineKind::automatic, EngineKind::rte_bpf, EngineKind::llvm, EngineKind::interpreter}) {
    const auto parsed = parse_engine(engine_name(kind));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, kind);
  }
  const auto wrong = parse_engine("jit");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().text, "unknown engine jit: auto, rte_bpf, llvm or interpreter");
  EXPECT_FALSE(parse_engine(""));
  const bool llvm = engine_available(EngineKind::llvm).ok();
  for (const auto kind : {EngineKind::rte_bpf, EngineKind::llvm, EngineKind::interpreter}) {
    const auto program = load_file(path_of("xdp_pass.o"), {.engine = kind});
    ASSERT_EQ(program.ok(), engine_available(kind).ok());
    if (program) {
      EXPECT_EQ((*program)->engine(), kind);
      EXPECT_EQ((*program)->why_engine(), "");
      continue;
    }
    EXPECT_EQ(program.error().code, ENOTSUP);
    EXPECT_EQ(program.error().text.substr(program.error().text.find("engine ")),
              fmt::format("engine {} is not in this build; there is {}interpreter", engine_name(kind),
                          llvm ? "llvm and " : ""));
  }
}

TEST(Program, BurstsKeepEachFramesVerdict) {
  const auto program = load_file(path_of("xdp_count.o"), {.cpus = 2});
  ASSERT_TRUE(program) << program.error().text;
  std::vector<Frame> frames;
  for (const uint16_t type : {0x0800, 0x86dd, 0x0806, 0x1234}) {
    auto bytes = Frame::counting(60);
    bytes[12] = static_cast<uint8_t>(type >> 8);
    bytes[13] = static_cast<uint8_t>(type);
    frames.emplace_back(std::span<const uint8_t>(bytes));
  }
  frames.emplace_back(13);
  std::vector<XdpFrame> views;
  for (auto& frame : frames) views.push_back(frame.view);
  std::vector<uint32_t> verdicts(views.size(), 99);
  (*program)->run_burst(views, verdicts.data(), 1);
  EXPECT_EQ(verdicts, std::vector<uint32_t>(5, XDP_PASS));

  const auto maps = (*program)->maps();
  for (uint32_t slot = 0; slot < 6; ++slot) {
    uint64_t count = 0;
    std::array<uint64_t, 4> own{};
    const auto key = std::as_bytes(std::span(&slot, 1));
    ASSERT_EQ(maps[0]->copy_lookup(key, std::as_writable_bytes(std::span(&count, 1))), 0);
    ASSERT_EQ(maps[1]->copy_lookup(key, std::as_writable_bytes(std::span(own))), 0);
    EXPECT_EQ(count, slot == 0 ? 5U : 1U) << slot;
    EXPECT_EQ(own[0], 0U);
    EXPECT_EQ(own[2], count);
    EXPECT_EQ(own[3], slot == 0 ? 4U * 60 + 13 : slot == 5 ? 13U : 60U);
  }
}

TEST(Program, EmptyBurstAndUnknownWorker) {
  const auto program = load_file(path_of("xdp_pass.o"), {.cpus = 1});
  ASSERT_TRUE(program);
  uint32_t verdict = 77;
  (*program)->run_burst({}, &verdict, 0);
  EXPECT_EQ(verdict, 77U);
  Frame frame;
  EXPECT_EQ(run_one(**program, frame, 1), XDP_ABORTED);
  EXPECT_FALSE(load_file(path_of("xdp_pass.o"), {.cpus = 0}));
}

uint64_t count_of(Map& map, uint32_t slot) {
  uint64_t value = 0;
  EXPECT_EQ(map.copy_lookup(std::as_bytes(std::span(&slot, 1)), std::as_writable_bytes(std::span(&value, 1))), 0);
  return value;
}

TEST(Program, MapsOfTheSameShapeOutliveASwap) {
  const auto first = load_file(path_of("xdp_count.o"), {.cpus = 2});
  ASSERT_TRUE(first);
  Frame frame;
  run_one(**first, frame);
  const auto second = load_file(path_of("xdp_count.o"), {.cpus = 2, .reuse = (*first)->maps()});
  ASSERT_TRUE(second);
  EXPECT_EQ((*first)->maps()[0], (*second)->maps()[0]);
  EXPECT_EQ((*first)->maps()[1], (*second)->maps()[1]);
  run_one(**second, frame);
  EXPECT_EQ(count_of(*(*second)->maps()[0], 0), 2U);

  // Another number of workers: per-CPU values no longer fit
  const auto third = load_file(path_of("xdp_count.o"), {.cpus = 3, .reuse = (*first)->maps()});
  ASSERT_TRUE(third);
  EXPECT_EQ((*first)->maps()[0], (*third)->maps()[0]);
  EXPECT_NE((*first)->maps()[1], (*third)->maps()[1]);
}

TEST(Program, PinnedMapsAreSharedByName) {
  auto spec = array_spec("shared", 8, 4);
  spec.pinned = true;
  const auto first = *Map::create(spec, 1);
  const std::vector<std::shared_ptr<Map>> pins{first};
  const auto load_with = [&](const MapSpec& wanted) {
    const auto object =
        Object::of("o", {wanted}, {{.name = "p", .section = "xdp", .insns = {mov(0, XDP_PASS), leave()}}});
    return Program::load(object, object.programs()[0], {.cpus = 1, .pinned = pins});
  };
  const auto same = load_with(spec);
  ASSERT_TRUE(same) << same.error().text;
  EXPECT_EQ((*same)->maps()[0], first);
  auto own = spec;
  own.pinned = false;
  EXPECT_NE((*load_with(own))->maps()[0], first) << "of that name, but not declared to be pinned";
  auto larger = spec;
  larger.max_entries = 5;
  const auto refused = load_with(larger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EINVAL);
  EXPECT_NE(refused.error().text.find("map shared: pinned by another program with another shape"), std::string::npos)
      << refused.error().text;
}

TEST(Program, MapsOfAnotherShapeAreMadeNew) {
  const auto reused = [](const MapSpec& old_spec, const MapSpec& new_spec) {
    const auto old_map = *Map::create(old_spec, 1);
    const std::vector<std::shared_ptr<Map>> kept{nullptr, old_map};
    const auto object =
        Object::of("o", {new_spec}, {{.name = "p", .section = "xdp", .insns = {mov(0, XDP_PASS), leave()}}});
    const auto program = Program::load(object, object.programs()[0], {.cpus = 1, .reuse = kept});
    EXPECT_TRUE(program);
    return (*program)->maps()[0] == old_map;
  };
  const auto spec = array_spec("m", 8, 4);
  EXPECT_TRUE(reused(spec, spec));
  EXPECT_FALSE(reused(spec, array_spec("n", 8, 4)));
  EXPECT_FALSE(reused(spec, array_spec("m", 4, 4)));
  EXPECT_FALSE(reused(spec, array_spec("m", 8, 5)));
  EXPECT_FALSE(reused(spec, array_spec("m", 8, 4, BPF_F_RDONLY_PROG)));
  EXPECT_FALSE(reused(spec, percpu_spec("m", 8, 4)));
  // A data section is part of the code that it came with
  auto data = array_spec(".data", 8, 1);
  data.initial.assign(8, std::byte{1});
  EXPECT_FALSE(reused(data, data));
}

TEST(Program, UnsupportedMapsMatterOnlyWhenUsed) {
  auto sockets = array_spec("table", 8, 4);
  sockets.type = BPF_MAP_TYPE_SOCKMAP;
  Bench unused({mov(0, XDP_PASS), leave()}, {sockets, array_spec("m", 8, 1)});
  ASSERT_TRUE(unused.program) << unused.error.text;
  EXPECT_EQ(unused.program->maps().size(), 1U);
  const Bench used(join({map_pointer(1, 0), mov(0, XDP_PASS), leave()}), {sockets});
  ASSERT_FALSE(used.program);
  EXPECT_EQ(used.error.code, ENOTSUP);
  EXPECT_EQ(used.error.text, "object test.o: program test: map table: type sockmap is not supported by this version");
}

TEST(Program, RunsOnSeveralWorkersAtOnce) {
  constexpr uint32_t kWorkers = 3;
  constexpr int kRounds = 2000;
  const auto program = load_file(path_of("xdp_count.o"), {.cpus = kWorkers});
  ASSERT_TRUE(program);
  std::vector<std::thread> workers;
  for (uint32_t cpu = 0; cpu < kWorkers; ++cpu)
    workers.emplace_back([&, cpu] {
      Frame frame;
      for (int i = 0; i < kRounds; ++i) run_one(**program, frame, cpu);
    });
  uint64_t seen = 0;
  for (int i = 0; i < 200; ++i) {
    const auto now = count_of(*(*program)->maps()[0], 0);
    EXPECT_GE(now, seen);
    seen = now;
    EXPECT_EQ((*program)->faults().count, 0U);
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(count_of(*(*program)->maps()[0], 0), uint64_t{kWorkers} * kRounds);
}

// --- xdp-filter of the package xdp-tools. Its "alw" objects let pass what is not listed, its "dny" objects drop it.
constexpr auto kFilterDirectory = "/usr/lib/x86_64-linux-gnu/bpf/";

std::vector<uint8_t> udp_packet(uint16_t destination) {
  std::vector<uint8_t> packet(60, 0);
  for (int i = 0; i < 12; ++i) packet[static_cast<size_t>(i)] = static_cast<uint8_t>(2 + i);
  packet[12] = 0x08;
  packet[14] = 0x45;
  packet[17] = 46;
  packet[22] = 64;
  packet[23] = 17;
  packet[34] = 0x12;
  packet[35] = 0x34;
  packet[36] = static_cast<uint8_t>(destination >> 8);
  packet[37] = static_cast<uint8_t>(destination);
  packet[39] = 26;
  return packet;
}

Map* map_named(const Program& program, std::string_view name) {
  const auto it = std::ranges::find(program.maps(), name, [](const auto& map) { return map->spec().name; });
  return it == program.maps().end() ? nullptr : it->get();
}

struct Filter {
  std::shared_ptr<Program> program;
  Map* ports;
  Map* stats;
};

// Lists `port` (destination, UDP) as `xdp-filter port PORT -p udp -m dst` does.
Filter load_filter(const std::string& name, uint16_t port) {
  const auto program = load_file(kFilterDirectory + name, {.cpus = 2});
  EXPECT_TRUE(program) << program.error().text;
  Filter filter{*program, map_named(**program, "filter_ports"), map_named(**program, "xdp_stats_map")};
  constexpr uint64_t kDestination = 1 << 1;
  constexpr uint64_t kUdp = 1 << 3;
  const std::array<uint64_t, 2> flags{kDestination | kUdp, kDestination | kUdp};
  const uint32_t key = __builtin_bswap16(port);  // in network order, as in the frame
  EXPECT_EQ(filter.ports->copy_update(std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(flags)), BPF_ANY), 0);
  return filter;
}

TEST(XdpFilter, DropsOneUdpPort) {
  if (!std::filesystem::exists(std::string(kFilterDirectory) + "xdpfilt_alw_udp.o"))
    GTEST_SKIP() << "package xdp-tools is not installed";
  for (const bool listed_drops : {true, false}) {
    const auto filter = load_filter(listed_drops ? "xdpfilt_alw_udp.o" : "xdpfilt_dny_udp.o", 4242);
    ASSERT_EQ(filter.ports->spec().max_entries, 65536U);
    Frame hit(udp_packet(4242));
    Frame miss(udp_packet(4243));
    EXPECT_EQ(run_one(*filter.program, hit, 1), listed_drops ? XDP_DROP : XDP_PASS);
    EXPECT_EQ(run_one(*filter.program, miss, 1), listed_drops ? XDP_PASS : XDP_DROP);
    EXPECT_EQ(run_one(*filter.program, miss, 0), listed_drops ? XDP_PASS : XDP_DROP);
    EXPECT_EQ(filter.program->faults().count, 0U) << filter.program->faults().last;

    // Statistics by verdict: packets, bytes, for each worker
    std::array<uint64_t, 4> stats{};
    const uint32_t drop = XDP_DROP;
    ASSERT_EQ(filter.stats->copy_lookup(std::as_bytes(std::span(&drop, 1)), std::as_writable_bytes(std::span(stats))),
              0);
    if (listed_drops)
      EXPECT_EQ(stats, (std::array<uint64_t, 4>{0, 0, 1, 60}));
    else
      EXPECT_EQ(stats, (std::array<uint64_t, 4>{1, 60, 1, 60}));
    // The listed port counts its own hits above the six bits of flags
    std::array<uint64_t, 2> ports{};
    const uint32_t key = __builtin_bswap16(4242);
    ASSERT_EQ(filter.ports->copy_lookup(std::as_bytes(std::span(&key, 1)), std::as_writable_bytes(std::span(ports))),
              0);
    EXPECT_EQ(ports[1] >> 6, 1U);
    EXPECT_EQ(ports[0] >> 6, 0U);
  }
}

TEST(XdpFilter, DispatcherRunsItsGlobalFunctions) {
  const auto path = std::string(kFilterDirectory) + "xdp-dispatcher.o";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "package libxdp1 is not installed";
  const auto program = load_file(path, {}, "xdp_dispatcher");
  ASSERT_TRUE(program) << program.error().text;
  Frame frame;
  EXPECT_EQ(run_one(**program, frame), XDP_PASS);  // no program enabled in it
  EXPECT_EQ((*program)->faults().count, 0U) << (*program)->faults().last;
}

}  // namespace
}  // namespace xbond::bpf::test
