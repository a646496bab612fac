// BPF_MAP_TYPE_LPM_TRIE (kernel/bpf/lpm_trie.c): keys are a prefix length (32 bits, this machine's byte order) and an
// address in network order; a look-up finds the longest prefix that holds it. Look-ups take no lock; writers take one.
#pragma once

#include <atomic>
#include <memory>

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/map/slot_pool.hpp"
#include "bpf_compat/map/spin.hpp"

namespace xbond::bpf {

class LpmTrieMap final : public Map {
  struct Token {};  // lets only create() construct

 public:
  LpmTrieMap(Token, MapSpec spec, uint32_t cpus, Area area, std::unique_ptr<SlotPool> pool, uint32_t places);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // Bytes from one value to the next, and how many there may be.
  [[nodiscard]] size_t stride() const { return stride_; }
  [[nodiscard]] uint32_t places() const { return places_; }

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  // More special prefixes first, then in the order of addresses.
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return area_.bytes(); }

 private:
  using Child = std::atomic<uint32_t>;  // place + 1; 0: none
  struct Node {
    Child child[2];               // by the first bit behind the prefix
    uint32_t length;              // bits
    std::atomic<uint32_t> joint;  // 1: only joins its children, holds no value
    // The address follows, filled up with zeros to a multiple of 8
  };
  static_assert(sizeof(Node) == 16);
  struct Prefix {
    uint32_t length;
    const std::byte* data;
  };

  [[nodiscard]] Prefix prefix(const void* key) const;
  [[nodiscard]] std::byte* value(uint32_t child) const { return area_.data() + stride_ * (child - 1); }
  [[nodiscard]] Node& node(uint32_t child) const { return *reinterpret_cast<Node*>(value(child) + node_offset_); }
  [[nodiscard]] std::byte* data(uint32_t child) const { return value(child) + node_offset_ + sizeof(Node); }
  [[nodiscard]] uint32_t common(uint32_t child, const Prefix& with) const;
  [[nodiscard]] uint32_t find(const Prefix& wanted) const;

  // With the lock held. `found` 0: `at` is where it would go; otherwise the node there, which shares `shared` bits.
  struct Path {
    Child* at;
    uint32_t found;
    uint32_t shared;
    Child* parent_at;
    uint32_t parent;
  };
  [[nodiscard]] Path descend(const Prefix& to);
  int insert(const Prefix& key, const Path& path, const void* value, uint64_t flags, uint32_t owner);
  uint32_t make(const Prefix& prefix, const void* value, uint32_t owner);
  int may_add(uint64_t flags);
  int copy_first(uint32_t root, std::span<std::byte> next) const;
  int copy_key(uint32_t child, std::span<std::byte> next) const;

  Area area_;
  std::unique_ptr<SlotPool> pool_;
  uint32_t places_;
  uint32_t data_bytes_;
  uint32_t max_length_;
  size_t node_offset_;
  size_t stride_;
  SpinLock lock_;
  uint32_t count_ = 0;
  Child root_{0};
};

}  // namespace xbond::bpf
