// What libbpf takes for granted about an object, asked before it gets one: it crashes or loops on files that break it.
// Thread: any. Errors: EINVAL for a damaged file, ENOTSUP for a sound one that needs what this version lacks.
#pragma once

#include <linux/bpf.h>

#include <string>
#include <vector>

#include "bpf_compat/object/elf_view.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// Sections, symbols and relocations: their form, of any object.
Status check_elf_form(const ElfView& elf);

// The same, and what libbpf needs of programs and functions besides. Of a normalised object.
Status check_elf(const ElfView& elf);

// The type information (.BTF): sizes, names, type numbers, and no type that contains itself.
Status check_btf(std::span<const std::byte> section);

struct CoreRelocation {
  std::string section;
  bpf_core_relo record;
};

// .BTF.ext beside a checked .BTF. Gives its CO-RE relocations, whose fields are not yet checked.
Result<std::vector<CoreRelocation>> check_btf_ext(std::span<const std::byte> section,
                                                  std::span<const std::byte> btf_section);

}  // namespace xbond::bpf
