// Clocks and jiffies.
#include "bpf_compat/helper/clock.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

// CONFIG_HZ of Debian's kernels; user space can't ask. Programs that know another one carry it in their own constants.
constexpr uint64_t kHz = 250;
// The kernel starts its counter five minutes before a 32-bit wrap, to bring out bugs early.
constexpr uint64_t kFirstJiffy = (uint64_t{1} << 32) - 300 * kHz;

}  // namespace

uint64_t ktime_get_ns(Run& /*run*/, const uint64_t* /*r*/) {
  return clock_ns(CLOCK_MONOTONIC);
}

uint64_t ktime_get_boot_ns(Run& /*run*/, const uint64_t* /*r*/) {
  return clock_ns(CLOCK_BOOTTIME);
}

uint64_t ktime_get_coarse_ns(Run& /*run*/, const uint64_t* /*r*/) {
  return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t ktime_get_tai_ns(Run& /*run*/, const uint64_t* /*r*/) {
  return clock_ns(CLOCK_TAI);
}

uint64_t jiffies64(Run& /*run*/, const uint64_t* /*r*/) {
  return kFirstJiffy + clock_ns(CLOCK_MONOTONIC_COARSE) / (1'000'000'000 / kHz);
}

}  // namespace xbond::bpf
