// BPF_MAP_TYPE_ARRAY, and the data sections of an object, which are arrays of one value.
#pragma once

#include "bpf_compat/map/array_base.hpp"

namespace xbond::bpf {

class ArrayMap final : public ArrayBase {
  struct Token {};  // lets only create() construct

 public:
  ArrayMap(Token, MapSpec spec, uint32_t cpus, Area area, size_t stride)
      : ArrayBase(std::move(spec), cpus, std::move(area), stride) {}

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus);

  [[nodiscard]] std::byte* value(uint32_t index) const { return base() + size_t{index} * stride(); }

  void* lookup(const void* key, uint32_t cpu) noexcept override;
  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
};

}  // namespace xbond::bpf
