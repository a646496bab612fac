#include "bpf_compat/map/area.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace xbond::bpf {

Result<Area> Area::allocate(size_t bytes) {
  const auto machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0 || bytes > machine)
    return fail(ENOMEM, fmt::format("its values need {} MiB, the machine has {}", bytes >> 20, machine >> 20));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fail(ENOMEM, fmt::format("no memory for {} KiB of values: {}", bytes >> 10, std::strerror(errno)));
  return Area(std::span(static_cast<std::byte*>(memory), bytes));
}

Area::~Area() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

Area::Area(Area&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Area& Area::operator=(Area&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace xbond::bpf
