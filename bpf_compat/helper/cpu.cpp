// Where a program runs.
#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {

uint64_t get_smp_processor_id(Run& run, const uint64_t* /*r*/) {
  return run.cpu;
}

}  // namespace xbond::bpf
