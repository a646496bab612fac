// What is known of a 64-bit number: its bits, and its bounds and those of its lower half, read unsigned and signed. The
// set of numbers that fit all of it holds every number that can occur. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "bpf_compat/verifier/range.hpp"
#include "bpf_compat/verifier/tnum.hpp"

namespace xbond::bpf::verifier {

struct Number {
  Tnum bits;
  Range<uint64_t> r64;
  Range<uint32_t> r32;

  static constexpr Number constant(uint64_t value) {
    return {Tnum::constant(value), Range<uint64_t>::constant(value),
            Range<uint32_t>::constant(static_cast<uint32_t>(value))};
  }
  // Unsigned bounds, and all that follows.
  static Number between(uint64_t low, uint64_t high);
  static Number signed_between(int64_t low, int64_t high);

  [[nodiscard]] constexpr bool is_constant() const { return bits.mask == 0; }
  [[nodiscard]] constexpr bool is(uint64_t value) const { return bits.mask == 0 && bits.value == value; }
  [[nodiscard]] constexpr uint64_t value() const { return bits.value; }  // precondition: is_constant()
  [[nodiscard]] constexpr bool empty() const { return r64.empty() || r32.empty(); }
  [[nodiscard]] constexpr bool holds(uint64_t number) const {
    return bits.holds(number) && r64.holds(number) && r32.holds(static_cast<uint32_t>(number));
  }
  [[nodiscard]] constexpr bool covers(const Number& other) const {
    return bits.covers(other.bits) && r64.covers(other.r64) && r32.covers(other.r32);
  }
  [[nodiscard]] constexpr bool unknown() const { return *this == Number{}; }
  friend constexpr bool operator==(const Number&, const Number&) = default;

  // Lets each part learn from the others. Afterwards empty() holds where no number fits.
  void deduce();
  void meet(const Number& other);
  void join(const Number& other);
};

enum class Alu : uint8_t { add, sub, mul, div, mod, sdiv, smod, bit_or, bit_and, bit_xor, lsh, rsh, arsh, mov };

// The result of a two-operand instruction, of its 64-bit or 32-bit form (whose result's upper half is zero). Division
// by zero, remainder by zero and counts beyond the width are what isa says: 0, the dividend, masked.
Number arithmetic(Alu op, bool wide, const Number& a, const Number& b);
Number negated(const Number& a, bool wide);
Number lower_half(const Number& a);                                    // the upper half becomes zero
Number sign_extended(const Number& a, unsigned from_bits, bool wide);  // 8, 16 or 32
Number zero_extended(const Number& a, unsigned from_bits);             // the lowest 8, 16, 32 or 64 bits
Number swapped(const Number& a, unsigned bits, bool swap);             // byte order; `swap` false only cuts

enum class Compare : uint8_t { eq, ne, gt, ge, lt, le, set, sgt, sge, slt, sle };

enum class Known : uint8_t { no, yes, maybe };

// Whether `a op b` holds, for all of their numbers.
Known compare(Compare op, bool wide, const Number& a, const Number& b);

// What is left of both where `a op b` holds (or does not, for `holds` false).
void assume(Compare op, bool wide, bool holds, Number& a, Number& b);

// As the kernel prints it: "umin=…,smax=…,var_off=(0x0; 0xff)"; a constant as its number.
std::string to_text(const Number& number);

}  // namespace xbond::bpf::verifier
