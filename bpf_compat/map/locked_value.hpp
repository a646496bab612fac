// Values that hold a struct bpf_spin_lock. Control sees zeros in its place and never writes it; with BPF_F_LOCK an
// update waits until no program holds it.
#pragma once

#include <linux/bpf.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/spin.hpp"
#include "bpf_compat/object/object.hpp"

namespace xbond::bpf {

inline bool has_lock(const MapSpec& spec) {
  return spec.spin_lock >= 0;
}

// Whether the spec's lock lies in the value as the kernel wants it.
inline bool lock_fits(const MapSpec& spec) {
  return !has_lock(spec) ||
         (spec.spin_lock % 4 == 0 && static_cast<uint32_t>(spec.spin_lock) + sizeof(bpf_spin_lock) <= spec.value_size);
}

// A value into one that programs use. 0, or -EBUSY: with BPF_F_LOCK, when the lock is not given back.
inline int write_value(const MapSpec& spec, std::byte* shared, const void* from, uint64_t flags) noexcept {
  if (!has_lock(spec)) {
    copy_in(shared, from, spec.value_size);
    return 0;
  }
  constexpr uint32_t kPatience = 1 << 20;
  const auto at = static_cast<size_t>(spec.spin_lock);
  const std::atomic_ref lock(*reinterpret_cast<uint32_t*>(shared + at));
  if ((flags & BPF_F_LOCK) != 0) {
    uint32_t turns = 0;
    for (uint32_t free = 0; !lock.compare_exchange_weak(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
         free = 0) {
      if (turns == kPatience) return -EBUSY;
      spin_wait(turns);
    }
  }
  copy_in_around(shared, from, spec.value_size, at);
  if ((flags & BPF_F_LOCK) != 0) lock.store(0, std::memory_order_release);
  return 0;
}

// What control gets of a copied value.
inline void hide_lock(const MapSpec& spec, std::byte* copy) noexcept {
  if (has_lock(spec)) std::memset(copy + spec.spin_lock, 0, sizeof(bpf_spin_lock));
}

}  // namespace xbond::bpf
