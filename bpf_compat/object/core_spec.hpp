// What a CO-RE relocation is about: a path from a type to one of its fields, to one of its enumerators, or the type
// itself; as the object was compiled (the local side), and found again among the target's types. The meaning is that of
// libbpf's relocations (enum bpf_core_relo_kind in linux/bpf.h). Thread: any.
#pragma once

#include <bpf/btf.h>
#include <linux/bpf.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::bpf::core {

struct Step {
  uint32_t type = 0;      // a field: the struct that it is in; an array's element or the root: its own type
  uint32_t index = 0;     // of the member, the element or the enumerator
  std::string_view name;  // of the member or enumerator; empty for elements
};

struct Spec {
  const btf* types = nullptr;
  uint32_t root = 0;
  std::vector<Step> steps;  // nameless members on the way are left out
  uint64_t bit_offset = 0;
};

bool is_field(bpf_core_relo_kind kind);
bool is_enumerator(bpf_core_relo_kind kind);

// `access` is the relocation's access string, "0:1:2". Borrows `types`. Errors: EINVAL.
Result<Spec> parse_spec(const btf* types, uint32_t root, std::string_view access, bpf_core_relo_kind kind);

// The local spec among the types of `target`, from its type `root`. Nothing: it is not there in a compatible form.
std::optional<Spec> match(const Spec& local, const btf* target, uint32_t root, bpf_core_relo_kind kind);

// Whether `target`'s type may stand for the local root: same kind, same name up to "___flavour".
bool is_candidate(const Spec& local, const btf* target, uint32_t id);

}  // namespace xbond::bpf::core
