// BPF_MAP_TYPE_DEVMAP, CPUMAP and XSKMAP (kernel/bpf/devmap.c, cpumap.c, net/xdp/xskmap.c): where redirected frames go,
// by index. Here they are stored and found; who sends the frames reads the entry that a run was given. Programs only
// read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/map/retired.hpp"

namespace xbond::bpf {

class Program;

// An entry as programs read it (struct bpf_devmap_val, bpf_cpumap_val): a target, 0 for none, and a program's id.
struct Target {
  uint32_t number = 0;   // ifindex; queue size of a CPU; number of a consumer
  uint32_t program = 0;  // id, 0: none
};

// What an entry leads to, as who sends the frames needs it. The program lives until the burst ends; of a CPU map until
// every worker has ended two bursts, since the frame goes on to another one's.
struct Destination {
  uint32_t number = 0;               // as in Target; 0: there is no entry
  const Program* program = nullptr;  // null: none
};

class TargetArrayMap final : public Map {
  struct Token {};  // lets only create() construct

 public:
  TargetArrayMap(Token, MapSpec spec, uint32_t cpus, Area area, Grace& grace);
  ~TargetArrayMap() override;
  TargetArrayMap(const TargetArrayMap&) = delete;
  TargetArrayMap& operator=(const TargetArrayMap&) = delete;

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // Worker, within a burst that the map's Grace knows: what the entry leads to.
  [[nodiscard]] Destination destination(uint32_t index) const noexcept {
    const Entry* entry = index < spec().max_entries ? entries_[index].load(std::memory_order_acquire) : nullptr;
    return entry != nullptr ? entry->to : Destination{};
  }
  // The same: calls `action` with the destination of each entry that there is, each index once.
  template <class Action>
  void each_destination(Action&& action) const {
    for (uint32_t i = 0; i < spec().max_entries; ++i)
      if (const Destination to = destination(i); to.number != 0) action(to);
  }

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  // A value is the target, and where values have eight bytes the id of the program that runs there (0 or -1: none).
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  // Control: the interface is no more, and entries that lead to it go (dev_map_notification).
  void forget(uint32_t ifindex);
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return area_.bytes(); }
  void unused() noexcept override;

  static constexpr size_t kStride = sizeof(Target);

 private:
  // Never changes: an update puts another one in its place, so that a target and its program are seen together.
  struct Entry {
    Destination to;
    std::shared_ptr<const Program> program;
  };

  [[nodiscard]] Target at(uint32_t index) const noexcept;
  [[nodiscard]] std::atomic_ref<uint64_t> cell(uint32_t index) const noexcept;
  [[nodiscard]] int check(uint32_t index, const Target& target, uint64_t flags) const;
  void put(uint32_t index, const Target& target, std::shared_ptr<const Program> program);

  Area area_;                                             // Targets, as programs read them
  std::mutex lock_;                                       // control
  std::unique_ptr<std::atomic<const Entry*>[]> entries_;  // owned; null: none
  Retired retired_;
};

}  // namespace xbond::bpf
