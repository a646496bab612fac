// Known bits of a number: a bit of `mask` is unknown, any other bit is that of `value`. Arithmetic wraps at 64 bits and
// never loses a possible result. Thread: any.
#pragma once

#include <bit>
#include <cstdint>

namespace xbond::bpf::verifier {

struct Tnum {
  uint64_t value = 0;
  uint64_t mask = ~uint64_t{0};

  static constexpr Tnum constant(uint64_t value) { return {value, 0}; }
  // All numbers of [low, high]: the bits above the highest one in which they differ are known.
  static constexpr Tnum range(uint64_t low, uint64_t high) {
    const auto differ = static_cast<unsigned>(std::bit_width(low ^ high));
    const uint64_t mask = differ == 64 ? ~uint64_t{0} : (uint64_t{1} << differ) - 1;
    return {low & ~mask, mask};
  }

  [[nodiscard]] constexpr bool is_constant() const { return mask == 0; }
  [[nodiscard]] constexpr uint64_t low() const { return value; }
  [[nodiscard]] constexpr uint64_t high() const { return value | mask; }
  [[nodiscard]] constexpr bool holds(uint64_t number) const { return (number & ~mask) == value; }
  // Every number of `other` is one of these.
  [[nodiscard]] constexpr bool covers(const Tnum& other) const {
    return (other.mask & ~mask) == 0 && (other.value & ~mask) == value;
  }
  // All are multiples of `bytes`, a power of two.
  [[nodiscard]] constexpr bool is_aligned(uint64_t bytes) const { return ((value | mask) & (bytes - 1)) == 0; }
  [[nodiscard]] constexpr Tnum low32() const { return {value & 0xffffffff, mask & 0xffffffff}; }

  friend constexpr bool operator==(const Tnum&, const Tnum&) = default;
};

// A sum's bit is known where both bits are known and so is the carry: where the least and the greatest sum agree on it.
constexpr Tnum operator+(Tnum a, Tnum b) {
  const uint64_t least = a.low() + b.low();
  const uint64_t greatest = a.high() + b.high();
  const uint64_t unknown = (least ^ greatest) | a.mask | b.mask;
  return {least & ~unknown, unknown};
}
// Likewise with borrows: a difference is greatest where a is and b is least.
constexpr Tnum operator-(Tnum a, Tnum b) {
  const uint64_t greatest = a.high() - b.low();
  const uint64_t least = a.low() - b.high();
  const uint64_t unknown = (least ^ greatest) | a.mask | b.mask;
  return {(a.value - b.value) & ~unknown, unknown};
}
constexpr Tnum operator&(Tnum a, Tnum b) {
  const uint64_t ones = a.value & b.value;
  return {ones, (a.high() & b.high()) & ~ones};
}
constexpr Tnum operator|(Tnum a, Tnum b) {
  const uint64_t ones = a.value | b.value;
  return {ones, (a.mask | b.mask) & ~ones};
}
constexpr Tnum operator^(Tnum a, Tnum b) {
  const uint64_t unknown = a.mask | b.mask;
  return {(a.value ^ b.value) & ~unknown, unknown};
}
// Precondition: bits < 64
constexpr Tnum operator<<(Tnum a, unsigned bits) {
  return {a.value << bits, a.mask << bits};
}
constexpr Tnum operator>>(Tnum a, unsigned bits) {
  return {a.value >> bits, a.mask >> bits};
}
// Arithmetic shift of a `width` bit number, 32 or 64; an unknown sign stays unknown in every bit that it fills.
constexpr Tnum arithmetic_shift(Tnum a, unsigned bits, unsigned width) {
  if (width == 64)
    return {static_cast<uint64_t>(static_cast<int64_t>(a.value) >> bits),
            static_cast<uint64_t>(static_cast<int64_t>(a.mask) >> bits)};
  return {static_cast<uint32_t>(static_cast<int32_t>(a.value) >> bits),
          static_cast<uint32_t>(static_cast<int32_t>(a.mask) >> bits)};
}
// By schoolbook: each bit of `a` that may be set adds `b`, shifted.
constexpr Tnum operator*(Tnum a, Tnum b) {
  if (a.is_constant() && b.is_constant()) return Tnum::constant(a.value * b.value);
  if (std::popcount(a.high()) > std::popcount(b.high())) {
    const Tnum c = a;
    a = b;
    b = c;
  }
  Tnum sum = Tnum::constant(0);
  for (uint64_t left = a.high(); left != 0; left &= left - 1) {
    const auto bit = static_cast<unsigned>(std::countr_zero(left));
    Tnum term = b << bit;
    if (((a.mask >> bit) & 1) != 0) term = {0, term.high()};
    sum = sum + term;
  }
  return sum;
}
// Numbers that are in both; where no number is, what agrees with `a`.
constexpr Tnum meet(Tnum a, Tnum b) {
  const uint64_t mask = a.mask & b.mask;
  return {(a.value | b.value) & ~mask, mask};
}
// Numbers that are in either.
constexpr Tnum join(Tnum a, Tnum b) {
  const uint64_t mask = a.mask | b.mask | (a.value ^ b.value);
  return {a.value & ~mask, mask};
}

}  // namespace xbond::bpf::verifier
