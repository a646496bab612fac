// Comparisons of what is known of numbers, and what an outcome teaches.
#include "bpf_compat/verifier/number.hpp"

namespace xbond::bpf::verifier {
namespace {

constexpr uint64_t kLower = 0xffffffff;

template <class U>
const Range<U>& part(const Number& n);
template <>
const Range<uint64_t>& part<uint64_t>(const Number& n) {
  return n.r64;
}
template <>
const Range<uint32_t>& part<uint32_t>(const Number& n) {
  return n.r32;
}
template <class U>
Range<U>& part(Number& n) {
  return const_cast<Range<U>&>(part<U>(static_cast<const Number&>(n)));
}

Known order(bool always, bool never) {
  return always ? Known::yes : never ? Known::no : Known::maybe;
}

template <class U>
Known compare_parts(Compare op, const Number& na, const Number& nb) {
  const auto& a = part<U>(na);
  const auto& b = part<U>(nb);
  const auto abits = sizeof(U) == 8 ? na.bits : na.bits.low32();
  const auto bbits = sizeof(U) == 8 ? nb.bits : nb.bits.low32();
  switch (op) {
    case Compare::eq: {
      const bool never = a.umin > b.umax || a.umax < b.umin || a.smin > b.smax || a.smax < b.smin ||
                         ((abits.value ^ bbits.value) & ~abits.mask & ~bbits.mask) != 0;
      return order(abits.is_constant() && bbits == abits, never);
    }
    case Compare::ne: {
      const auto equal = compare_parts<U>(Compare::eq, na, nb);
      return equal == Known::maybe ? equal : equal == Known::yes ? Known::no : Known::yes;
    }
    case Compare::gt:
      return order(a.umin > b.umax, a.umax <= b.umin);
    case Compare::ge:
      return order(a.umin >= b.umax, a.umax < b.umin);
    case Compare::lt:
      return order(a.umax < b.umin, a.umin >= b.umax);
    case Compare::le:
      return order(a.umax <= b.umin, a.umin > b.umax);
    case Compare::set:
      return order((abits.value & bbits.value) != 0, (abits.high() & bbits.high()) == 0);
    case Compare::sgt:
      return order(a.smin > b.smax, a.smax <= b.smin);
    case Compare::sge:
      return order(a.smin >= b.smax, a.smax < b.smin);
    case Compare::slt:
      return order(a.smax < b.smin, a.smin >= b.smax);
    case Compare::sle:
      return order(a.smax <= b.smin, a.smin > b.smax);
  }
  return Known::maybe;
}

Compare opposite(Compare op) {
  switch (op) {
    case Compare::eq:
      return Compare::ne;
    case Compare::ne:
      return Compare::eq;
    case Compare::gt:
      return Compare::le;
    case Compare::ge:
      return Compare::lt;
    case Compare::lt:
      return Compare::ge;
    case Compare::le:
      return Compare::gt;
    case Compare::sgt:
      return Compare::sle;
    case Compare::sge:
      return Compare::slt;
    case Compare::slt:
      return Compare::sge;
    case Compare::sle:
      return Compare::sgt;
    case Compare::set:
      break;
  }
  return op;
}

template <class U>
void make_empty(Range<U>& r) {
  r.umin = 1;
  r.umax = 0;
}

// Takes a constant off the ends of a range.
template <class U>
void exclude(Range<U>& a, U value) {
  const auto s = static_cast<typename Range<U>::Signed>(value);
  if (a.is_constant() && a.umin == value) return make_empty(a);
  if (a.umin == value) ++a.umin;
  if (a.umax == value) --a.umax;
  if (a.smin == s) a.smin = static_cast<typename Range<U>::Signed>(s + 1);
  if (a.smax == s) a.smax = static_cast<typename Range<U>::Signed>(s - 1);
}

template <class U>
void assume_equal(Number& a, Number& b) {
  constexpr uint64_t mask = sizeof(U) == 8 ? ~uint64_t{0} : kLower;
  const Tnum abits{a.bits.value & mask, a.bits.mask | ~mask};
  const Tnum bbits{b.bits.value & mask, b.bits.mask | ~mask};
  if (((a.bits.value ^ b.bits.value) & ~a.bits.mask & ~b.bits.mask & mask) != 0) return make_empty(part<U>(a));
  a.bits = meet(a.bits, bbits);
  b.bits = meet(b.bits, abits);
  part<U>(a).meet(part<U>(b));
  part<U>(b).meet(part<U>(a));
  if (sizeof(U) == 8) {
    a.r32.meet(b.r32);
    b.r32.meet(a.r32);
  }
}

template <class U>
void assume_unequal(Number& a, Number& b) {
  const auto bbits = sizeof(U) == 8 ? b.bits : b.bits.low32();
  const auto abits = sizeof(U) == 8 ? a.bits : a.bits.low32();
  if (bbits.is_constant()) exclude<U>(part<U>(a), static_cast<U>(bbits.value));
  if (abits.is_constant()) exclude<U>(part<U>(b), static_cast<U>(abits.value));
}

// a & b: with a constant of one bit, that bit is known; where the outcome is zero, all of its bits are zero.
template <class U>
void assume_set(bool holds, Number& a, const Number& b) {
  const auto bbits = sizeof(U) == 8 ? b.bits : b.bits.low32();
  if (!bbits.is_constant()) return;
  const uint64_t mask = bbits.value;
  if (!holds) {
    if ((a.bits.value & mask) != 0) return make_empty(part<U>(a));
    a.bits.mask &= ~mask;
  } else if ((mask & (mask - 1)) == 0) {
    if (((a.bits.value | a.bits.mask) & mask) == 0) return make_empty(part<U>(a));
    a.bits = {a.bits.value | mask, a.bits.mask & ~mask};
  }
}

// Makes a < b, or a <= b for `strict` false. False: impossible.
template <class N>
bool less(N& amax, N& bmin, N amin, N bmax, bool strict) {
  if (strict ? amin >= bmax : amin > bmax) return false;
  amax = std::min<N>(amax, static_cast<N>(strict ? bmax - 1 : bmax));
  bmin = std::max<N>(bmin, static_cast<N>(strict ? amin + 1 : amin));
  return true;
}

template <class U>
void assume_less(Range<U>& a, Range<U>& b, bool strict, bool is_signed) {
  const bool possible =
      is_signed ? less(a.smax, b.smin, a.smin, b.smax, strict) : less(a.umax, b.umin, a.umin, b.umax, strict);
  if (!possible) make_empty(a);
}

template <class U>
void assume_part(Compare op, Number& a, Number& b) {
  auto& ra = part<U>(a);
  auto& rb = part<U>(b);
  switch (op) {
    case Compare::eq:
      return assume_equal<U>(a, b);
    case Compare::ne:
      return assume_unequal<U>(a, b);
    case Compare::lt:
      return assume_less(ra, rb, true, false);
    case Compare::le:
      return assume_less(ra, rb, false, false);
    case Compare::gt:
      return assume_less(rb, ra, true, false);
    case Compare::ge:
      return assume_less(rb, ra, false, false);
    case Compare::slt:
      return assume_less(ra, rb, true, true);
    case Compare::sle:
      return assume_less(ra, rb, false, true);
    case Compare::sgt:
      return assume_less(rb, ra, true, true);
    case Compare::sge:
      return assume_less(rb, ra, false, true);
    case Compare::set:
      break;
  }
}

template <class U>
void assume_any(Compare op, bool holds, Number& a, Number& b) {
  if (op == Compare::set) {
    assume_set<U>(holds, a, b);
    assume_set<U>(holds, b, a);
  } else {
    assume_part<U>(holds ? op : opposite(op), a, b);
  }
}

}  // namespace

Known compare(Compare op, bool wide, const Number& a, const Number& b) {
  return wide ? compare_parts<uint64_t>(op, a, b) : compare_parts<uint32_t>(op, a, b);
}

void assume(Compare op, bool wide, bool holds, Number& a, Number& b) {
  if (wide)
    assume_any<uint64_t>(op, holds, a, b);
  else
    assume_any<uint32_t>(op, holds, a, b);
  if (!a.empty()) a.deduce();
  if (!b.empty()) b.deduce();
}

}  // namespace xbond::bpf::verifier
