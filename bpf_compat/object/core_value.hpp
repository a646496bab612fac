// The number that a CO-RE relocation puts into its instruction. Thread: any.
#pragma once

#include "bpf_compat/object/core_spec.hpp"

namespace xbond::bpf::core {

struct Value {
  uint64_t number = 0;
  bool known = true;       // false: the target lacks it; an instruction that needs it must not run
  bool exact = true;       // false for bitfields, whose instruction the compiler may have written in several ways
  uint32_t size = 0;       // of the field in bytes, where loads and stores follow it; else 0
  uint32_t leaf_type = 0;  // of that field
};

// `spec` null: not found. Errors: EINVAL, a relocation that makes no sense.
Result<Value> value_of(const Spec* spec, bpf_core_relo_kind kind);

}  // namespace xbond::bpf::core
