// Whether one state tells no more than another: what ended well with the wider one ends well with the narrower.
#include <algorithm>

#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

// Identities are names: the two states' have to correspond, one to one.
struct Walk::Ids {
  std::array<std::pair<uint32_t, uint32_t>, 64> pairs;
  size_t count = 0;

  bool match(uint32_t old, uint32_t now) {
    if (old == 0 && now == 0) return true;
    if (old == 0 || now == 0) return false;
    for (size_t i = 0; i < count; ++i)
      if (pairs[i].first == old || pairs[i].second == now) return pairs[i] == std::pair(old, now);
    if (count == pairs.size()) return false;
    pairs[count++] = {old, now};
    return true;
  }
  // An identity that the old state does not care for
  bool match_scalar(uint32_t old, uint32_t now) { return old == 0 || match(old, now); }
};

bool Walk::covers(const Reg& old, const Reg& now, bool all, Ids& ids) const {
  if (old.kind == Kind::none) return !all || now.kind == Kind::none;
  if (!all && !nodes_.live(old.node)) return true;
  if (old.kind != now.kind || old.maybe_null != now.maybe_null || old.inner != now.inner) return false;
  if (old.is_scalar()) {
    if (!all && !nodes_.precise(old.node)) return true;
    return old.number.covers(now.number) && ids.match_scalar(old.id, now.id);
  }
  if (old.offset != now.offset || old.frame != now.frame || old.index != now.index || old.size != now.size)
    return false;
  if (!ids.match(old.reference, now.reference) || !ids.match(old.id, now.id)) return false;
  if (old.is_packet()) {
    if (old.range < 0 || now.range < 0 ? old.range != now.range : old.range > now.range) return false;
  }
  return old.number.covers(now.number);
}

namespace {

bool scalar_bytes(const Slot& slot) {
  return std::ranges::all_of(slot.bytes, [&](Byte byte) {
    return byte == Byte::any || byte == Byte::zero || (byte == Byte::spill && slot.reg.is_scalar());
  });
}

}  // namespace

bool Walk::covers(const Slot& old, const Slot& now, bool all, Ids& ids) const {
  if (!all && !nodes_.live(old.node)) return true;
  // An old spilled number of which nothing mattered, or nothing is known: any number will do
  const bool old_any =
      old.spilled == 8 && old.reg.is_scalar() && ((!all && !nodes_.precise(old.reg.node)) || old.reg.number.unknown());
  if (old_any && scalar_bytes(now)) return true;
  for (size_t i = 0; i < old.bytes.size(); ++i) {
    const auto was = old.bytes[i];
    const auto is = now.bytes[i];
    if (was == Byte::none) {
      if (all && is != Byte::none) return false;
      continue;
    }
    if (was == Byte::any) {
      const bool number = is == Byte::any || is == Byte::zero || (is == Byte::spill && now.reg.is_scalar());
      if (!number) return false;
      continue;
    }
    if (was != is) return false;
  }
  if (old.spilled == 0) return true;
  return old.spilled == now.spilled && covers(old.reg, now.reg, all, ids);
}

bool Walk::covers(const State& old, const State& now, bool all) const {
  if (old.frames.size() != now.frames.size() || old.references.size() != now.references.size() ||
      old.lock.held != now.lock.held || old.lock.index != now.lock.index)
    return false;
  Ids ids;
  if (!ids.match(old.lock.id, now.lock.id)) return false;
  for (size_t i = 0; i < old.references.size(); ++i)
    if (!ids.match(old.references[i], now.references[i])) return false;
  static const Slot kNothing;
  for (size_t f = 0; f < old.frames.size(); ++f) {
    const auto& was = old.frames[f];
    const auto& is = now.frames[f];
    if (was.function != is.function || was.return_to != is.return_to || was.callback != is.callback) return false;
    for (size_t r = 0; r < was.regs.size(); ++r)
      if (!covers(was.regs[r], is.regs[r], all, ids)) return false;
    const auto slots = std::max(was.stack.size(), is.stack.size());
    for (size_t s = 0; s < slots; ++s) {
      if (s >= was.stack.size() && !all) break;  // never read from there
      if (!covers(s < was.stack.size() ? was.stack[s] : kNothing, s < is.stack.size() ? is.stack[s] : kNothing, all,
                  ids))
        return false;
    }
  }
  return true;
}

namespace {

bool same_reg(const Reg& a, const Reg& b) {
  return a.kind == b.kind && a.maybe_null == b.maybe_null && a.inner == b.inner && a.frame == b.frame &&
         a.number == b.number && a.offset == b.offset && a.range == b.range && a.index == b.index && a.size == b.size &&
         (a.id != 0) == (b.id != 0) && (a.reference != 0) == (b.reference != 0);
}

bool same_slot(const Slot& a, const Slot& b) {
  return a.bytes == b.bytes && a.spilled == b.spilled && (a.spilled == 0 || same_reg(a.reg, b.reg));
}

}  // namespace

// All is as it was: a loop that comes here again never ends, for all that is known.
bool Walk::same(const State& a, const State& b) {
  if (a.frames.size() != b.frames.size() || a.references.size() != b.references.size() || a.lock.held != b.lock.held)
    return false;
  for (size_t f = 0; f < a.frames.size(); ++f) {
    const auto& x = a.frames[f];
    const auto& y = b.frames[f];
    if (x.function != y.function || x.return_to != y.return_to || x.stack.size() != y.stack.size()) return false;
    if (!std::ranges::equal(x.regs, y.regs, same_reg) || !std::ranges::equal(x.stack, y.stack, same_slot)) return false;
  }
  return true;
}

// What mattered of the old state on the ways from it matters of this one, as they are not walked again.
void Walk::take_marks(const State& old, State& now) {
  const auto one = [this](const Reg& was, const Reg& is) {
    if (nodes_.live(was.node)) nodes_.mark_live(is.node);
    if (nodes_.precise(was.node)) nodes_.mark_precise(is.node);
  };
  for (size_t f = 0; f < old.frames.size(); ++f) {
    const auto& was = old.frames[f];
    auto& is = now.frames[f];
    for (size_t r = 0; r < was.regs.size(); ++r)
      if (was.regs[r].kind != Kind::none) one(was.regs[r], is.regs[r]);
    for (size_t s = 0; s < std::min(was.stack.size(), is.stack.size()); ++s) {
      if (nodes_.live(was.stack[s].node)) nodes_.mark_live(is.stack[s].node);
      if (is.stack[s].spilled != 0 && was.stack[s].spilled != 0) one(was.stack[s].reg, is.stack[s].reg);
    }
  }
}

void Walk::mark_all(State& now) {
  const auto one = [this](const Reg& reg) {
    nodes_.mark_live(reg.node);
    nodes_.mark_precise(reg.node);
  };
  now.each(one);
  for (auto& frame : now.frames)
    for (auto& slot : frame.stack) nodes_.mark_live(slot.node);
}

// Forgets of numbers what changes from one turn of a loop to the next, so that the turns come to an end.
void Walk::widen(const State& old, State& now) {
  const auto one = [](const Reg& was, Reg& is) {
    if (!is.is_scalar() || (was.is_scalar() && was.number == is.number)) return;
    const auto node = is.node;
    is = Reg::unknown(node);
  };
  for (size_t f = 0; f < std::min(old.frames.size(), now.frames.size()); ++f) {
    const auto& was = old.frames[f];
    auto& is = now.frames[f];
    for (size_t r = 0; r < was.regs.size(); ++r) one(was.regs[r], is.regs[r]);
    for (size_t s = 0; s < std::min(was.stack.size(), is.stack.size()); ++s) {
      auto& slot = is.stack[s];
      if (slot.spilled == 8 && slot.reg.is_scalar()) {
        if (was.stack[s].spilled == 8)
          one(was.stack[s].reg, slot.reg);
        else
          slot.reg = Reg::unknown(slot.reg.node);
      } else if (slot.spilled == 0 && slot.bytes != was.stack[s].bytes) {
        for (auto& byte : slot.bytes)
          if (byte == Byte::zero) byte = Byte::any;
      }
    }
  }
}

}  // namespace xbond::bpf::verifier
