#include "bpf_compat/engine/llvm/program.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/clock.hpp"

namespace xbond::bpf::llvm {
namespace {

// --- what native code calls

// What the hooks find behind the plain part.
struct BurstOfUnit : Native {
  const Unit* first = nullptr;  // the program itself
};

void begin_frame(Native* native) noexcept {
  auto& run = *native->run;
  native->unit = static_cast<BurstOfUnit*>(native)->first;
  native->callbacks = 0;
  run.begin(*native->unit);
  run.set_frame(*native->frame);
}

uint64_t end_frame(Native* native, uint64_t r0) noexcept {
  auto& run = *native->run;
  if (!run.end_all() && run.fault == Fault::none) {
    run.fault = Fault::unfinished;
    native->fault_at = 0;
  }
  if (run.fault == Fault::none) [[likely]]
    return r0;
  run.state.record(run.fault, native->fault_at, clock_ns(CLOCK_MONOTONIC_COARSE));
  run.fault = Fault::none;
  return XDP_ABORTED;
}

uint64_t tail(Native* native, const BoundMap* map, uint64_t index) noexcept {
  const auto* target = native->run->tail_target(*map, index);
  if (!target) return kNoTail;
  native->unit = target;
  native->run->use(target);
  return target->native ? reinterpret_cast<uintptr_t>(target->native) : kInterpreted;
}

// native->unit to its end, and whatever it goes on with.
uint64_t interpret_unit(Native* native) noexcept {
  auto& run = *native->run;
  alignas(16) std::array<std::byte, size_t{isa::kFrameBytes} * isa::kMaxFrames> stack{};
  uint32_t entry = 0;
  const auto native_call = std::exchange(run.native_call, nullptr);
  const auto r0 = interpret(native->unit->code, run, stack, entry);
  run.native_call = native_call;
  if (run.fault != Fault::none) native->fault_at = run.unit->origin[entry];
  return r0;
}

void back(Native* native, const Unit* unit) noexcept {
  native->unit = unit;
  native->run->use(unit);
}

using Callback = uint64_t (*)(Native* native, uint64_t stack, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4);

// A function that a helper calls back. Each turn counts as an instruction of the budget.
uint64_t call_back(void* of, uint64_t function, const std::array<uint64_t, 4>& arguments) noexcept {
  auto* native = static_cast<Native*>(of);
  auto& run = *native->run;
  if (++native->callbacks > static_cast<uint64_t>(kInstructionBudget)) return run.fail(Fault::budget);
  const auto stack = native->callback_stack;
  const auto* unit = native->unit;
  const auto region = run.stack;
  const auto call = reinterpret_cast<Callback>(function);  // NOLINT(performance-no-int-to-ptr): the verifier knows it
  const auto r0 = call(native, stack, arguments[0], arguments[1], arguments[2], arguments[3]);
  native->callback_stack = stack;
  if (native->unit != unit) {
    back(native, unit);
    run.stack = region;
  }
  return r0;
}

constexpr Hooks kHooks = {
    .begin = begin_frame, .end = end_frame, .tail = tail, .interpret = interpret_unit, .back = back};

// --- a burst

void run_with(const Code::Traits& code, const Unit& unit, Run& run, std::span<XdpFrame> frames,
              void* verdicts) noexcept {
  BurstOfUnit native;
  native.cpu = run.cpu;
  native.run = &run;
  native.fault = &run.fault;
  native.stack = &run.stack;
  native.context = run.context();
  native.first = &unit;
  run.native_call = call_back;
  run.native = static_cast<Native*>(&native);
  code.burst(&native, frames.data(), frames.size(), verdicts);
}

// Also an interpreted program: an interpreted one may go on with it by a tail call.
class LlvmProgram final : public InterpreterProgram {
 public:
  LlvmProgram(Parts parts, std::unique_ptr<Code> code)
      : InterpreterProgram(std::move(parts)), code_(std::move(code)), traits_(code_->traits()) {
    engine_ = EngineKind::llvm;
    set_native(traits_.entry);
  }

  void run_burst(std::span<XdpFrame> frames, uint32_t* verdicts, uint32_t cpu) const noexcept override {
    auto* state = state_of(cpu);
    if (!state) {
      std::fill_n(verdicts, frames.size(), uint32_t{XDP_ABORTED});
      return;
    }
    std::optional<BurstGrace::Burst> burst;
    if (own_grace() && traits_.needs_grace) burst.emplace();
    if (traits_.needs_run) {
      Run run(unit().maps, *state, cpu);
      return run_with(traits_, unit(), run, frames, verdicts);
    }
    Native native;
    native.cpu = cpu;
    traits_.burst(&native, frames.data(), frames.size(), verdicts);
  }

 private:
  std::unique_ptr<Code> code_;
  Code::Traits traits_;
};

}  // namespace

Source source_of(const Object& object, const ProgramSpec& program, const verifier::Facts& facts,
                 std::span<const BoundMap* const> bound) {
  return {.program = &program, .facts = &facts, .specs = object.maps(), .bound = bound, .hooks = kHooks};
}

std::shared_ptr<Program> make_program(InterpreterProgram::Parts parts, std::unique_ptr<Code> code) {
  return std::make_shared<LlvmProgram>(std::move(parts), std::move(code));
}

Result<uint64_t> run_once(Source source, Run& run) {
  source.whole_r0 = true;
  const auto code = Code::compile(source);
  if (!code) return code.error();
  uint8_t nothing = 0;
  XdpFrame frame{&nothing, &nothing, &nothing, &nothing, &nothing, 0, 0, 0};
  uint64_t r0 = 0;
  run_with((*code)->traits(), Unit{.maps = run.maps()}, run, {&frame, 1}, &r0);
  if (run.state.faults.load(std::memory_order_relaxed) == 0) return r0;
  const auto last = run.state.last_fault.load(std::memory_order_relaxed);
  return at(last >> 8, fault_text(static_cast<Fault>(last & 0xff)));
}

}  // namespace xbond::bpf::llvm
