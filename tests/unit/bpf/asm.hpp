// Programs out of instructions by name, and a bench that runs them on one frame. For tests.
#pragma once

#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/object.hpp"
#include "tests/made/instructions.hpp"

namespace xbond::bpf::test {

// Joins parts; a part may be one instruction or several.
struct Part {
  Part(bpf_insn one) : code{one} {}           // NOLINT(google-explicit-constructor)
  Part(Code many) : code(std::move(many)) {}  // NOLINT(google-explicit-constructor)
  Code code;
};
inline Code join(std::initializer_list<Part> parts) {
  Code all;
  for (const auto& part : parts) all.insert(all.end(), part.code.begin(), part.code.end());
  return all;
}

// An object of test maps, which Object itself only makes from files.
inline MapSpec array_spec(std::string name, uint32_t value_size, uint32_t entries, uint32_t flags = 0) {
  return {.name = std::move(name),
          .type = BPF_MAP_TYPE_ARRAY,
          .key_size = 4,
          .value_size = value_size,
          .max_entries = entries,
          .flags = flags};
}
inline MapSpec percpu_spec(std::string name, uint32_t value_size, uint32_t entries) {
  auto spec = array_spec(std::move(name), value_size, entries);
  spec.type = BPF_MAP_TYPE_PERCPU_ARRAY;
  return spec;
}

// A frame with the kernel's room around it.
class Frame {
 public:
  static constexpr size_t kBuffer = 4096;
  static constexpr size_t kHeadroom = 256 - 40;

  explicit Frame(std::span<const uint8_t> packet) : buffer_(kBuffer, 0xee) {
    std::copy(packet.begin(), packet.end(), buffer_.begin() + kHeadroom);
    auto* data = buffer_.data() + kHeadroom;
    view = {data, data + packet.size(), data, buffer_.data(), buffer_.data() + 4096 - 40 - 320, 7, 3, 0};
  }
  explicit Frame(size_t length = 64) : Frame(counting(length)) {}

  static std::vector<uint8_t> counting(size_t length) {
    std::vector<uint8_t> bytes(length);
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    return bytes;
  }
  [[nodiscard]] std::vector<uint8_t> packet() const { return {view.data, view.data_end}; }

  XdpFrame view;

 private:
  std::vector<uint8_t> buffer_;
};

struct Outcome {
  uint32_t verdict;
  std::string fault;  // empty: none
};

// Those of this build.
inline std::vector<EngineKind> engines() {
  std::vector<EngineKind> all = {EngineKind::rte_bpf, EngineKind::llvm, EngineKind::interpreter};
  std::erase_if(all, [](EngineKind kind) { return !engine_available(kind); });
  return all;
}

// What runs a test that names no engine: the suites run once by each.
inline EngineKind usual_engine() {
  const auto* name = std::getenv("XBOND_TEST_ENGINE");
  const auto engine = parse_engine(name ? name : "interpreter");
  return engine ? *engine : EngineKind::interpreter;
}

// A program and what it runs on.
class Bench {
 public:
  explicit Bench(Code code, std::vector<MapSpec> maps = {}, uint32_t cpus = 2, EngineKind engine = usual_engine()) {
    ProgramSpec spec{.name = "test", .section = "xdp", .insns = std::move(code)};
    const auto object = Object::of("test.o", std::move(maps), {spec});
    auto loaded = Program::load(object, object.programs().front(), {.engine = engine, .cpus = cpus});
    if (loaded)
      program = *loaded;
    else
      error = loaded.error();
  }

  Outcome run(Frame& frame, uint32_t cpu = 0) {
    if (!program) return {0xffffffff, "not loaded: " + error.text};
    const auto before = program->faults().count;
    uint32_t verdict = 0;
    program->run_burst({&frame.view, 1}, &verdict, cpu);
    const auto after = program->faults();
    return {verdict, after.count != before ? after.last : ""};
  }
  Outcome run(uint32_t cpu = 0) {
    Frame frame;
    return run(frame, cpu);
  }
  [[nodiscard]] Map& map(size_t index) const { return *program->maps()[index]; }

  std::shared_ptr<Program> program;
  Error error;
};

}  // namespace xbond::bpf::test
