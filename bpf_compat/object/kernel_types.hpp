// The types that CO-RE relocations are resolved against. Thread: control.
#pragma once

#include "bpf_compat/object/btf_handle.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// The running kernel's (/sys/kernel/btf/vmlinux), or where it has none, the UAPI types of this build: the context and
// protocol headers. Errors: what libbpf says.
Result<BtfHandle> load_kernel_types();

// Only the latter.
Result<BtfHandle> load_uapi_types();

}  // namespace xbond::bpf
