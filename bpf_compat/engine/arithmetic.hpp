// The kernel's arithmetic: division by zero gives 0, modulo by zero leaves the dividend, the least number divided by -1
// is itself, shifts take the low bits of their count. T is uint64_t or uint32_t.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace xbond::bpf::arithmetic {

template <class T>
inline constexpr unsigned kShiftMask = sizeof(T) * 8 - 1;

template <class T>
constexpr T add(T a, T b) {
  return a + b;
}
template <class T>
constexpr T sub(T a, T b) {
  return a - b;
}
template <class T>
constexpr T mul(T a, T b) {
  return a * b;
}
template <class T>
constexpr T div(T a, T b) {
  return b == 0 ? 0 : a / b;
}
template <class T>
constexpr T mod(T a, T b) {
  return b == 0 ? a : a % b;
}
template <class T>
constexpr T sdiv(T a, T b) {
  using S = std::make_signed_t<T>;
  if (b == 0) return 0;
  if (static_cast<S>(b) == -1) return T{0} - a;  // the machine's division would trap on the least number
  return static_cast<T>(static_cast<S>(a) / static_cast<S>(b));
}
template <class T>
constexpr T smod(T a, T b) {
  using S = std::make_signed_t<T>;
  if (b == 0) return a;
  if (static_cast<S>(b) == -1) return 0;
  return static_cast<T>(static_cast<S>(a) % static_cast<S>(b));
}
template <class T>
constexpr T bit_or(T a, T b) {
  return a | b;
}
template <class T>
constexpr T bit_and(T a, T b) {
  return a & b;
}
template <class T>
constexpr T bit_xor(T a, T b) {
  return a ^ b;
}
template <class T>
constexpr T lsh(T a, T b) {
  return a << (b & kShiftMask<T>);
}
template <class T>
constexpr T rsh(T a, T b) {
  return a >> (b & kShiftMask<T>);
}
template <class T>
constexpr T arsh(T a, T b) {
  return static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> (b & kShiftMask<T>));
}
template <class T>
constexpr T mov(T /*a*/, T b) {
  return b;
}

// The low bits of `b`, sign-extended to T. S is int8_t, int16_t or int32_t.
template <class T, class S>
constexpr T sign_extend(T b) {
  return static_cast<T>(static_cast<std::make_signed_t<T>>(static_cast<S>(b)));
}

template <class T>
constexpr bool jeq(T a, T b) {
  return a == b;
}
template <class T>
constexpr bool jne(T a, T b) {
  return a != b;
}
template <class T>
constexpr bool jgt(T a, T b) {
  return a > b;
}
template <class T>
constexpr bool jge(T a, T b) {
  return a >= b;
}
template <class T>
constexpr bool jlt(T a, T b) {
  return a < b;
}
template <class T>
constexpr bool jle(T a, T b) {
  return a <= b;
}
template <class T>
constexpr bool jset(T a, T b) {
  return (a & b) != 0;
}
template <class T>
constexpr bool jsgt(T a, T b) {
  using S = std::make_signed_t<T>;
  return static_cast<S>(a) > static_cast<S>(b);
}
template <class T>
constexpr bool jsge(T a, T b) {
  using S = std::make_signed_t<T>;
  return static_cast<S>(a) >= static_cast<S>(b);
}
template <class T>
constexpr bool jslt(T a, T b) {
  using S = std::make_signed_t<T>;
  return static_cast<S>(a) < static_cast<S>(b);
}
template <class T>
constexpr bool jsle(T a, T b) {
  using S = std::make_signed_t<T>;
  return static_cast<S>(a) <= static_cast<S>(b);
}

}  // namespace xbond::bpf::arithmetic
