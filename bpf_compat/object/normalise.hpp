// What libbpf refuses but other loaders take, brought into the one form that libbpf takes, in memory; and what libbpf
// would leave undone without a kernel, done. So one path follows for all objects. Thread: control.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bpf_compat/object/elf_view.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

struct Normalised {
  std::vector<std::byte> image;
  // By map: the maps and programs that stand in its slots at first.
  std::map<std::string, std::vector<MapSpec::Ref>> initial_refs;
  // Names of kernel functions that the code needs. A call of one is a call with src_reg BPF_PSEUDO_KFUNC_CALL and its
  // index here in imm.
  std::vector<std::string> kernel_functions;
};

// `view`: one that check_elf_form has passed. Errors: EINVAL a damaged object, ENOTSUP a need that has no meaning here
// (named).
Result<Normalised> normalise(const ElfView& view);

}  // namespace xbond::bpf
