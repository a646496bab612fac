// BPF_MAP_TYPE_ARRAY_OF_MAPS and BPF_MAP_TYPE_PROG_ARRAY (kernel/bpf/arraymap.c): an index leads to a map or a program.
// Only control writes. Workers read one pointer.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "bpf_compat/map/map.hpp"
#include "bpf_compat/map/reference.hpp"
#include "bpf_compat/map/retired.hpp"

namespace xbond::bpf {

class RefArrayMap final : public Map {
  struct Token {};  // lets only create() construct

 public:
  RefArrayMap(Token, MapSpec spec, uint32_t cpus, Grace& grace);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // Worker: what the entry leads to (Reference::seen); null: nothing.
  [[nodiscard]] const void* at(uint32_t index) const {
    return index < spec().max_entries ? seen_[index].load(std::memory_order_acquire) : nullptr;
  }

  // The inner map as programs see it.
  void* lookup(const void* key, uint32_t cpu) noexcept override;
  // Programs can't write: the kernel's verifier refuses it.
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  // A value is an id of four bytes.
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return {}; }
  // Programs of a prog array refer to their maps, and so to the array: it lets them go.
  void unused() noexcept override;

 private:
  std::unique_ptr<std::atomic<const void*>[]> seen_;
  std::mutex lock_;  // control
  std::vector<Reference> references_;
  Retired retired_;
};

}  // namespace xbond::bpf
