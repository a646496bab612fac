// Jumps, and what their outcomes teach.
#include <fmt/format.h>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

namespace {

Compare comparison(const bpf_insn& insn) {
  switch (code_op(insn.code)) {
    case BPF_JEQ:
      return Compare::eq;
    case BPF_JNE:
      return Compare::ne;
    case BPF_JGT:
      return Compare::gt;
    case BPF_JGE:
      return Compare::ge;
    case BPF_JLT:
      return Compare::lt;
    case BPF_JLE:
      return Compare::le;
    case BPF_JSET:
      return Compare::set;
    case BPF_JSGT:
      return Compare::sgt;
    case BPF_JSGE:
      return Compare::sge;
    case BPF_JSLT:
      return Compare::slt;
    default:
      return Compare::sle;
  }
}

// With the operands the other way round
Compare mirrored(Compare op) {
  switch (op) {
    case Compare::gt:
      return Compare::lt;
    case Compare::ge:
      return Compare::le;
    case Compare::lt:
      return Compare::gt;
    case Compare::le:
      return Compare::ge;
    default:
      return op;
  }
}

// Whose comparison with 0 is decided. The others' is left open, as the kernel does.
bool never_null(Kind kind) {
  return kind == Kind::map_value || kind == Kind::map_key || kind == Kind::map || kind == Kind::record ||
         kind == Kind::memory;
}

// The packet pointers of `like`'s base have so many bytes behind the base.
void find_range(State& state, const Reg& like, bool open) {
  if (like.offset < 0 || (like.offset == 0 && open)) return;
  if (like.number.r64.umax > kMaxPacketOffset ||
      like.number.r64.umax + static_cast<uint64_t>(like.offset) > kMaxPacketOffset)
    return;
  const int32_t range = like.offset + (open ? 1 : 0);
  state.each([&](Reg& reg) {
    if (reg.kind == like.kind && reg.id == like.id) reg.range = std::max(std::max(reg.range, 0), range);
  });
}

// The pointer lies at the end or beyond it: its own comparisons with the end are decided.
void beyond_end(Reg& reg, bool at_end) {
  if (reg.range <= 0) reg.range = at_end ? kAtPacketEnd : kBeyondPacketEnd;
}

}  // namespace

Walk::Step Walk::go(bool taken, uint32_t target) {
  auto& facts = report_.facts;
  (taken ? facts.jumps : facts.passes)[at_] = true;
  at_ = taken ? target : at_ + 1;
  return Step::next;
}

Walk::Step Walk::branch() {
  const auto& i = insn();
  const auto op = code_op(i.code);
  if (op == BPF_EXIT && code_class(i.code) == BPF_JMP) return leave();
  const auto target = jump_target(at_, i);
  if (op == BPF_CALL) {
    if (is_local_call(i)) return call_function(call_target(at_, i)) ? Step::next : Step::failed;
    return helper();
  }
  if (op == BPF_JA) {
    at_ = target;
    return Step::next;
  }
  if (!read(i.dst_reg)) return Step::failed;
  if (from_register(i.code) && !read(i.src_reg)) return Step::failed;
  auto& a = reg(i.dst_reg);
  Reg constant = Reg::scalar(Number::constant(static_cast<uint64_t>(int64_t{i.imm})));
  auto* b = from_register(i.code) ? &reg(i.src_reg) : &constant;
  return branch_on(comparison(i), code_class(i.code) == BPF_JMP, a, b, i.dst_reg, i.src_reg);
}

Walk::Step Walk::branch_on(Compare op, bool wide, Reg& a, Reg* b, unsigned dst, unsigned src) {
  const auto target = jump_target(at_, insn());
  const bool with_register = from_register(insn().code);
  if (wide && a.is_pointer() && b->is_null() && (op == Compare::eq || op == Compare::ne)) {
    if (with_register) precise(*b);
    if (a.maybe_null) return null_branch(op, a, target);
    if (never_null(a.kind)) return go(op == Compare::ne, target);
  }
  if (a.is_scalar() && b->is_scalar()) {
    const auto known = compare(op, wide, a.number, b->number);
    if (known != Known::maybe) {
      precise(a);
      if (with_register) precise(*b);
      return go(known == Known::yes, target);
    }
    Number yes_a = a.number;
    Number yes_b = b->number;
    Number no_a = a.number;
    Number no_b = b->number;
    const bool itself = with_register && dst == src;
    if (!itself) {
      assume(op, wide, true, yes_a, yes_b);
      assume(op, wide, false, no_a, no_b);
    }
    const bool never = yes_a.empty() || yes_b.empty();
    const bool always = no_a.empty() || no_b.empty();
    if (never || always) {
      precise(a);
      if (with_register) precise(*b);
      if (never && always) return go(false, target);  // no run comes here
    }
    const auto learn = [&](State& state, const Number& na, const Number& nb) {
      auto& ra = state.reg(dst);
      const auto node_a = ra.node;
      const auto node_b = with_register ? state.reg(src).node : 0;
      if (!(ra.number == na) || ra.id != 0) {
        ra.number = na;
        ra.node = nodes_.made_of(node_a, node_b);
        if (ra.id != 0) spread(state, ra, node_b);
      }
      if (!with_register || itself) return;
      auto& rb = state.reg(src);
      if (!(rb.number == nb) || rb.id != 0) {
        rb.number = nb;
        rb.node = nodes_.made_of(node_b, node_a);
        if (rb.id != 0) spread(state, rb, node_a);
      }
    };
    if (never || always) {
      learn(state_, always ? yes_a : no_a, always ? yes_b : no_b);
      return go(always, target);
    }
    State taken = state_;
    learn(taken, yes_a, yes_b);
    learn(state_, no_a, no_b);
    return both_ways(std::move(taken), target);
  }
  auto outcome = Known::maybe;
  State taken = state_;
  const bool packet = wide && packet_branch(op, a, *b, taken, state_, outcome);
  if (packet && outcome != Known::maybe) {
    if (outcome == Known::yes) state_ = std::move(taken);
    return go(outcome == Known::yes, target);
  }
  return both_ways(std::move(taken), target);
}

// The walk goes on behind the jump; the way that it takes waits.
Walk::Step Walk::both_ways(State taken, uint32_t target) {
  report_.facts.jumps[at_] = true;
  return fork(std::move(taken), target) ? go(false, target) : Step::failed;
}

// All numbers of that identity are the same number.
void Walk::spread(State& state, const Reg& changed, NodeId other) {
  const auto number = changed.number;
  const auto id = changed.id;
  const auto from = changed.node;
  state.each([&](Reg& reg) {
    if (&reg == &changed || !reg.is_scalar() || reg.id != id) return;
    reg.number = number;
    reg.node = nodes_.changed(reg.node, nodes_.made_of(from, other));
  });
}

void Walk::settle_null(State& state, uint32_t id, bool is_null) {
  uint32_t reference = 0;
  state.each([&](Reg& reg) {
    if (!reg.maybe_null || reg.id != id) return;
    if (is_null) {
      reference = reg.reference;
      reg = Reg::scalar(Number::constant(0), nodes_.changed(reg.node));
      return;
    }
    reg.maybe_null = false;
    // Values with a lock keep their identity: it says which lock
    const bool lock = reg.kind == Kind::map_value && map(reg).spin_lock >= 0;
    if (!lock) reg.id = 0;
  });
  if (is_null && reference != 0) std::erase(state.references, reference);
}

Walk::Step Walk::null_branch(Compare op, const Reg& a, uint32_t target) {
  const auto id = a.id;
  State taken = state_;
  settle_null(taken, id, op == Compare::eq);
  settle_null(state_, id, op == Compare::ne);
  return both_ways(std::move(taken), target);
}

// A packet pointer against data_end, or metadata against data, in whatever order and form.
bool Walk::packet_branch(Compare op, const Reg& a, const Reg& b, State& taken, State& passed, Known& outcome) {
  const auto is_pair = [](const Reg& p, const Reg& end) {
    const bool data = end.kind == Kind::packet && end.offset == 0 && end.id == 0 && end.number.is(0);
    return (p.kind == Kind::packet && end.kind == Kind::packet_end) || (p.kind == Kind::metadata && data);
  };
  const bool straight = is_pair(a, b);
  if (!straight && !is_pair(b, a)) return false;
  const auto& p = straight ? a : b;
  const auto number = straight ? insn().dst_reg : insn().src_reg;
  const auto as = straight ? op : mirrored(op);
  const bool to_end = p.kind == Kind::packet;
  if (p.range < 0 && to_end) {
    // Beyond the end, or at it or beyond
    const bool beyond = p.range == kBeyondPacketEnd;
    if (as == Compare::gt && beyond) outcome = Known::yes;
    if (as == Compare::le && beyond) outcome = Known::no;
    if (as == Compare::ge) outcome = Known::yes;
    if (as == Compare::lt) outcome = Known::no;
  }
  const Reg like = p;
  switch (as) {
    case Compare::gt:  // passed: p <= end
      find_range(passed, like, false);
      if (to_end) beyond_end(taken.reg(number), false);
      return true;
    case Compare::ge:  // passed: p < end
      find_range(passed, like, true);
      if (to_end) beyond_end(taken.reg(number), true);
      return true;
    case Compare::lt:
      find_range(taken, like, true);
      if (to_end) beyond_end(passed.reg(number), true);
      return true;
    case Compare::le:
      find_range(taken, like, false);
      if (to_end) beyond_end(passed.reg(number), false);
      return true;
    default:
      return true;
  }
}

}  // namespace xbond::bpf::verifier
