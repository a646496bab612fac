// Calls between functions of the program, callbacks, and the ways out.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

namespace {

Reg frame_pointer(size_t frame) {
  Reg reg = Reg::pointer(Kind::stack);
  reg.frame = static_cast<uint8_t>(frame);
  return reg;
}

}  // namespace

bool Walk::call_function(uint32_t target) {
  if (state_.frames.size() == kMaxFrames)
    return refuse(fmt::format("the call stack of {} frames is too deep", kMaxFrames + 1));
  const auto caller = flow_.function_of[at_];
  const auto callee = flow_.function_of[target];
  const uint64_t edge = uint64_t{caller} << 32 | callee;
  if (std::ranges::find(calls_, edge) == calls_.end()) calls_.push_back(edge);
  Frame frame;
  frame.function = target;
  frame.return_to = at_ + 1;
  auto& from = state_.frame();
  for (unsigned r = 1; r <= 5; ++r) frame.regs[r] = from.regs[r];
  for (unsigned r = 0; r <= 5; ++r) from.regs[r] = Reg();
  frame.regs[10] = frame_pointer(state_.frames.size());
  state_.frames.push_back(std::move(frame));
  at_ = target;
  return true;
}

// Two ways on from a helper that calls back: it calls the function once (and then comes here again), or no more.
bool Walk::begin_callback(uint32_t number) {
  if (state_.frames.size() == kMaxFrames)
    return refuse(fmt::format("the call stack of {} frames is too deep", kMaxFrames + 1));
  State inside = state_;
  Frame frame;
  frame.function = reg(2).index;
  frame.return_to = at_;
  frame.callback = true;
  frame.references = static_cast<uint32_t>(state_.references.size());
  frame.regs[10] = frame_pointer(state_.frames.size());
  if (number == BPF_FUNC_loop) {
    frame.regs[1] = Reg::unknown(nodes_.made_of(0));
    // The index is below the number of turns
    const auto most = std::min<uint64_t>(reg(1).number.r32.umax, 1 << 23);
    frame.regs[1].number = Number::between(0, most == 0 ? 0 : most - 1);
    precise(reg(1));
    frame.regs[2] = reg(3);
  } else {
    frame.regs[1] = reg(1);
    frame.regs[2] = Reg::pointer(Kind::map_key);
    frame.regs[3] = Reg::pointer(Kind::map_value);
    for (const unsigned r : {2U, 3U}) {
      frame.regs[r].index = reg(1).index;
      frame.regs[r].inner = reg(1).inner;
      frame.regs[r].node = nodes_.made_of(0);
    }
    if (map(reg(1)).spin_lock >= 0) frame.regs[3].id = new_id();
    frame.regs[4] = reg(3);
  }
  const uint64_t edge = uint64_t{flow_.function_of[at_]} << 32 | flow_.function_of[frame.function];
  if (std::ranges::find(calls_, edge) == calls_.end()) calls_.push_back(edge);
  const auto target = frame.function;
  inside.frames.push_back(std::move(frame));
  return fork(std::move(inside), target);
}

Walk::Step Walk::leave() {
  const bool inner = state_.frames.size() > 1 && !state_.frame().callback;
  if (!inner && !read(0)) return Step::failed;  // what a function without a result leaves there is its caller's to know
  if (state_.frames.size() == 1) return leave_program() ? Step::ended : Step::failed;
  if (state_.frame().callback) return leave_callback();
  if (state_.lock.held) {
    refuse("function return is not allowed while holding a lock");
    return Step::failed;
  }
  const Reg result = reg(0);
  if (result.kind == Kind::stack && result.frame + 1U == state_.frames.size()) {
    refuse("cannot return stack pointer to the caller", "the frame it points to ends with the function");
    return Step::failed;
  }
  at_ = state_.frame().return_to;
  state_.frames.pop_back();
  reg(0) = result;
  return Step::next;
}

// Comes to the helper's call again, as what it was before and what the callback did to it together.
Walk::Step Walk::leave_callback() {
  const auto& result = reg(0);
  const bool good = result.is_scalar() && result.number.r64.umax <= 1;
  if (!good) {
    refuse(fmt::format("At callback return the register R0 has {} should have been in [0, 1]", to_text(result)),
           "a callback returns 0 to go on, or 1 to stop");
    return Step::failed;
  }
  precise(result);
  if (state_.references.size() != state_.frame().references) {
    refuse("Unreleased reference in callback", "submit or discard a reserved record before the callback returns");
    return Step::failed;
  }
  if (state_.lock.held) {
    refuse("callback return is not allowed while holding a lock");
    return Step::failed;
  }
  at_ = state_.frame().return_to;
  state_.frames.pop_back();
  // From the second turn on, numbers that change are of no use
  for (const auto index : kept_[at_])
    if (checkpoints_[index].open != 0) widen(*checkpoints_[index].state, state_);
  return Step::next;
}

bool Walk::leave_program() {
  if (reg(0).is_pointer()) return refuse("R0 leaks addr as return value", "the program has to return an XDP action");
  if (!state_.references.empty())
    return refuse(fmt::format("Unreleased reference id={}", state_.references.front()),
                  "submit or discard a reserved record on every way to the end");
  if (state_.lock.held)
    return refuse("BPF_EXIT instruction is not allowed while holding a lock", "unlock on every way to the end");
  precise(reg(0));
  return true;
}

// The sum of frames along each chain of calls, each rounded up to 16 bytes as the kernel's compilers do.
bool Walk::check_depth() {
  std::vector<uint32_t> total(flow_.functions.size(), 0);
  const auto own = [&](size_t f) { return (std::max<uint32_t>(depth_[f], 1) + 15) / 16 * 16; };
  for (size_t f = 0; f < total.size(); ++f) total[f] = own(f);
  // Calls form no circle and go at most kMaxFrames deep
  for (uint32_t round = 0; round < kMaxFrames; ++round)
    for (const auto edge : calls_) {
      auto& caller = total[edge >> 32];
      caller = std::max(caller, own(edge >> 32) + total[static_cast<uint32_t>(edge)]);
    }
  report_.facts.stack_bytes = total[0];
  if (total[0] <= static_cast<uint32_t>(kFrameBytes)) return true;
  at_ = 0;
  return refuse(fmt::format("combined stack size of calls is {}. Too large", total[0]),
                "all frames of a chain of calls share 512 bytes: put large variables into a per-CPU array");
}

}  // namespace xbond::bpf::verifier
