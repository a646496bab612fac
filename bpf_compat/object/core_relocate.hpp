// CO-RE: makes an object's code fit the types of the machine it runs on. libbpf leaves that to the kernel when it loads
// without one. Thread: control.
#pragma once

#include <bpf/btf.h>

#include <span>

#include "bpf_compat/object/elf_image.hpp"
#include "bpf_compat/object/sanity.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// Applies `relocations` to the image's code. `types` are the object's. Errors: EINVAL a relocation that does not fit
// its instruction, ENOTSUP one of a kind that is not known, naming it. What the target lacks is no error: such an
// instruction becomes a call that no program may reach (isa::kUnresolvedCall).
Status apply_core(ElfImage& image, const btf* types, std::span<const CoreRelocation> relocations);

}  // namespace xbond::bpf
