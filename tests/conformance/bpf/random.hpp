// Repeatable random numbers: the same sequence on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace xbond::bpf::conformance {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d;
  }
  // 0 … limit - 1
  uint64_t below(uint64_t limit) { return (next() >> 16) % limit; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }

  // Numbers at which arithmetic goes wrong, more often than others.
  uint64_t edge() {
    constexpr std::array<uint64_t, 16> kEdges = {0,
                                                 1,
                                                 2,
                                                 31,
                                                 32,
                                                 63,
                                                 64,
                                                 0x7fffffff,
                                                 0x80000000,
                                                 0xffffffff,
                                                 0x100000000,
                                                 0x7fffffffffffffff,
                                                 0x8000000000000000,
                                                 0xffffffffffffffff,
                                                 0xffffffff80000000,
                                                 0xffffffff7fffffff};
    return chance(2) ? kEdges[below(kEdges.size())] : next() >> below(64);
  }

  void fill(std::span<uint8_t> bytes) {
    for (auto& byte : bytes) byte = static_cast<uint8_t>(next() >> 24);
  }

 private:
  uint64_t state_;
};

}  // namespace xbond::bpf::conformance
