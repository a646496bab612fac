// Random numbers: SplitMix64, one state for each worker and program. Not for secrets, as the kernel's is not.
#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {

uint64_t get_prandom_u32(Run& run, const uint64_t* /*r*/) {
  uint64_t z = run.state.random += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

}  // namespace xbond::bpf
