// What ARRAY and PERCPU_ARRAY share: keys 0 .. max_entries - 1, all of them always present, one block of values.
#pragma once

#include "bpf_compat/map/area.hpp"
#include "bpf_compat/map/map.hpp"

namespace xbond::bpf {

// Index out of a key of 4 bytes, however aligned.
uint32_t index_of(const void* key) noexcept;

// next_key() of maps whose keys are 0 .. max_entries - 1.
int next_index(std::span<const std::byte> key, std::span<std::byte> next, uint32_t max_entries);

class ArrayBase : public Map {
 public:
  // Bytes from one value to the next.
  [[nodiscard]] size_t stride() const { return stride_; }

  int erase(const void* key, uint32_t cpu) noexcept override;
  int copy_erase(std::span<const std::byte> key) override;
  int next_key(std::span<const std::byte> key, std::span<std::byte> next) override;
  [[nodiscard]] std::span<std::byte> values_range() noexcept override { return area_.bytes(); }

 protected:
  ArrayBase(MapSpec spec, uint32_t cpus, Area area, size_t stride);

  // What the kernel asks of both kinds before it makes one. EINVAL, E2BIG.
  static Status check_shape(const MapSpec& spec, uint32_t refused_flags, size_t max_value);
  static size_t stride_of(const MapSpec& spec);

  [[nodiscard]] std::byte* base() const { return area_.data(); }

 private:
  Area area_;
  size_t stride_;
};

}  // namespace xbond::bpf
