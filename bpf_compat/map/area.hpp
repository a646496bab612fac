// Zeroed memory for map values, taken page by page from the system when first touched. Owner: the map. Thread: any.
#pragma once

#include <cstddef>
#include <span>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

class Area {
 public:
  // Errors: ENOMEM, also for more than the machine has: lazily backed pages would only fail later, on a worker.
  static Result<Area> allocate(size_t bytes);

  Area() = default;
  ~Area();
  Area(Area&& other) noexcept;
  Area& operator=(Area&& other) noexcept;
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  [[nodiscard]] std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit Area(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace xbond::bpf
