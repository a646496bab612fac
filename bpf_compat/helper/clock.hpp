// The machine's clocks, as the vDSO gives them: no system call. Thread: any.
#pragma once

#include <cstdint>
#include <ctime>

namespace xbond::bpf {

inline uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace xbond::bpf
