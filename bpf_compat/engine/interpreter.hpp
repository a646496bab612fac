// The interpreter: always there, checks every access at run time. The reference for other engines.
#pragma once

#include <memory>
#include <vector>

#include "bpf_compat/engine/cpu_state.hpp"
#include "bpf_compat/engine/decoded.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/engine/run.hpp"

namespace xbond::bpf {

// Instructions of one run, before it counts as endless: the kernel's verifier walks as many.
inline constexpr int64_t kInstructionBudget = 1'000'000;

// Runs the program on run.frame, whose stack (all frames) is `stack`. Returns r0; run.fault says whether it holds, and
// `fault_at` then which entry broke a rule.
uint64_t interpret(const Decoded* code, Run& run, std::span<std::byte> stack, uint32_t& fault_at) noexcept;

class InterpreterProgram : public Program {
 public:
  // What a tail call runs.
  [[nodiscard]] const Unit& unit() const { return unit_; }

  // What Program::load has made; maps_ may hold more than the program uses.
  struct Parts {
    std::string name, section, object_name, why;
    size_t instructions = 0;
    std::vector<std::shared_ptr<Map>> maps;
    std::vector<BoundMap> bound;  // addresses of its elements are in `code`: it only moves
    DecodedCode code;
    uint32_t frames = 1;
    uint32_t cpus = 1;
    bool own_grace = true;             // nobody else knows when a burst ends
    std::shared_ptr<Loading> loading;  // null: runs only in the place of another program, which keeps its maps in use
  };
  explicit InterpreterProgram(Parts parts);
  ~InterpreterProgram() override;

  void run_burst(std::span<XdpFrame> frames, uint32_t* verdicts, uint32_t cpu) const noexcept override;
  [[nodiscard]] Faults faults() const override;
  uint64_t drain_trace(const std::function<void(std::string_view)>& sink) const override;

 protected:
  // Where tail calls enter the machine code that a subclass has. Before the program is known to anyone.
  void set_native(const void* entry) { unit_.native = entry; }
  // Of its worker: null where there is no such worker.
  [[nodiscard]] CpuState* state_of(uint32_t cpu) const { return cpu < state_.size() ? &state_[cpu] : nullptr; }
  [[nodiscard]] bool own_grace() const { return own_grace_; }

 private:
  std::vector<BoundMap> bound_;
  DecodedCode code_;
  Unit unit_;
  uint32_t frames_;
  bool own_grace_;
  mutable std::vector<CpuState> state_;  // by worker
};

}  // namespace xbond::bpf
