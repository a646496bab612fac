// Comparing text.
#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {

// The kernel's strncmp() gives -1, 0 or 1.
uint64_t strncmp(Run& run, const uint64_t* r) {
  const auto length = static_cast<uint32_t>(r[2]);
  if (length == 0) return run.fail(Fault::helper_size);
  if (!run.readable(r[1], length)) return run.fail(Fault::helper_read);
  for (uint64_t i = 0; i < length; ++i) {
    const auto* a = run.readable(r[1] + i, 1);
    const auto* b = run.readable(r[3] + i, 1);
    if (!a || !b) return run.fail(Fault::helper_read);
    if (*a != *b) return static_cast<uint64_t>(int64_t{*a < *b ? -1 : 1});
    if (*a == std::byte{0}) return 0;
  }
  return 0;
}

}  // namespace xbond::bpf
