#include "bpf_compat/map/bloom.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

constexpr uint32_t kDefaultHashes = 5;
constexpr uint64_t kMostHashes = 15;  // the low four bits of map_extra

}  // namespace

BloomMap::BloomMap(Token, MapSpec spec, uint32_t cpus, Area area, uint64_t mask, uint32_t hashes)
    : Map(std::move(spec), cpus),
      area_(std::move(area)),
      mask_(mask),
      hashes_(hashes),
      hash_((this->spec().flags & BPF_F_ZERO_SEED) != 0) {}

Result<std::shared_ptr<Map>> BloomMap::create(const MapSpec& spec, uint32_t cpus) {
  if (spec.value_size > kMaxKernelAllocation)
    return fail(E2BIG, fmt::format("value size {} is above {}", spec.value_size, kMaxKernelAllocation));
  if (spec.max_entries == 0 || spec.key_size != 0 || spec.value_size == 0) return wrong_sizes(spec);
  if ((spec.flags & ~(BPF_F_NUMA_NODE | BPF_F_ZERO_SEED | kAccessFlags)) != 0 || access_flags_clash(spec.flags))
    return wrong_flags(spec);
  if (spec.extra > kMostHashes)
    return fail(EINVAL, fmt::format("{} hash functions, at most {}", spec.extra, kMostHashes));
  const auto hashes = spec.extra == 0 ? kDefaultHashes : static_cast<uint32_t>(spec.extra);
  // max_entries * hashes / ln 2 bits keep the false answers lowest
  const auto bits =
      std::clamp(std::bit_ceil(uint64_t{spec.max_entries} * hashes * 7 / 5), uint64_t{64}, uint64_t{1} << 32);
  auto area = Area::allocate(bits / 8);
  if (!area) return area.error();
  return std::shared_ptr<Map>(std::make_shared<BloomMap>(Token{}, spec, cpus, std::move(*area), bits - 1, hashes));
}

template <class Action>
bool BloomMap::each_bit(const void* value, Action&& action) const noexcept {
  const auto hash = hash_(value, spec().value_size);
  for (uint64_t i = 0; i < hashes_; ++i) {
    const auto bit = (hash + i * ((hash >> 32) | 1)) & mask_;
    std::atomic_ref word(reinterpret_cast<uint64_t*>(area_.data())[bit / 64]);
    if (!action(word, uint64_t{1} << bit % 64)) return false;
  }
  return true;
}

int BloomMap::push(const void* value, uint64_t flags) noexcept {
  if (flags != BPF_ANY) return -EINVAL;
  each_bit(value, [](std::atomic_ref<uint64_t> word, uint64_t bit) {
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
    return true;
  });
  return 0;
}

int BloomMap::peek(void* value) noexcept {
  const bool all = each_bit(value, [](std::atomic_ref<uint64_t> word, uint64_t bit) {
    return (word.load(std::memory_order_relaxed) & bit) != 0;
  });
  return all ? 0 : -ENOENT;
}

void* BloomMap::lookup(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return nullptr;
}

int BloomMap::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int BloomMap::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EOPNOTSUPP;
}

int BloomMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) {
  if (const int rc = may_read(); rc != 0) return rc;
  return key.empty() && value.size() == spec().value_size ? peek(value.data()) : -EINVAL;
}

int BloomMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  return key.empty() && value.size() == spec().value_size ? push(value.data(), flags) : -EINVAL;
}

int BloomMap::copy_erase(std::span<const std::byte> /*key*/) {
  const int rc = may_write();
  return rc != 0 ? rc : -EOPNOTSUPP;
}

int BloomMap::next_key(std::span<const std::byte> /*key*/, std::span<std::byte> /*next*/) {
  const int rc = may_read();
  return rc != 0 ? rc : -EOPNOTSUPP;
}

}  // namespace xbond::bpf
