// BPF_MAP_TYPE_RINGBUF (kernel/bpf/ringbuf.c) and BPF_MAP_TYPE_PERF_EVENT_ARRAY: records that programs write and
// control reads. A ring buffer is one for all workers, a perf event array has a ring for each.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "bpf_compat/map/event_ring.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/map/spin.hpp"

namespace xbond::bpf {

// What both can't do: their entries have no keys that one could look up.
class EventMap : public Map {
 public:
  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return {}; }

  // Records that found no room so far.
  [[nodiscard]] uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 protected:
  using Map::Map;
  void count_lost() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }
  std::mutex reader_;  // control: one at a time

 private:
  std::atomic<uint64_t> lost_{0};
};

class RingBufMap final : public EventMap {
  struct Token {};  // lets only create() construct

 public:
  RingBufMap(Token, MapSpec spec, uint32_t cpus, std::unique_ptr<EventRing> ring)
      : EventMap(std::move(spec), cpus), ring_(std::move(ring)) {}

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus);

  // Worker. Null: no room. Give the record to EventRing::commit.
  std::byte* reserve(uint32_t bytes) noexcept;
  // What bpf_ringbuf_query() tells (BPF_RB_*).
  [[nodiscard]] uint64_t query(uint64_t what) const noexcept;

  int drain(const std::function<bool(const Event&)>& sink) override;

 private:
  SpinLock lock_;  // producers
  std::unique_ptr<EventRing> ring_;
};

class PerfEventMap final : public EventMap {
  struct Token {};  // lets only create() construct

 public:
  PerfEventMap(Token, MapSpec spec, uint32_t cpus, std::vector<std::unique_ptr<EventRing>> rings)
      : EventMap(std::move(spec), cpus), rings_(std::move(rings)) {}

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus);

  // Worker `cpu` writes an event of `bytes` at an index (BPF_F_CURRENT_CPU: its own), then commits it. Null: `error` is
  // the kernel's errno, negative.
  std::byte* reserve(uint32_t cpu, uint64_t index, uint64_t bytes, int& error) noexcept;
  static void commit(std::byte* event) noexcept;

  int drain(const std::function<bool(const Event&)>& sink) override;

 private:
  std::vector<std::unique_ptr<EventRing>> rings_;  // by worker
};

}  // namespace xbond::bpf
