// Maps by their shape, and control's calls with plain values. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>

#include "bpf_compat/map/map.hpp"

namespace xbond::bpf::test {

inline MapSpec spec_of(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags = 0) {
  return {.name = "m", .type = type, .key_size = key, .value_size = value, .max_entries = entries, .flags = flags};
}

inline std::shared_ptr<Map> make(const MapSpec& spec, uint32_t cpus = 2, Grace& grace = BurstGrace::instance()) {
  auto map = Map::create(spec, cpus, grace);
  EXPECT_TRUE(map) << map.error().text;
  return map ? *map : nullptr;
}

// errno of the creation
inline int refusal(const MapSpec& spec) {
  const auto map = Map::create(spec, 1);
  return map ? 0 : map.error().code;
}

template <class T>
std::span<const std::byte> in(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> out(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Passes when told to.
class ManualGrace final : public Grace {
 public:
  uint64_t start() noexcept override { return ++started; }
  bool passed(uint64_t token) noexcept override { return token <= passed_up_to; }

  uint64_t started = 0;
  uint64_t passed_up_to = 0;
};

}  // namespace xbond::bpf::test
