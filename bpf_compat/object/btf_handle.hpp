// libbpf's BTF objects with an owner, and the few questions about types that several rooms ask.
#pragma once

#include <bpf/btf.h>
#include <linux/btf.h>

#include <memory>
#include <string_view>

namespace xbond::bpf {

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};
using BtfHandle = std::unique_ptr<btf, FreeBtf>;

// Behind typedefs, const, volatile and the like. Gives the type's number; precondition: `id` is one of `types`.
inline uint32_t skip_modifiers(const btf* types, uint32_t id) {
  for (;;) {
    const auto* type = btf__type_by_id(types, id);
    if (!type || !(btf_is_mod(type) || btf_is_typedef(type))) return id;
    id = type->type;
  }
}

inline std::string_view btf_name(const btf* types, uint32_t offset) {
  const auto* name = btf__name_by_offset(types, offset);
  return name ? name : "";
}

}  // namespace xbond::bpf
