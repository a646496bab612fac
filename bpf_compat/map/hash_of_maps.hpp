// BPF_MAP_TYPE_HASH_OF_MAPS (kernel/bpf/hashtab.c): a key leads to a map. Only control writes.
#pragma once

#include <mutex>
#include <unordered_map>

#include "bpf_compat/map/hash.hpp"
#include "bpf_compat/map/reference.hpp"
#include "bpf_compat/map/retired.hpp"

namespace xbond::bpf {

class HashOfMaps final : public Map {
  struct Token {};  // lets only create() construct

 public:
  HashOfMaps(Token, MapSpec spec, uint32_t cpus, std::shared_ptr<Map> table, Grace& grace);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // The inner map as programs see it.
  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  // A value is an id of four bytes.
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return {}; }

 private:
  // What the table holds for a key
  struct Entry {
    uint64_t seen;
    uint64_t id;
  };
  [[nodiscard]] bool get(std::span<const std::byte> key, Entry& entry);
  void let_go(const Entry& entry);

  std::shared_ptr<Map> table_;                                        // a HashMap
  std::mutex lock_;                                                   // control
  std::unordered_map<uint64_t, std::shared_ptr<const void>> owners_;  // by Entry::seen
  Retired retired_;
};

}  // namespace xbond::bpf
