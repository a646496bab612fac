// What libbpf takes for granted about an object, asked before it gets one: it crashes or loops on files that break it.
// Thread: any. Errors: EINVAL for a damaged file, ENOTSUP for a sound one that needs what this version lacks.
#pragma once

#include <map>
#include <string>

#include "bpf_compat/object/elf_view.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// Sections, symbols and relocations.
Status check_elf(const ElfView& elf);

// The type information (.BTF): sizes, names, type numbers, and no type that contains itself.
Status check_btf(std::span<const std::byte> section);

// .BTF.ext beside a checked .BTF. Gives the number of CO-RE relocations by section name.
Result<std::map<std::string, size_t>> check_btf_ext(std::span<const std::byte> section,
                                                    std::span<const std::byte> btf_section);

}  // namespace xbond::bpf
