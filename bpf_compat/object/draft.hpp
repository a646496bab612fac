// An object while it is normalised, and the steps of that. Each leaves an object that the next one can take. Thread:
// control.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bpf_compat/object/btf_handle.hpp"
#include "bpf_compat/object/elf_image.hpp"
#include "bpf_compat/object/normalise.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

struct Draft {
  ElfImage image;
  BtfHandle types;      // the object's; null where it has none
  Normalised out = {};  // all but the image
};

// struct_ops maps have no meaning without a kernel. Errors: ENOTSUP, with the map's name.
Status refuse_struct_ops(const Draft& draft);

// Old compilers gave functions symbols without a type and a size: gives them both.
void type_functions(Draft& draft);

// Programs that were declared static become global.
void publish_programs(Draft& draft);

// Sections `maps` and `maps/...` (struct bpf_map_def, iproute2's struct bpf_elf_map) become a section `.maps`.
Status convert_legacy_maps(Draft& draft);

// Pinning values that libbpf does not know mean to their loaders that no other object shares the map.
Status clear_unknown_pinning(Draft& draft);

// Takes the first values of maps of maps and prog arrays out of the relocations of `.maps`.
Status take_initial_refs(Draft& draft);

// Takes references to kernel functions and variables out of the relocations of code.
Status take_kernel_symbols(Draft& draft);

// Functions that are called within a program's own section, which libbpf only looks for in .text, get a copy there.
Status move_callees(Draft& draft);

}  // namespace xbond::bpf
