// BPF_MAP_TYPE_PERCPU_ARRAY: one array for each worker. Each worker's lies on its own pages, so that no line is written
// by two.
#pragma once

#include "bpf_compat/map/array_base.hpp"

namespace xbond::bpf {

class PercpuArrayMap final : public ArrayBase {
  struct Token {};  // lets only create() construct

 public:
  PercpuArrayMap(Token, MapSpec spec, uint32_t cpus, Area area, size_t stride, size_t plane)
      : ArrayBase(std::move(spec), cpus, std::move(area), stride), plane_(plane) {}

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus);

  // Bytes from one worker's array to the next's.
  [[nodiscard]] size_t plane() const { return plane_; }
  [[nodiscard]] std::byte* value(uint32_t index, uint32_t cpu) const {
    return base() + size_t{cpu} * plane_ + size_t{index} * stride();
  }

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;

 private:
  size_t plane_;
};

}  // namespace xbond::bpf
