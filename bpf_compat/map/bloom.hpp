// BPF_MAP_TYPE_BLOOM_FILTER (kernel/bpf/bloom_filter.c): push adds a value, peek says whether it may have been added.
// No lock: bits are only ever set.
#pragma once

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/key_hash.hpp"
#include "bpf_compat/map/map.hpp"

namespace xbond::bpf {

class BloomMap final : public Map {
  struct Token {};  // lets only create() construct

 public:
  BloomMap(Token, MapSpec spec, uint32_t cpus, Area area, uint64_t mask, uint32_t hashes);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus);

  int push(const void* value, uint64_t flags) noexcept override;
  // 0: may be there; -ENOENT: is not. Reads `value`.
  int peek(void* value) noexcept override;

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  // `value` is what is asked for.
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return {}; }

 private:
  // The bit of each hash function: two halves of one hash, combined.
  template <class Action>
  bool each_bit(const void* value, Action&& action) const noexcept;

  Area area_;
  uint64_t mask_;  // bits - 1
  uint32_t hashes_;
  KeyHash hash_;
};

}  // namespace xbond::bpf
