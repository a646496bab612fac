#include "bpf_compat/verifier/walk.hpp"

#include <fmt/format.h>

#include "bpf_compat/engine/disassemble.hpp"
#include "bpf_compat/engine/isa.hpp"

namespace xbond::bpf::verifier {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

Walk::Walk(std::span<const MapSpec> maps, const ProgramSpec& program, const Flow& flow, const Options& options)
    : maps_(maps), program_(program), code_(program.insns), flow_(flow), options_(options) {
  const std::string_view section = program.section;
  devmap_ = section.ends_with("/devmap");
  cpumap_ = section.ends_with("/cpumap");
  kept_.resize(code_.size());
  depth_.resize(flow.functions.size(), 0);
  auto& facts = report_.facts;
  facts.access.resize(code_.size());
  facts.call_map.resize(code_.size(), kNoMap);
  facts.reached.resize(code_.size(), false);
  facts.jumps.resize(code_.size(), false);
  facts.passes.resize(code_.size(), false);
  state_.frames.resize(1);
  reg(1) = Reg::pointer(Kind::context);
  reg(10) = Reg::pointer(Kind::stack);
}

Report Walk::take() {
  return std::move(report_);
}

bool Walk::run() {
  checkpoints_[0].open = 1;
  for (;;) {
    switch (step()) {
      case Step::next:
        break;
      case Step::ended:
        end_way(parent_);
        if (!next_way()) return check_depth();
        break;
      case Step::failed:
        return false;
    }
  }
}

bool Walk::next_way() {
  if (pending_.empty()) return false;
  auto& next = pending_.back();
  state_ = std::move(next.state);
  at_ = next.at;
  parent_ = next.parent;
  if (options_.log) report_.log.resize(next.log);
  pending_.pop_back();
  return true;
}

void Walk::end_way(uint32_t parent) {
  while (--checkpoints_[parent].open == 0 && parent != 0) parent = checkpoints_[parent].parent;
}

bool Walk::fork(State state, uint32_t at) {
  if (pending_.size() >= kMaxPending)
    return refuse(fmt::format("The sequence of {} jumps is too complex.", kMaxPending));
  ++checkpoints_[parent_].open;
  pending_.push_back({std::move(state), at, parent_, report_.log.size()});
  return true;
}

bool Walk::refuse(std::string text, std::string_view advice) {
  report_.refusal = Refusal{.instruction = at_,
                            .text = std::move(text),
                            .source = {},
                            .advice = std::string(advice),
                            .state = to_text(state_, &nodes_)};
  return false;
}

void Walk::log_instruction() {
  constexpr size_t kMaxLog = size_t{4} << 20;
  if (report_.log.size() > kMaxLog) return;
  const auto name = [this](uint32_t number) { return number < maps_.size() ? maps_[number].name : std::string("?"); };
  report_.log += fmt::format("{}: {} ; {}\n", at_, disassemble(code_, at_, name), to_text(state_));
}

Walk::Step Walk::step() {
  auto& statistics = report_.statistics;
  if (++statistics.walked > options_.budget) {
    refuse(fmt::format("BPF program is too large. Processed {} insn", options_.budget),
           "it has too many ways through it: bound its loops tighter, or move work into functions called by bpf_loop");
    return Step::failed;
  }
  if (flow_.meets[at_])
    if (const auto seen = visit(); seen != Step::next) return seen;
  report_.facts.reached[at_] = true;
  if (options_.log) log_instruction();
  const auto going = [this](bool good, uint32_t slots = 1) {
    at_ += slots;
    return good ? Step::next : Step::failed;
  };
  const auto done = [&](bool good) { return good ? going(true) : Step::failed; };
  switch (code_class(insn().code)) {
    case BPF_LD:
      return wide_constant() ? going(true, 2) : Step::failed;
    case BPF_ALU:
    case BPF_ALU64:
      return done(alu());
    case BPF_LDX:
      return done(load());
    case BPF_ST:
      return done(store());
    case BPF_STX:
      return done(code_mode(insn().code) == BPF_ATOMIC ? atomic() : store());
    default:
      ++jumps_;
      return branch();
  }
}

// Whether what is known now was known here before, on a way that has ended well; keeps it if it may be of use.
Walk::Step Walk::visit() {
  auto& statistics = report_.statistics;
  bool keep_it = flow_.always[at_] || (jumps_ - jumps_at_keep_ >= 2 && statistics.walked - walked_at_keep_ >= 8);
  auto& list = kept_[at_];
  for (size_t i = 0; i < list.size();) {
    auto& old = checkpoints_[list[i]];
    if (old.open != 0) {
      if (flow_.always[at_]) {
        // A loop by callback that comes around with nothing new
        if (covers(*old.state, state_, true)) {
          mark_all(state_);
          ++statistics.pruned;
          return Step::ended;
        }
      } else if (same(*old.state, state_)) {
        refuse(fmt::format("infinite loop detected at insn {}", at_),
               "nothing that the loop's condition depends on changes: count towards a bound that is known");
        return Step::failed;
      }
      // Within a loop: one state every few turns is enough
      if (!flow_.always[at_] && jumps_ - jumps_at_keep_ < 20 && statistics.walked - walked_at_keep_ < 100)
        keep_it = false;
    } else if (covers(*old.state, state_, false)) {
      ++old.hits;
      ++statistics.pruned;
      take_marks(*old.state, state_);
      return Step::ended;
    }
    if (keep_it) ++old.misses;
    if (old.misses > old.hits * 3 + 3 && !(flow_.always[at_] && old.open != 0)) {
      kept_bytes_ -= old.state->bytes();
      old.state.reset();
      list[i] = list.back();
      list.pop_back();
    } else {
      ++i;
    }
  }
  if (keep_it && !tight()) keep();
  return Step::next;
}

void Walk::keep() {
  auto& statistics = report_.statistics;
  jumps_at_keep_ = jumps_;
  walked_at_keep_ = statistics.walked;
  const auto renew = [this](NodeId& node) { node = nodes_.checkpoint_of(node); };
  for (auto& frame : state_.frames) {
    for (auto& reg : frame.regs)
      if (reg.kind != Kind::none) renew(reg.node);
    for (auto& slot : frame.stack) {
      renew(slot.node);
      if (slot.spilled != 0) renew(slot.reg.node);
    }
  }
  Checkpoint now;
  now.parent = parent_;
  now.open = 1;
  now.state = std::make_unique<State>(state_);
  kept_bytes_ += now.state->bytes();
  statistics.bytes = std::max<uint64_t>(statistics.bytes, kept_bytes_ + nodes_.bytes());
  ++statistics.states;
  parent_ = static_cast<uint32_t>(checkpoints_.size());
  kept_[at_].push_back(parent_);
  checkpoints_.push_back(std::move(now));
}

bool Walk::read(unsigned number) {
  const auto& r = reg(number);
  if (r.kind == Kind::none)
    return refuse(fmt::format("R{} !read_ok", number),
                  "the register holds nothing here: calls clear r1 to r5, and some way does not write it");
  nodes_.mark_live(r.node);
  return true;
}

const MapSpec& Walk::map(const Reg& reg) const {
  const auto& spec = maps_[reg.index];
  return reg.inner ? *spec.inner : spec;
}

uint32_t Walk::value_size(const Reg& reg) const {
  const auto& spec = map(reg);
  // Of targets, a program sees what the kernel lets it: an interface's or socket's number
  return spec.type == BPF_MAP_TYPE_XSKMAP ? 4 : spec.value_size;
}

}  // namespace xbond::bpf::verifier
