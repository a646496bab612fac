// x % d for a d that changes seldom: two multiplications in place of a division (Lemire, Kaser, Kurz: Faster remainder
// by direct computation; exact for all 32-bit x and d > 0).
#pragma once

#include <cstdint>

namespace xbond::bond {

// Once per d > 0. For d = 1 it wraps to 0, which gives the right remainder.
constexpr uint64_t modulo_magic(uint32_t d) noexcept {
  return UINT64_MAX / d + 1;
}

constexpr uint32_t modulo(uint32_t x, uint64_t magic, uint32_t d) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint32_t>(static_cast<Wide>(magic * x) * d >> 64);
}

}  // namespace xbond::bond
