// The verifier's numbers: no result that can occur is ever lost.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "bpf_compat/verifier/number.hpp"

namespace xbond::bpf::verifier {
namespace {

constexpr uint64_t kSmall = 0x1f;  // 5 bits: all pairs of known bits, against all of their numbers

std::vector<Tnum> small_tnums() {
  std::vector<Tnum> all;
  for (uint64_t mask = 0; mask <= kSmall; ++mask)
    for (uint64_t value = 0; value <= kSmall; ++value)
      if ((value & mask) == 0) all.push_back({value, mask});
  return all;
}

template <class Action>
void each_of(Tnum t, Action&& action) {
  for (uint64_t v = 0; v <= kSmall; ++v)
    if (t.holds(v)) action(v);
}

TEST(Tnum, HoldsEveryResultOfEveryPair) {
  const auto all = small_tnums();
  for (const auto a : all)
    for (const auto b : all) {
      const auto sum = a + b, difference = a - b, product = a * b, both = a & b, either = a | b, differ = a ^ b;
      bool holds = true;
      each_of(a, [&](uint64_t x) {
        each_of(b, [&](uint64_t y) {
          holds = holds && sum.holds(x + y) && difference.holds(x - y) && product.holds(x * y) && both.holds(x & y) &&
                  either.holds(x | y) && differ.holds(x ^ y) && join(a, b).holds(x);
        });
      });
      ASSERT_TRUE(holds) << a.value << "/" << a.mask << " " << b.value << "/" << b.mask;
    }
}

TEST(Tnum, IsAsNarrowAsBitsAllow) {
  EXPECT_EQ(Tnum::range(16, 23), (Tnum{16, 7}));
  EXPECT_EQ(Tnum::range(5, 5), Tnum::constant(5));
  EXPECT_EQ(Tnum::range(0, ~uint64_t{0}).mask, ~uint64_t{0});
  EXPECT_TRUE((Tnum{0, 0xff} & Tnum::constant(0xfc)).is_aligned(4));
}

using Small = Range<uint8_t>;
constexpr std::array<uint8_t, 9> kEdges = {0, 1, 2, 7, 127, 128, 129, 254, 255};

std::vector<Small> small_ranges() {
  std::vector<Small> all;
  for (const auto low : kEdges)
    for (const auto high : kEdges) {
      if (low <= high) all.push_back(Small::between(low, high));
      if (static_cast<int8_t>(low) <= static_cast<int8_t>(high))
        all.push_back(Small::signed_between(static_cast<int8_t>(low), static_cast<int8_t>(high)));
    }
  return all;
}

TEST(Range, DeductionLosesNothingAndNarrows) {
  for (const auto& a : small_ranges())
    for (const auto& b : small_ranges()) {
      Small met = a;
      met.meet(b);
      Small deduced = met;
      if (!met.empty()) deduced.deduce();
      for (unsigned v = 0; v < 256; ++v) {
        const auto value = static_cast<uint8_t>(v);
        ASSERT_TRUE(!met.holds(value) || deduced.holds(value)) << v;
      }
      ASSERT_TRUE(met.empty() || met.covers(deduced));
    }
}

TEST(Range, HoldsEveryResultOfEveryPair) {
  for (const auto& a : small_ranges())
    for (const auto& b : small_ranges()) {
      const auto sum = range::add(a, b), difference = range::sub(a, b), product = range::mul(a, b),
                 quotient = range::div(a, b), rest = range::mod(a, b), both = range::bit_and(a, b),
                 either = range::bit_or(a, b);
      for (unsigned x = 0; x < 256; ++x) {
        if (!a.holds(static_cast<uint8_t>(x))) continue;
        for (unsigned y = 0; y < 256; ++y) {
          if (!b.holds(static_cast<uint8_t>(y))) continue;
          const auto u = [](unsigned v) { return static_cast<uint8_t>(v); };
          ASSERT_TRUE(sum.holds(u(x + y)) && difference.holds(u(x - y)) && product.holds(u(x * y)) &&
                      quotient.holds(u(y ? x / y : 0)) && rest.holds(u(y ? x % y : x)) && both.holds(u(x & y)) &&
                      either.holds(u(x | y)))
              << x << " " << y;
        }
      }
    }
}

TEST(Range, ShiftsHoldEveryResult) {
  for (const auto& a : small_ranges())
    for (unsigned low = 0; low < 8; ++low)
      for (unsigned high = low; high < 8; ++high)
        for (unsigned x = 0; x < 256; ++x) {
          if (!a.holds(static_cast<uint8_t>(x))) continue;
          for (unsigned s = low; s <= high; ++s) {
            ASSERT_TRUE(range::shift_left(a, low, high).holds(static_cast<uint8_t>(x << s)));
            ASSERT_TRUE(range::shift_right(a, low, high).holds(static_cast<uint8_t>(x >> s)));
            const auto down = static_cast<int8_t>(static_cast<int8_t>(x) >> s);
            ASSERT_TRUE(range::arithmetic_shift(a, low, high).holds(static_cast<uint8_t>(down)));
          }
        }
}

// --- whole numbers, against concrete arithmetic on numbers drawn at random

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  uint64_t value() {
    static constexpr std::array<uint64_t, 14> kSpecial = {0,
                                                          1,
                                                          2,
                                                          0x7f,
                                                          0x80,
                                                          0xff,
                                                          0x7fffffff,
                                                          0x80000000,
                                                          0xffffffff,
                                                          0x100000000,
                                                          0x7fffffffffffffff,
                                                          0x8000000000000000,
                                                          ~uint64_t{0},
                                                          0xffffffff80000000};
    const auto pick = random_();
    switch (pick % 4) {
      case 0:
        return random_();
      case 1:
        return kSpecial[random_() % kSpecial.size()] + (random_() % 5 - 2);
      case 2:
        return random_() >> (random_() % 64);
      default:
        return ~(random_() >> (random_() % 64));
    }
  }
  // A few numbers, and what is known of them: their join, made a little wider at times.
  Number number(std::vector<uint64_t>& members) {
    members = {value()};
    const auto count = random_() % 4;
    for (size_t i = 0; i < count; ++i) members.push_back(random_() % 2 ? members[0] + random_() % 64 : value());
    auto out = Number::constant(members[0]);
    for (const auto m : members) out.join(Number::constant(m));
    out.deduce();
    return out;
  }
  uint64_t next() { return random_(); }

 private:
  std::mt19937_64 random_;
};

uint64_t concrete(Alu op, bool wide, uint64_t a, uint64_t b) {
  const auto run = [op](auto x, auto y) -> uint64_t {
    using U = decltype(x);
    using S = std::make_signed_t<U>;
    constexpr unsigned bits = sizeof(U) * 8;
    const auto s = static_cast<unsigned>(y & (bits - 1));
    const auto sx = static_cast<S>(x), sy = static_cast<S>(y);
    switch (op) {
      case Alu::add:
        return static_cast<U>(x + y);
      case Alu::sub:
        return static_cast<U>(x - y);
      case Alu::mul:
        return static_cast<U>(x * y);
      case Alu::div:
        return y ? static_cast<U>(x / y) : 0;
      case Alu::mod:
        return y ? static_cast<U>(x % y) : x;
      case Alu::sdiv:
        return sy == 0 ? 0 : sy == -1 ? static_cast<U>(0 - x) : static_cast<U>(sx / sy);
      case Alu::smod:
        return sy == 0 ? x : sy == -1 ? 0 : static_cast<U>(sx % sy);
      case Alu::bit_or:
        return x | y;
      case Alu::bit_and:
        return x & y;
      case Alu::bit_xor:
        return x ^ y;
      case Alu::lsh:
        return static_cast<U>(x << s);
      case Alu::rsh:
        return static_cast<U>(x >> s);
      case Alu::arsh:
        return static_cast<U>(sx >> s);
      case Alu::mov:
        return y;
    }
    return 0;
  };
  return wide ? run(a, b) : run(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
}

bool concrete(Compare op, bool wide, uint64_t a, uint64_t b) {
  if (!wide) {
    a = static_cast<uint64_t>(int64_t{static_cast<int32_t>(a)});
    b = static_cast<uint64_t>(int64_t{static_cast<int32_t>(b)});
  }
  const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  switch (op) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a != b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::set:
      return (a & b) != 0;
    case Compare::sgt:
      return sa > sb;
    case Compare::sge:
      return sa >= sb;
    case Compare::slt:
      return sa < sb;
    case Compare::sle:
      return sa <= sb;
  }
  return false;
}

constexpr int kRounds = 60'000;

TEST(Number, ArithmeticHoldsEveryResult) {
  Draw draw(1);
  std::vector<uint64_t> as, bs;
  for (int round = 0; round < kRounds; ++round) {
    const auto a = draw.number(as);
    const auto b = draw.number(bs);
    const bool wide = draw.next() % 2 != 0;
    for (auto op = 0; op <= static_cast<int>(Alu::mov); ++op) {
      const auto result = arithmetic(static_cast<Alu>(op), wide, a, b);
      ASSERT_FALSE(result.empty());
      for (const auto x : as)
        for (const auto y : bs)
          ASSERT_TRUE(result.holds(concrete(static_cast<Alu>(op), wide, x, y)))
              << "op " << op << (wide ? " 64 " : " 32 ") << std::hex << x << " " << y << " of " << to_text(a) << " and "
              << to_text(b) << " gives " << to_text(result);
    }
  }
}

TEST(Number, OneOperandHoldsEveryResult) {
  Draw draw(2);
  std::vector<uint64_t> as;
  for (int round = 0; round < kRounds; ++round) {
    const auto a = draw.number(as);
    for (const auto x : as) {
      ASSERT_TRUE(negated(a, true).holds(0 - x));
      ASSERT_TRUE(negated(a, false).holds(static_cast<uint32_t>(0 - x)));
      ASSERT_TRUE(sign_extended(a, 8, true).holds(static_cast<uint64_t>(int64_t{static_cast<int8_t>(x)})));
      ASSERT_TRUE(sign_extended(a, 16, true).holds(static_cast<uint64_t>(int64_t{static_cast<int16_t>(x)})));
      ASSERT_TRUE(sign_extended(a, 32, true).holds(static_cast<uint64_t>(int64_t{static_cast<int32_t>(x)})));
      ASSERT_TRUE(sign_extended(a, 8, false).holds(static_cast<uint32_t>(static_cast<int8_t>(x))));
      ASSERT_TRUE(zero_extended(a, 8).holds(static_cast<uint8_t>(x)));
      ASSERT_TRUE(zero_extended(a, 16).holds(static_cast<uint16_t>(x)));
      ASSERT_TRUE(zero_extended(a, 32).holds(static_cast<uint32_t>(x)));
      ASSERT_TRUE(swapped(a, 16, true).holds(__builtin_bswap16(static_cast<uint16_t>(x))));
      ASSERT_TRUE(swapped(a, 32, true).holds(__builtin_bswap32(static_cast<uint32_t>(x))));
      ASSERT_TRUE(swapped(a, 64, true).holds(__builtin_bswap64(x)));
    }
  }
}

TEST(Number, ComparisonsDecideRightlyAndLoseNothing) {
  Draw draw(3);
  std::vector<uint64_t> as, bs;
  for (int round = 0; round < kRounds; ++round) {
    const auto a = draw.number(as);
    const auto b = draw.number(bs);
    const bool wide = draw.next() % 2 != 0;
    for (auto n = 0; n <= static_cast<int>(Compare::sle); ++n) {
      const auto op = static_cast<Compare>(n);
      const auto known = compare(op, wide, a, b);
      for (const bool holds : {true, false}) {
        auto na = a;
        auto nb = b;
        assume(op, wide, holds, na, nb);
        for (const auto x : as)
          for (const auto y : bs) {
            if (concrete(op, wide, x, y) != holds) continue;
            ASSERT_NE(known, holds ? Known::no : Known::yes);
            ASSERT_TRUE(!na.empty() && !nb.empty() && na.holds(x) && nb.holds(y))
                << "op " << n << (wide ? " 64 " : " 32 ") << holds << std::hex << " " << x << " " << y << " of "
                << to_text(a) << " and " << to_text(b) << " gives " << to_text(na) << " and " << to_text(nb);
          }
      }
    }
  }
}

TEST(Number, LearnsAcrossItsParts) {
  auto n = Number{};
  auto limit = Number::constant(64);
  assume(Compare::lt, true, true, n, limit);
  EXPECT_EQ(n.bits, (Tnum{0, 63}));
  EXPECT_EQ(n.r32.umax, 63U);
  EXPECT_EQ(n.r64.smin, 0);
  // A 32-bit comparison says nothing of the upper half
  n = Number{};
  assume(Compare::lt, false, true, n, limit);
  EXPECT_EQ(n.r32.umax, 63U);
  EXPECT_EQ(n.r64.umax >> 32, 0xffffffffU);
  // A signed comparison alone leaves negative numbers
  n = Number{};
  assume(Compare::slt, true, true, n, limit);
  EXPECT_LT(n.r64.smin, 0);
  EXPECT_EQ(n.r64.umax, ~uint64_t{0});
}

}  // namespace
}  // namespace xbond::bpf::verifier
