// BPF_MAP_TYPE_QUEUE and BPF_MAP_TYPE_STACK (kernel/bpf/queue_stack_maps.c): values without keys, first in first out or
// last in first out. Every operation takes the map's lock, as in the kernel: a value is gone once it was taken.
#pragma once

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/map/spin.hpp"

namespace xbond::bpf {

class QueueStackMap final : public Map {
  struct Token {};  // lets only create() construct

 public:
  QueueStackMap(Token, MapSpec spec, uint32_t cpus, Area area);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus);

  // 0, -E2BIG full (with BPF_EXIST the oldest makes room), -EINVAL other flags.
  int push(const void* value, uint64_t flags) noexcept override;
  // 0, -ENOENT empty: `value` is then zeroed.
  int pop(void* value) noexcept override;
  int peek(void* value) noexcept override;

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int copy_take(std::span<const std::byte> key, std::span<std::byte> value) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return {}; }

 private:
  [[nodiscard]] std::byte* at(uint64_t position) const;
  int get(void* value, bool remove) noexcept;

  Area area_;
  bool stack_;
  SpinLock lock_;
  uint64_t head_ = 0;  // values put so far; a stack counts down again
  uint64_t tail_ = 0;  // values taken from a queue's front, or pushed out
};

}  // namespace xbond::bpf
