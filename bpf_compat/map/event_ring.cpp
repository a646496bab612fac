#include "bpf_compat/map/event_ring.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace xbond::bpf {
namespace {

Error no_memory(size_t bytes) {
  return fail(ENOMEM, fmt::format("no memory for a ring of {} KiB: {}", bytes >> 10, std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<EventRing>> EventRing::create(size_t bytes) {
  const int fd = memfd_create("ring", MFD_CLOEXEC);
  if (fd < 0) return no_memory(bytes);
  void* both = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0)
    both = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto* memory = static_cast<std::byte*>(both);
  bool mapped = both != MAP_FAILED;
  for (size_t half = 0; mapped && half < 2; ++half)
    mapped = mmap(memory + half * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  const auto failed = no_memory(bytes);
  close(fd);
  if (mapped) return std::unique_ptr<EventRing>(new EventRing(memory, bytes));
  if (both != MAP_FAILED) munmap(both, 2 * bytes);
  return failed;
}

EventRing::~EventRing() {
  munmap(memory_, 2 * bytes_);
}

std::byte* EventRing::reserve(uint32_t length) noexcept {
  if (length > kLength || whole(length) > bytes_) return nullptr;
  const auto position = producer_.load(std::memory_order_relaxed);
  // One byte less than all: the kernel's rule
  if (position + whole(length) - consumer_.load(std::memory_order_acquire) > bytes_ - 1) return nullptr;
  header(at(position)).store(length | kBusy, std::memory_order_relaxed);
  producer_.store(position + whole(length), std::memory_order_release);
  return at(position) + kHeader;
}

void EventRing::commit(std::byte* record, bool discard) noexcept {
  const auto head = header(record - kHeader);
  const auto length = head.load(std::memory_order_relaxed) & kLength;
  head.store(length | (discard ? kDiscard : 0), std::memory_order_release);
}

}  // namespace xbond::bpf
