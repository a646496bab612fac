// Decisions taken from bytes: the same bytes, the same decisions; beyond their end all are 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace xbond::bpf::test {

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool done() const { return at_ >= bytes_.size(); }
  uint8_t byte() { return done() ? 0 : bytes_[at_++]; }
  // Below `count`, which is at most 256
  unsigned below(unsigned count) { return byte() % count; }
  bool one_in(unsigned count) { return byte() % count == 1; }
  template <class T, size_t N>
  T of(const T (&list)[N]) {
    return list[below(N)];
  }
  uint64_t number64() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  // Numbers near which bounds change: small ones, powers of two and their neighbours, and any
  int64_t edge() {
    const auto kind = below(8);
    if (kind < 3) return int64_t{byte()} - (kind == 0 ? 0 : 64);
    if (kind == 7) return static_cast<int64_t>(number64());
    const auto power = static_cast<int64_t>(uint64_t{1} << below(64));
    const auto near = static_cast<int64_t>(static_cast<uint64_t>(power) + below(3) - 1);
    return kind == 6 ? static_cast<int64_t>(0 - static_cast<uint64_t>(near)) : near;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace xbond::bpf::test
