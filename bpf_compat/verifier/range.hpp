// Bounds of a number of W bits, read unsigned and signed. What an operation does to them; an operation that can wrap
// gives every number. Thread: any.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace xbond::bpf::verifier {

template <std::unsigned_integral U>
struct Range {
  using Unsigned = U;
  using Signed = std::make_signed_t<U>;
  static constexpr U kMax = std::numeric_limits<U>::max();
  static constexpr Signed kSignedMin = std::numeric_limits<Signed>::min();
  static constexpr Signed kSignedMax = std::numeric_limits<Signed>::max();
  static constexpr unsigned kBits = std::numeric_limits<U>::digits;

  U umin = 0;
  U umax = kMax;
  Signed smin = kSignedMin;
  Signed smax = kSignedMax;

  static constexpr Range constant(U value) {
    return {value, value, static_cast<Signed>(value), static_cast<Signed>(value)};
  }
  static constexpr Range between(U low, U high) { return {low, high, kSignedMin, kSignedMax}; }
  static constexpr Range signed_between(Signed low, Signed high) { return {0, kMax, low, high}; }

  [[nodiscard]] constexpr bool empty() const { return umin > umax || smin > smax; }
  [[nodiscard]] constexpr bool is_constant() const { return umin == umax; }
  [[nodiscard]] constexpr bool holds(U value) const {
    const auto s = static_cast<Signed>(value);
    return umin <= value && value <= umax && smin <= s && s <= smax;
  }
  [[nodiscard]] constexpr bool covers(const Range& o) const {
    return umin <= o.umin && o.umax <= umax && smin <= o.smin && o.smax <= smax;
  }
  friend constexpr bool operator==(const Range&, const Range&) = default;

  constexpr void meet(const Range& o) {
    umin = std::max(umin, o.umin);
    umax = std::min(umax, o.umax);
    smin = std::max(smin, o.smin);
    smax = std::min(smax, o.smax);
  }
  constexpr void join(const Range& o) {
    umin = std::min(umin, o.umin);
    umax = std::max(umax, o.umax);
    smin = std::min(smin, o.smin);
    smax = std::max(smax, o.smax);
  }

  // Each reading tells of the other where all its numbers have one sign.
  constexpr void deduce() {
    const U half = static_cast<U>(kSignedMax);
    if (umax <= half || umin > half) {
      smin = std::max(smin, static_cast<Signed>(umin));
      smax = std::min(smax, static_cast<Signed>(umax));
    }
    if (smin >= 0 || smax < 0) {
      umin = std::max(umin, static_cast<U>(smin));
      umax = std::min(umax, static_cast<U>(smax));
    }
    crossing();
  }

 private:
  // Signed bounds of both signs leave a gap in the middle of the unsigned line, and the other way round.
  constexpr void crossing() {
    if (smin >= 0 || smax < 0 || empty()) return;
    const auto top = static_cast<U>(smax);     // numbers are in [0, top] …
    const auto bottom = static_cast<U>(smin);  // … or in [bottom, kMax]
    if (umin > top && umin < bottom) umin = bottom;
    if (umax < bottom && umax > top) umax = top;
  }
};

namespace range {

template <class U>
constexpr Range<U> add(const Range<U>& a, const Range<U>& b) {
  Range<U> out;
  U low = 0;
  U high = 0;
  // Either none of the sums wraps, or all of them
  const bool low_wraps = __builtin_add_overflow(a.umin, b.umin, &low);
  const bool high_wraps = __builtin_add_overflow(a.umax, b.umax, &high);
  if (low_wraps == high_wraps) out.umin = low, out.umax = high;
  typename Range<U>::Signed slow = 0;
  typename Range<U>::Signed shigh = 0;
  const bool below = __builtin_add_overflow(a.smin, b.smin, &slow);
  const bool above = __builtin_add_overflow(a.smax, b.smax, &shigh);
  if (!below && !above) out.smin = slow, out.smax = shigh;
  return out;
}

template <class U>
constexpr Range<U> sub(const Range<U>& a, const Range<U>& b) {
  Range<U> out;
  U low = 0;
  U high = 0;
  const bool low_wraps = __builtin_sub_overflow(a.umin, b.umax, &low);
  const bool high_wraps = __builtin_sub_overflow(a.umax, b.umin, &high);
  if (low_wraps == high_wraps) out.umin = low, out.umax = high;
  typename Range<U>::Signed slow = 0;
  typename Range<U>::Signed shigh = 0;
  const bool below = __builtin_sub_overflow(a.smin, b.smax, &slow);
  const bool above = __builtin_sub_overflow(a.smax, b.smin, &shigh);
  if (!below && !above) out.smin = slow, out.smax = shigh;
  return out;
}

template <class U>
constexpr Range<U> mul(const Range<U>& a, const Range<U>& b) {
  using S = typename Range<U>::Signed;
  Range<U> out;
  U high = 0;
  if (!__builtin_mul_overflow(a.umax, b.umax, &high)) out.umin = a.umin * b.umin, out.umax = high;
  S corner[4] = {};
  if (!__builtin_mul_overflow(a.smin, b.smin, &corner[0]) && !__builtin_mul_overflow(a.smin, b.smax, &corner[1]) &&
      !__builtin_mul_overflow(a.smax, b.smin, &corner[2]) && !__builtin_mul_overflow(a.smax, b.smax, &corner[3])) {
    out.smin = std::min({corner[0], corner[1], corner[2], corner[3]});
    out.smax = std::max({corner[0], corner[1], corner[2], corner[3]});
  }
  return out;
}

// Division by zero gives 0, the remainder by zero is the dividend.
template <class U>
constexpr Range<U> div(const Range<U>& a, const Range<U>& b) {
  if (b.umax == 0) return Range<U>::constant(0);
  if (b.umin == 0) return Range<U>::between(0, a.umax);
  return Range<U>::between(a.umin / b.umax, a.umax / b.umin);
}
template <class U>
constexpr Range<U> mod(const Range<U>& a, const Range<U>& b) {
  if (b.umin > a.umax) return a;
  if (b.umin == 0 || b.umax == 0) return Range<U>::between(0, a.umax);
  return Range<U>::between(0, std::min<U>(a.umax, b.umax - 1));
}

// Bits are those of both readings: a result of AND is no greater than either, of OR no less.
template <class U>
constexpr Range<U> bit_and(const Range<U>& a, const Range<U>& b) {
  Range<U> out = Range<U>::between(0, std::min(a.umax, b.umax));
  if (a.smax < 0 && b.smax < 0) out.smax = std::min(a.smax, b.smax);
  return out;
}
template <class U>
constexpr Range<U> bit_or(const Range<U>& a, const Range<U>& b) {
  return Range<U>::between(std::max(a.umin, b.umin), Range<U>::kMax);
}

// By a count of [low, high], both below the width.
template <class U>
constexpr Range<U> shift_left(const Range<U>& a, unsigned low, unsigned high) {
  if (high != 0 && a.umax > (Range<U>::kMax >> high)) return {};
  return Range<U>::between(static_cast<U>(a.umin << low), static_cast<U>(a.umax << high));
}
template <class U>
constexpr Range<U> shift_right(const Range<U>& a, unsigned low, unsigned high) {
  return Range<U>::between(a.umin >> high, a.umax >> low);
}
template <class U>
constexpr Range<U> arithmetic_shift(const Range<U>& a, unsigned low, unsigned high) {
  using S = typename Range<U>::Signed;
  return Range<U>::signed_between(a.smin < 0 ? static_cast<S>(a.smin >> low) : static_cast<S>(a.smin >> high),
                                  a.smax < 0 ? static_cast<S>(a.smax >> high) : static_cast<S>(a.smax >> low));
}

}  // namespace range
}  // namespace xbond::bpf::verifier
