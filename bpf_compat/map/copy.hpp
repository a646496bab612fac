// Copies between private memory and a map value that others may read and write at the same time. As in the kernel there
// is no lock: a reader may see part of an update, but never half of an aligned word. `shared` is 8-byte aligned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xbond::bpf {

inline void copy_in(std::byte* shared, const void* from, size_t size) noexcept {
  const auto* source = static_cast<const std::byte*>(from);
  size_t done = 0;
  for (; size - done >= sizeof(uint64_t); done += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, source + done, sizeof(word));
    std::atomic_ref(*reinterpret_cast<uint64_t*>(shared + done)).store(word, std::memory_order_relaxed);
  }
  for (; done < size; ++done) std::atomic_ref(shared[done]).store(source[done], std::memory_order_relaxed);
}

inline void copy_zero(std::byte* shared, size_t size) noexcept {
  size_t done = 0;
  for (; size - done >= sizeof(uint64_t); done += sizeof(uint64_t))
    std::atomic_ref(*reinterpret_cast<uint64_t*>(shared + done)).store(0, std::memory_order_relaxed);
  for (; done < size; ++done) std::atomic_ref(shared[done]).store(std::byte{0}, std::memory_order_relaxed);
}

// Values with a spin lock: all but its four bytes at `lock`, which stay as they are. Both are 4-byte aligned.
inline void copy_in_around(std::byte* shared, const void* from, size_t size, size_t lock) noexcept {
  const auto* source = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < size;) {
    if (done == lock) {
      done += sizeof(uint32_t);
      continue;
    }
    if (size - done >= sizeof(uint32_t)) {
      uint32_t word;
      std::memcpy(&word, source + done, sizeof(word));
      std::atomic_ref(*reinterpret_cast<uint32_t*>(shared + done)).store(word, std::memory_order_relaxed);
      done += sizeof(word);
    } else {
      std::atomic_ref(shared[done]).store(source[done], std::memory_order_relaxed);
      ++done;
    }
  }
}

inline void copy_out(void* to, const std::byte* shared, size_t size) noexcept {
  // atomic_ref has no read-only form in C++20
  auto* source = const_cast<std::byte*>(shared);
  auto* target = static_cast<std::byte*>(to);
  size_t done = 0;
  for (; size - done >= sizeof(uint64_t); done += sizeof(uint64_t)) {
    const auto word = std::atomic_ref(*reinterpret_cast<uint64_t*>(source + done)).load(std::memory_order_relaxed);
    std::memcpy(target + done, &word, sizeof(word));
  }
  for (; done < size; ++done) target[done] = std::atomic_ref(source[done]).load(std::memory_order_relaxed);
}

}  // namespace xbond::bpf
