#include "bpf_compat/verifier/number.hpp"

#include <fmt/format.h>

namespace xbond::bpf::verifier {
namespace {

constexpr uint64_t kLower = 0xffffffff;

template <class U>
void learn_bits(Range<U>& range, Tnum bits) {
  range.umin = std::max(range.umin, static_cast<U>(bits.low()));
  range.umax = std::min(range.umax, static_cast<U>(bits.high()));
  const U sign = U{1} << (Range<U>::kBits - 1);
  using S = typename Range<U>::Signed;
  const auto mask = static_cast<U>(bits.mask);
  const auto value = static_cast<U>(bits.value);
  range.smin = std::max(range.smin, static_cast<S>(value | (mask & sign)));
  range.smax = std::min(range.smax, static_cast<S>(value | (mask & ~sign)));
}

// The lower half of numbers that all share their upper half lies in an interval.
void learn_lower(Number& n) {
  if ((n.r64.umin >> 32) == (n.r64.umax >> 32))
    n.r32.meet({static_cast<uint32_t>(n.r64.umin), static_cast<uint32_t>(n.r64.umax), Range<uint32_t>::kSignedMin,
                Range<uint32_t>::kSignedMax});
  if ((n.r64.smin >> 32) == (n.r64.smax >> 32) &&
      static_cast<uint32_t>(n.r64.smin) <= static_cast<uint32_t>(n.r64.smax))
    n.r32.meet({static_cast<uint32_t>(n.r64.smin), static_cast<uint32_t>(n.r64.smax), Range<uint32_t>::kSignedMin,
                Range<uint32_t>::kSignedMax});
  // Numbers that fit into 32 signed bits are their lower halves' values
  if (n.r64.smin >= INT32_MIN && n.r64.smax <= INT32_MAX)
    n.r32.meet({0, Range<uint32_t>::kMax, static_cast<int32_t>(n.r64.smin), static_cast<int32_t>(n.r64.smax)});
}

// The other way: bounds of the lower half under each bound's upper half. `a` is first numbers with `low`'s upper half.
uint64_t not_below(uint64_t low, const Range<uint32_t>& half) {
  const auto lower = static_cast<uint32_t>(low);
  const uint64_t upper = low & ~kLower;
  if (lower <= half.umin) return upper | half.umin;
  if (lower <= half.umax) return low;
  return upper == ~kLower ? low : (upper + (uint64_t{1} << 32)) | half.umin;
}
uint64_t not_above(uint64_t high, const Range<uint32_t>& half) {
  const auto lower = static_cast<uint32_t>(high);
  const uint64_t upper = high & ~kLower;
  if (lower >= half.umax) return upper | half.umax;
  if (lower >= half.umin) return high;
  return upper == 0 ? high : (upper - (uint64_t{1} << 32)) | half.umax;
}

void learn_upper(Number& n) {
  n.r64.umin = not_below(n.r64.umin, n.r32);
  n.r64.umax = not_above(n.r64.umax, n.r32);
  // In signed order the halves run likewise, but that the ends must not wrap to the other sign
  if (const auto low = static_cast<int64_t>(not_below(static_cast<uint64_t>(n.r64.smin), n.r32)); low >= n.r64.smin)
    n.r64.smin = low;
  if (const auto high = static_cast<int64_t>(not_above(static_cast<uint64_t>(n.r64.smax), n.r32)); high <= n.r64.smax)
    n.r64.smax = high;
  if (n.r64.smin >= INT32_MIN && n.r64.smax <= INT32_MAX) {
    n.r64.smin = std::max<int64_t>(n.r64.smin, n.r32.smin);
    n.r64.smax = std::min<int64_t>(n.r64.smax, n.r32.smax);
  }
}

// What two kinds of bits can't both be: then no number fits.
bool contradicts(Tnum a, Tnum b) {
  return ((a.value ^ b.value) & ~a.mask & ~b.mask) != 0;
}

void make_empty(Number& n) {
  n.r64.umin = 1;
  n.r64.umax = 0;
}

void learn_from_ranges(Number& n) {
  const auto whole = Tnum::range(n.r64.umin, n.r64.umax);
  const auto half = Tnum::range(n.r32.umin, n.r32.umax);
  const Tnum lower{half.value, half.mask | ~kLower};
  if (contradicts(n.bits, whole)) return make_empty(n);
  n.bits = meet(n.bits, whole);
  if (contradicts(n.bits, lower)) return make_empty(n);
  n.bits = meet(n.bits, lower);
}

}  // namespace

void Number::deduce() {
  // Twice, as what one part learns in the end may tell the first more
  for (int turn = 0; turn < 2; ++turn) {
    const auto before = *this;
    learn_bits(r64, bits);
    learn_bits(r32, bits.low32());
    r64.deduce();
    r32.deduce();
    if (empty()) return;
    learn_lower(*this);
    r32.deduce();
    if (empty()) return;
    learn_upper(*this);
    r64.deduce();
    if (empty()) return;
    learn_from_ranges(*this);
    if (empty() || *this == before) return;
  }
  learn_bits(r64, bits);
  learn_bits(r32, bits.low32());
}

void Number::meet(const Number& other) {
  if (contradicts(bits, other.bits)) return make_empty(*this);
  bits = verifier::meet(bits, other.bits);
  r64.meet(other.r64);
  r32.meet(other.r32);
  if (!empty()) deduce();
}

void Number::join(const Number& other) {
  bits = verifier::join(bits, other.bits);
  r64.join(other.r64);
  r32.join(other.r32);
}

Number Number::between(uint64_t low, uint64_t high) {
  Number n;
  n.r64.umin = low;
  n.r64.umax = high;
  n.deduce();
  return n;
}

Number Number::signed_between(int64_t low, int64_t high) {
  Number n;
  n.r64.smin = low;
  n.r64.smax = high;
  n.deduce();
  return n;
}

std::string to_text(const Number& n) {
  if (n.is_constant()) return fmt::format("{}", static_cast<int64_t>(n.value()));
  std::string text;
  const auto put = [&](std::string_view name, auto value, auto none) {
    if (value != none) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  };
  using R64 = Range<uint64_t>;
  using R32 = Range<uint32_t>;
  put("smin", n.r64.smin, R64::kSignedMin);
  put("smax", n.r64.smax, R64::kSignedMax);
  put("umin", n.r64.umin, uint64_t{0});
  put("umax", n.r64.umax, R64::kMax);
  if (n.r32.smin != n.r64.smin) put("smin32", n.r32.smin, R32::kSignedMin);
  if (n.r32.smax != n.r64.smax) put("smax32", n.r32.smax, R32::kSignedMax);
  if (n.r32.umin != n.r64.umin) put("umin32", n.r32.umin, uint32_t{0});
  if (n.r32.umax != n.r64.umax) put("umax32", n.r32.umax, R32::kMax);
  if (~n.bits.mask != 0)
    text += fmt::format("{}var_off=({:#x}; {:#x})", text.empty() ? "" : ",", n.bits.value, n.bits.mask);
  return text;
}

}  // namespace xbond::bpf::verifier
