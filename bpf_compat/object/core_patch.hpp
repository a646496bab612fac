// Writing a CO-RE relocation's number into its instruction. Thread: any.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <vector>

#include "bpf_compat/object/core_value.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf::core {

struct Change {
  Value before;  // as compiled
  Value after;   // on the target
  const btf* types;
  const btf* target;
};

// `offset` in bytes, from the relocation: not checked yet. Errors: EINVAL.
Status patch(std::vector<std::byte>& code, size_t offset, const Change& change);

}  // namespace xbond::bpf::core
