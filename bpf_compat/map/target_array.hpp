// BPF_MAP_TYPE_DEVMAP, CPUMAP and XSKMAP (kernel/bpf/devmap.c, cpumap.c, net/xdp/xskmap.c): where redirected frames go,
// by index. Here they are stored and found; who sends the frames reads the entry that a run was given. Programs only
// read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

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

class TargetArrayMap final : public Map {
  struct Token {};  // lets only create() construct

 public:
  TargetArrayMap(Token, MapSpec spec, uint32_t cpus, Area area, Grace& grace);

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // Worker: the entry; a target of 0 when there is none.
  [[nodiscard]] Target at(uint32_t index) const noexcept;

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  // A value is the target, and where values have eight bytes the id of the program that runs there (0 or -1: none).
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return area_.bytes(); }
  void unused() noexcept override;

  static constexpr size_t kStride = sizeof(Target);

 private:
  [[nodiscard]] std::atomic_ref<uint64_t> cell(uint32_t index) const noexcept;
  [[nodiscard]] int check(uint32_t index, const Target& target, uint64_t flags) const;

  Area area_;
  std::mutex lock_;  // control
  std::vector<std::shared_ptr<const void>> programs_;
  Retired retired_;
};

}  // namespace xbond::bpf
