// Arithmetic on what is known of numbers.
#include "bpf_compat/verifier/number.hpp"

namespace xbond::bpf::verifier {
namespace {

constexpr uint64_t kLower = 0xffffffff;

Number of_half(Tnum bits, const Range<uint32_t>& half) {
  Number n;
  n.bits = bits.low32();
  n.r32 = half;
  n.r64 = Range<uint64_t>::between(half.umin, half.umax);
  n.deduce();
  return n;
}

int64_t divide(int64_t a, int64_t b, bool remainder) {
  if (b == 0) return remainder ? a : 0;
  if (b == -1) return remainder ? 0 : static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return remainder ? a % b : a / b;
}

// Signed division and remainder: exact for constants, bounds otherwise.
template <class U>
Range<U> signed_division(bool remainder, const Range<U>& a, const Range<U>& b) {
  using S = typename Range<U>::Signed;
  if (a.is_constant() && b.is_constant())
    return Range<U>::constant(static_cast<U>(divide(static_cast<S>(a.umin), static_cast<S>(b.umin), remainder)));
  if (remainder) {
    // Has the dividend's sign and is no greater
    return Range<U>::signed_between(std::min<S>(a.smin, 0), std::max<S>(a.smax, 0));
  }
  // The least number divided by -1 stays itself; without it a quotient is no greater than its dividend
  if (a.smin == Range<U>::kSignedMin) return {};
  const auto most = std::max<S>(a.smax, static_cast<S>(-a.smin));
  return Range<U>::signed_between(static_cast<S>(-most), most);
}

template <class U>
Range<U> linear(Alu op, const Range<U>& a, const Range<U>& b) {
  switch (op) {
    case Alu::add:
      return range::add(a, b);
    case Alu::sub:
      return range::sub(a, b);
    case Alu::mul:
      return range::mul(a, b);
    case Alu::bit_and:
      return range::bit_and(a, b);
    case Alu::bit_or:
      return range::bit_or(a, b);
    case Alu::div:
      return range::div(a, b);
    case Alu::mod:
      return range::mod(a, b);
    case Alu::sdiv:
      return signed_division(false, a, b);
    case Alu::smod:
      return signed_division(true, a, b);
    default:
      return {};
  }
}

Tnum known_bits(Alu op, Tnum a, Tnum b) {
  switch (op) {
    case Alu::add:
      return a + b;
    case Alu::sub:
      return a - b;
    case Alu::mul:
      return a * b;
    case Alu::bit_and:
      return a & b;
    case Alu::bit_or:
      return a | b;
    case Alu::bit_xor:
      return a ^ b;
    default:
      return {};
  }
}

// Counts beyond the width are masked when they run; nothing is taken as known of them then, as the kernel does. False:
// such a count can be.
template <class U>
bool shift_counts(const Range<U>& b, unsigned& low, unsigned& high) {
  if (b.umax >= Range<U>::kBits) return false;
  low = static_cast<unsigned>(b.umin);
  high = static_cast<unsigned>(b.umax);
  return true;
}

template <class U>
Range<U> shifted(Alu op, const Range<U>& a, unsigned low, unsigned high) {
  if (op == Alu::lsh) return range::shift_left(a, low, high);
  if (op == Alu::rsh) return range::shift_right(a, low, high);
  return range::arithmetic_shift(a, low, high);
}

Tnum shifted_bits(Alu op, Tnum a, unsigned count, unsigned width) {
  if (op == Alu::lsh) return a << count;
  if (op == Alu::rsh) return a >> count;
  return arithmetic_shift(a, count, width);
}

Number shift64(Alu op, const Number& a, const Number& b) {
  Number out;
  unsigned low = 0;
  unsigned high = 63;
  if (!shift_counts(b.r64, low, high) && op == Alu::lsh) return out;
  out.r64 = shifted(op, a.r64, low, high);
  if (low == high) {
    out.bits = shifted_bits(op, a.bits, low, 64);
    // The lower half of what moves up depends on the lower half alone
    if (op == Alu::lsh && low < 32) out.r32 = range::shift_left(a.r32, low, low);
    // (x << 32) s>> 32 and such sign-extend: the signed bounds of the lower half come back when it moves down
    if (op == Alu::lsh && low == 32) {
      out.r64.smin = static_cast<int64_t>(static_cast<uint64_t>(int64_t{a.r32.smin}) << 32);
      out.r64.smax = static_cast<int64_t>(static_cast<uint64_t>(int64_t{a.r32.smax}) << 32);
    }
  }
  out.deduce();
  return out;
}

Number shift32(Alu op, const Number& a, const Number& b) {
  unsigned low = 0;
  unsigned high = 31;
  Tnum bits{0, kLower};
  if (!shift_counts(b.r32, low, high) && op == Alu::lsh) return of_half(bits, {});
  if (low == high) bits = shifted_bits(op, a.bits.low32(), low, 32);
  return of_half(bits, shifted(op, a.r32, low, high));
}

Number wide_arithmetic(Alu op, const Number& a, const Number& b) {
  Number out;
  out.bits = known_bits(op, a.bits, b.bits);
  out.r64 = linear(op, a.r64, b.r64);
  // The lower half of these depends on the lower halves alone
  const bool halves = op == Alu::add || op == Alu::sub || op == Alu::mul || op == Alu::bit_and || op == Alu::bit_or;
  if (halves) out.r32 = linear(op, a.r32, b.r32);
  out.deduce();
  return out;
}

bool is_shift(Alu op) {
  return op == Alu::lsh || op == Alu::rsh || op == Alu::arsh;
}

}  // namespace

Number arithmetic(Alu op, bool wide, const Number& a, const Number& b) {
  if (op == Alu::mov) return wide ? b : lower_half(b);
  if (is_shift(op)) return wide ? shift64(op, a, b) : shift32(op, a, b);
  if (wide) return wide_arithmetic(op, a, b);
  return of_half(known_bits(op, a.bits.low32(), b.bits.low32()), linear(op, a.r32, b.r32));
}

Number negated(const Number& a, bool wide) {
  return arithmetic(Alu::sub, wide, Number::constant(0), a);
}

Number lower_half(const Number& a) {
  return of_half(a.bits, a.r32);
}

Number zero_extended(const Number& a, unsigned from_bits) {
  if (from_bits >= 64) return a;
  if (from_bits == 32) return lower_half(a);
  return arithmetic(Alu::bit_and, true, a, Number::constant((uint64_t{1} << from_bits) - 1));
}

Number sign_extended(const Number& a, unsigned from_bits, bool wide) {
  const auto up = Number::constant((wide ? 64U : 32U) - from_bits);
  const auto least = -(int64_t{1} << (from_bits - 1));
  const auto greatest = (int64_t{1} << (from_bits - 1)) - 1;
  // What fits stays as it is
  if (wide && a.r64.smin >= least && a.r64.smax <= greatest) return a;
  if (!wide && a.r32.smin >= least && a.r32.smax <= greatest) return lower_half(a);
  auto out = arithmetic(Alu::arsh, wide, arithmetic(Alu::lsh, wide, a, up), up);
  if (wide)
    out.meet(Number::signed_between(least, greatest));
  else
    out.r32.meet(Range<uint32_t>::signed_between(static_cast<int32_t>(least), static_cast<int32_t>(greatest)));
  out.deduce();
  return out;
}

Number swapped(const Number& a, unsigned bits, bool swap) {
  if (!swap) return zero_extended(a, bits);
  const auto reverse = [bits](uint64_t v) {
    return bits == 16   ? uint64_t{__builtin_bswap16(static_cast<uint16_t>(v))}
           : bits == 32 ? uint64_t{__builtin_bswap32(static_cast<uint32_t>(v))}
                        : __builtin_bswap64(v);
  };
  Number out;
  out.bits = {reverse(a.bits.value), reverse(a.bits.mask)};
  out.deduce();
  return out;
}

}  // namespace xbond::bpf::verifier
