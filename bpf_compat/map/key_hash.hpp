// Keys are packets' addresses and ports: their sender chooses them. Each map therefore hashes with secrets of its own,
// or a stranger could put all keys in one place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xbond::bpf {

class KeyHash {
 public:
  // `fixed`: BPF_F_ZERO_SEED, the same hash in each map.
  explicit KeyHash(bool fixed);

  [[nodiscard]] uint64_t operator()(const void* key, size_t size) const noexcept {
    const auto* at = static_cast<const unsigned char*>(key);
    uint64_t state = first_ ^ size;
    for (; size > 16; at += 16, size -= 16) state = fold(word(at, 8) ^ second_, word(at + 8, 8) ^ state);
    const uint64_t low = word(at, size < 8 ? size : 8);
    const uint64_t high = size > 8 ? word(at + 8, size - 8) : 0;
    return last(low, high, state);
  }

  // The same of a key of `size` bytes that stands in words, the last one filled up with zeros.
  template <size_t Words>
  [[nodiscard]] uint64_t of_words(const std::array<uint64_t, Words>& key, size_t size) const noexcept {
    constexpr size_t kLast = (Words - 1) / 2 * 2;
    uint64_t state = first_ ^ size;
    for (size_t i = 0; i < kLast; i += 2) state = fold(key[i] ^ second_, key[i + 1] ^ state);
    return last(key[kLast], kLast + 1 < Words ? key[Words - 1] : 0, state);
  }

 private:
  [[nodiscard]] uint64_t last(uint64_t low, uint64_t high, uint64_t state) const noexcept {
    return fold(fold(low ^ second_, high ^ state), first_);
  }
  static uint64_t word(const unsigned char* at, size_t bytes) noexcept {
    uint64_t value = 0;
    if (bytes == 8)
      std::memcpy(&value, at, 8);
    else if (bytes == 4)
      std::memcpy(&value, at, 4);
    else
      std::memcpy(&value, at, bytes);
    return value;
  }
  // Both halves of the product: every bit of the factors reaches every bit of the result.
  static uint64_t fold(uint64_t a, uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  uint64_t first_;
  uint64_t second_;
};

}  // namespace xbond::bpf
