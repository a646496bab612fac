#include "bpf_compat/map/area.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace xbond::bpf {

namespace {

size_t page() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// The area's pages, and one on either side that nobody may touch.
size_t with_guards(size_t bytes) {
  return (bytes + page() - 1) / page() * page() + 2 * page();
}

}  // namespace

Result<Area> Area::allocate(size_t bytes) {
  const auto machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page();
  if (bytes == 0 || bytes > machine)
    return fail(ENOMEM, fmt::format("its values need {} MiB, the machine has {}", bytes >> 20, machine >> 20));
  const auto no_memory = [&] {
    return fail(ENOMEM, fmt::format("no memory for {} KiB of values: {}", bytes >> 10, std::strerror(errno)));
  };
  void* memory = mmap(nullptr, with_guards(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return no_memory();
  Area area(std::span(static_cast<std::byte*>(memory) + page(), bytes));
  if (mprotect(area.data(), bytes, PROT_READ | PROT_WRITE) != 0) return no_memory();
  return area;
}

Area::~Area() {
  if (!bytes_.empty()) munmap(bytes_.data() - page(), with_guards(bytes_.size()));
}

Area::Area(Area&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Area& Area::operator=(Area&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace xbond::bpf
