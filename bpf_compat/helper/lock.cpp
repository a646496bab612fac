// Spin locks in map values.
#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {

uint64_t spin_lock(Run& run, const uint64_t* r) {
  if (!run.atomic(r[1], sizeof(uint32_t))) return run.fail(Fault::helper_write);
  if (!run.lock(r[1])) return run.fail(Fault::lock);
  return 0;
}

uint64_t spin_unlock(Run& run, const uint64_t* r) {
  if (!run.atomic(r[1], sizeof(uint32_t))) return run.fail(Fault::helper_write);
  if (!run.unlock(r[1])) return run.fail(Fault::lock);
  return 0;
}

}  // namespace xbond::bpf
