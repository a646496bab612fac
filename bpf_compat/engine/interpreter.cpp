#include "bpf_compat/engine/interpreter.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/clock.hpp"
#include "bpf_compat/object/text.hpp"

namespace xbond::bpf {
namespace {

uint64_t random_seed() {
  uint64_t seed = 0;
  // Without entropy the clock has to do: these numbers protect nothing
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) seed = clock_ns(CLOCK_MONOTONIC);
  return seed;
}

}  // namespace

InterpreterProgram::InterpreterProgram(Parts parts)
    : bound_(std::move(parts.bound)),
      code_(std::move(parts.code)),
      frames_(parts.frames),
      own_grace_(parts.own_grace),
      state_(parts.cpus) {
  static std::atomic<uint32_t> last_id{0};
  id_ = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  name_ = std::move(parts.name);
  section_ = std::move(parts.section);
  object_name_ = std::move(parts.object_name);
  why_ = std::move(parts.why);
  instructions_ = parts.instructions;
  engine_ = EngineKind::interpreter;
  maps_ = std::move(parts.maps);
  loading_ = std::move(parts.loading);
  unit_ = {code_.ops.data(), bound_, code_.origin, code_.callbacks, frames_};
  // What runs on in its place does so on its stack, and may trace
  if (code_.tail_calls) frames_ = isa::kMaxFrames;
  for (const auto& map : maps_)
    if (loading_) map->add_user();
  for (auto& state : state_) {
    state.random = random_seed();
    if (code_.traces || code_.tail_calls) state.trace = std::make_unique<TraceRing>();
  }
}

InterpreterProgram::~InterpreterProgram() {
  for (const auto& map : maps_)
    if (loading_) map->drop_user();
}

void InterpreterProgram::run_burst(std::span<XdpFrame> frames, uint32_t* verdicts, uint32_t cpu) const noexcept {
  if (cpu >= state_.size()) {
    std::fill_n(verdicts, frames.size(), uint32_t{XDP_ABORTED});
    return;
  }
  std::optional<BurstGrace::Burst> burst;
  if (own_grace_) burst.emplace();
  auto& state = state_[cpu];
  alignas(16) std::array<std::byte, size_t{isa::kFrameBytes} * isa::kMaxFrames> memory;
  // A program may read what it never wrote: nothing of ours must stand there
  const auto stack = std::span(memory).first(size_t{isa::kFrameBytes} * frames_);
  std::ranges::fill(stack, std::byte{0});
  Run run(bound_, state, cpu);
  for (size_t i = 0; i < frames.size(); ++i) {
    run.begin(unit_);
    run.set_frame(frames[i]);
    uint32_t fault_at = 0;
    verdicts[i] = static_cast<uint32_t>(interpret(code_.ops.data(), run, stack, fault_at));
    if (!run.end_all() && run.fault == Fault::none) {
      run.fault = Fault::unfinished;
      run.begin(unit_);
    }
    if (run.fault != Fault::none) [[unlikely]] {
      verdicts[i] = XDP_ABORTED;
      state.record(run.fault, run.unit->origin[fault_at], clock_ns(CLOCK_MONOTONIC_COARSE));
      run.fault = Fault::none;
    }
  }
}

Program::Faults InterpreterProgram::faults() const {
  Faults faults;
  uint64_t latest = 0;
  for (const auto& state : state_) {
    const auto count = state.faults.load(std::memory_order_relaxed);
    const auto time = state.last_fault_time.load(std::memory_order_relaxed);
    faults.count += count;
    if (count == 0 || time < latest) continue;
    latest = time;
    const auto last = state.last_fault.load(std::memory_order_relaxed);
    faults.last = fmt::format("instruction {}: {}", last >> 8, fault_text(static_cast<Fault>(last & 0xff)));
  }
  return faults;
}

uint64_t InterpreterProgram::drain_trace(const std::function<void(std::string_view)>& sink) const {
  uint64_t lost = 0;
  for (const auto& state : state_) {
    if (!state.trace) continue;
    state.trace->drain([&](std::string_view line) {
      while (line.ends_with('\n')) line.remove_suffix(1);
      sink(printable(line));
    });
    lost += state.trace->lost();
  }
  return lost;
}

}  // namespace xbond::bpf
