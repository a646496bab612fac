// What stands in the place of code for another kernel.
#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {

uint64_t unresolved(Run& run, const uint64_t* /*r*/) {
  return run.fail(Fault::unresolved);
}

}  // namespace xbond::bpf
