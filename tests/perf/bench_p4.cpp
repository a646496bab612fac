// P4, programs: cycles a run by each engine of this build, against the running kernel's (BPF_PROG_TEST_RUN) and against
// the same program compiled for the host as the limit. "Net" is less the empty program by the same side.
#include <fmt/core.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "bpf_compat/engine/program.hpp"
#include "tests/conformance/bpf/kernel_object.hpp"
#include "tests/perf/harness.hpp"
#include "tests/perf/p4_native.hpp"

namespace xbond::perf {
namespace {

constexpr size_t kBurst = 32;
constexpr uint64_t kRounds = 64;  // bursts a slice
constexpr uint32_t kKeys = 65536;

struct Case {
  const char* program;
  const char* what;
  double net;     // most of the kernel's net cycles
  double native;  // most of the host compiler's net cycles, by llvm; 0: not compared
};
constexpr std::array kCases = {
    Case{"swap", "parse, swap", 1.0, 1.5},      Case{"count", "CPU counter", 1.0, 1.5},
    Case{"fields_hot", "hash hot", 0.45, 1.5},  Case{"fields_many", "hash 64k", 0.45, 1.5},
    Case{"words_hot", "words hot", 0.45, 2.0},  Case{"words_many", "words 64k", 0.45, 2.0},
    Case{"checksum", "checksum", 1.0, 1.5},     Case{"balance_hot", "mix hot", 0.45, 1.5},
    Case{"balance_many", "mix 64k", 0.45, 1.5},
};

// An Ethernet, IPv4 and UDP header, and some bytes.
std::vector<uint8_t> frame_bytes() {
  std::vector<uint8_t> bytes(64, 0);
  bytes[12] = 0x08;
  bytes[14] = 0x45;
  bytes[23] = 17;
  const std::array<uint8_t, 12> flow = {1, 0, 0, 10, 2, 0, 0, 10, 0x10, 0x20, 0x30, 0x40};
  std::ranges::copy(flow, bytes.begin() + 26);
  return bytes;
}

// The key of the frame's flow, and of those that a turn makes of it.
std::array<uint8_t, 16> key_at(uint32_t turn) {
  const auto frame = frame_bytes();
  std::array<uint8_t, 16> key{};
  uint32_t source = 0;
  std::memcpy(&source, frame.data() + 26, 4);
  source += turn;
  std::memcpy(key.data(), &source, 4);
  std::memcpy(key.data() + 4, frame.data() + 30, 8);
  key[12] = 17;
  return key;
}

Status fill(bpf::Map& map) {
  const std::array<std::byte, 24> value{};
  for (uint32_t turn = 0; turn < kKeys; ++turn) {
    const auto key = key_at(turn);
    if (const int rc = map.copy_update(std::as_bytes(std::span(key)), value, BPF_ANY); rc != 0)
      return fail(-rc, "flows can't be filled");
  }
  return {};
}

Status fill(int map) {
  const std::array<std::byte, 24> value{};
  for (uint32_t turn = 0; turn < kKeys; ++turn)
    if (bpf_map_update_elem(map, key_at(turn).data(), value.data(), BPF_ANY) != 0)
      return fail(errno, "the kernel's flows can't be filled");
  return {};
}

// A burst of frames of one flow, each in a buffer of its own.
class Frames {
 public:
  Frames() {
    const auto bytes = frame_bytes();
    for (size_t i = 0; i < kBurst; ++i) {
      auto* data = buffers_.data() + i * kBuffer + kFront;
      std::ranges::copy(bytes, data);
      views_[i] = {data, data + bytes.size(), data, data - kFront, data - kFront + kBuffer, 1, 0, 0};
    }
  }
  std::span<bpf::XdpFrame> views() { return views_; }

 private:
  static constexpr size_t kBuffer = 512;
  static constexpr size_t kFront = 128;
  std::vector<uint8_t> buffers_ = std::vector<uint8_t>(kBuffer * kBurst);
  std::array<bpf::XdpFrame, kBurst> views_{};
};

template <class Burst>
Side side(std::string name, Burst burst) {
  auto frames = std::make_shared<Frames>();
  return {std::move(name), [=](uint64_t rounds) {
            std::array<uint32_t, kBurst> verdicts;
            for (uint64_t i = 0; i < rounds; ++i) burst(frames->views(), verdicts.data());
            return rounds * kBurst;
          }};
}

// What the sides run on; outlives them.
struct Loaded {
  std::vector<std::shared_ptr<bpf::Program>> programs;
  std::vector<bpf::conformance::KernelObject> kernel;
};

Result<Side> ours(const bpf::Object& object, const std::string& name, bpf::EngineKind engine, Loaded& loaded) {
  const auto spec = object.select(name);
  if (!spec) return spec.error();
  auto program = bpf::Program::load(object, **spec, {.engine = engine});
  if (!program) return program.error();
  if (auto status = fill(*(*program)->maps()[0]); !status) return status.error();
  loaded.programs.push_back(*program);
  return side(
      fmt::format("{} {}", bpf::engine_name(engine), name),
      [p = program->get()](std::span<bpf::XdpFrame> frames, uint32_t* verdicts) { p->run_burst(frames, verdicts, 0); });
}

Result<Side> native(const std::string& name, const Loaded& loaded) {
  const auto run = p4_native(name);
  if (!run) return fail(ENOENT, fmt::format("no program {} for the host", name));
  const auto maps = loaded.programs.back()->maps();
  return side(fmt::format("native {}", name),
              [run, of = P4Maps{maps[0].get(), maps[1].get()}](std::span<bpf::XdpFrame> frames, uint32_t* verdicts) {
                run(of, frames, verdicts);
              });
}

Result<Side> kernel(const std::string& name, Loaded& loaded) {
  std::string why;
  auto object = bpf::conformance::KernelObject::by_libbpf(XBOND_P4_OBJECT, name, why);
  if (!object.valid()) return fail(ENOTSUP, fmt::format("the kernel does not take {}: {}", name, why));
  if (const int flows = object.map("flows"); flows >= 0)
    if (auto status = fill(flows); !status) return status.error();
  const int fd = object.program();
  loaded.kernel.push_back(std::move(object));
  return Side{fmt::format("kernel {}", name), [fd, frame = frame_bytes()](uint64_t rounds) {
                bpf_test_run_opts run{};
                run.sz = sizeof(run);
                run.data_in = frame.data();
                run.data_size_in = static_cast<uint32_t>(frame.size());
                // The system call is not what is measured
                run.repeat = static_cast<int>(rounds * kBurst * 8);
                return bpf_prog_test_run_opts(fd, &run) == 0 ? rounds * kBurst * 8 : 1;
              }};
}

using Cycles = std::map<std::string, double>;

void rows_of(const Case& c, const std::string& engine, Cycles& cycles, Table& table) {
  const auto net = [&](const std::string& side) {
    return std::max(cycles[side + " " + c.program] - cycles[side + " empty"], 0.0);
  };
  table.rows.push_back({fmt::format("{} net", c.what), "cycles", net("kernel"), net(engine), c.net * net("kernel")});
  if (engine == "llvm")
    table.rows.push_back(
        {fmt::format("{} C", c.what), "cycles", net("native"), net(engine), c.native * net("native") + 1});
}

}  // namespace

Result<Table> programs(const Options& options) {
  const auto object = bpf::Object::open(XBOND_P4_OBJECT);
  if (!object) return object.error();
  const auto engine =
      bpf::engine_available(bpf::EngineKind::llvm) ? bpf::EngineKind::llvm : bpf::EngineKind::interpreter;
  Loaded loaded;
  std::vector<Side> sides;
  std::vector<std::string> names{"empty"};
  for (const auto& c : kCases) names.emplace_back(c.program);
  for (const auto& name : names) {
    for (auto made : {ours(*object, name, bpf::EngineKind::interpreter, loaded), ours(*object, name, engine, loaded),
                      kernel(name, loaded)}) {
      if (!made) return made.error();
      sides.push_back(std::move(*made));
    }
    auto limit = native(name, loaded);
    if (!limit) return limit.error();
    sides.push_back(std::move(*limit));
  }
  Table table;
  table.raw = measure(sides, options.seconds, kRounds);
  Cycles cycles;
  for (const auto& m : table.raw) cycles[m.name] = m.cycles;
  const std::string by(bpf::engine_name(engine));
  for (const auto* name : {"empty", "swap", "count"})
    table.rows.push_back({fmt::format("{} total", name), "cycles", cycles[std::string("kernel ") + name],
                          cycles[by + " " + name], 0.5 * cycles[std::string("kernel ") + name]});
  for (const auto& c : kCases) rows_of(c, by, cycles, table);
  table.notes.push_back(
      fmt::format("xbond is engine {}; \"C\" is the same program by the host's compiler, in the place "
                  "of the rival, with a cycle for the measurement",
                  by));
  return table;
}

}  // namespace xbond::perf
