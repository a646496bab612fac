#include "tests/conformance/bpf/map_pair.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstring>

#include "bpf_compat/hex.hpp"
#include "tests/conformance/bpf/random.hpp"

namespace xbond::bpf::conformance {
namespace {

constexpr uint32_t kEntries = 16;

// Maps whose values are bytes, and keys the caller's to choose. Others hold programs, devices, maps or events.
bool holds_bytes(uint32_t type) {
  switch (type) {
    case BPF_MAP_TYPE_ARRAY:
    case BPF_MAP_TYPE_PERCPU_ARRAY:
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_LRU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH:
    case BPF_MAP_TYPE_LPM_TRIE:
      return true;
    default:
      return false;
  }
}

bool is_array(uint32_t type) {
  return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

std::vector<uint8_t> make_key(const MapSpec& spec, uint32_t number, Random& random) {
  std::vector<uint8_t> key(spec.key_size);
  if (!is_array(spec.type)) random.fill(key);
  if (spec.type == BPF_MAP_TYPE_LPM_TRIE) number = static_cast<uint32_t>(random.below((spec.key_size - 4) * 8 + 1));
  // The first bytes: an index, a prefix length, or small numbers that packets hold too
  std::memcpy(key.data(), &number, std::min(key.size(), sizeof(number)));
  return key;
}

}  // namespace

std::optional<std::string> fill_both(int kernel, Map& ours) {
  const auto& spec = ours.spec();
  if (!holds_bytes(spec.type) || !spec.initial.empty()) return std::nullopt;
  Random random(99);
  std::vector<uint8_t> value(ours.control_value_size());
  for (uint32_t i = 0; i < std::min(spec.max_entries, kEntries); ++i) {
    const auto key = make_key(spec, i, random);
    random.fill(value);
    const int a = bpf_map_update_elem(kernel, key.data(), value.data(), BPF_ANY) == 0 ? 0 : -errno;
    const int b = ours.copy_update(std::as_bytes(std::span(key)), std::as_bytes(std::span(value)), BPF_ANY);
    if (a != b) return fmt::format("map {}: update {} gives {} in the kernel, {} here", spec.name, i, a, b);
  }
  return std::nullopt;
}

std::optional<std::string> compare_both(int kernel, Map& ours) {
  const auto& spec = ours.spec();
  if (!holds_bytes(spec.type)) return std::nullopt;
  std::vector<uint8_t> key(spec.key_size);
  std::vector<uint8_t> next(spec.key_size);
  std::vector<uint8_t> a(ours.control_value_size());
  std::vector<uint8_t> b(ours.control_value_size());
  size_t count = 0;
  for (int rc = bpf_map_get_next_key(kernel, nullptr, next.data()); rc == 0;
       rc = bpf_map_get_next_key(kernel, key.data(), next.data())) {
    key = next;
    ++count;
    if (bpf_map_lookup_elem(kernel, key.data(), a.data()) != 0) continue;
    const int own = ours.copy_lookup(std::as_bytes(std::span(key)), std::as_writable_bytes(std::span(b)));
    if (own != 0 || a != b)
      return fmt::format("map {} key {}: kernel holds {}, ours {}", spec.name, to_hex(std::as_bytes(std::span(key))),
                         to_hex(std::as_bytes(std::span(a))),
                         own != 0 ? std::strerror(-own) : to_hex(std::as_bytes(std::span(b))));
  }
  std::vector<std::byte> at;
  std::vector<std::byte> own_next(spec.key_size);
  size_t own_count = 0;
  while (ours.next_key(at, own_next) == 0) {
    at = own_next;
    ++own_count;
  }
  if (count != own_count) return fmt::format("map {}: kernel has {} entries, ours {}", spec.name, count, own_count);
  return std::nullopt;
}

}  // namespace xbond::bpf::conformance
