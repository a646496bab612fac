#include "bpf_compat/object/map_types.hpp"

#include <vector>

#include "bpf_compat/object/btf_handle.hpp"

namespace xbond::bpf {
namespace {

constexpr uint32_t kPointerBytes = 8;

Error no_memory() {
  return fail(ENOMEM, "no memory for map types");
}

int add_int(btf* types) {
  const int known = btf__find_by_name_kind(types, "int", BTF_KIND_INT);
  return known > 0 ? known : btf__add_int(types, "int", 4, BTF_INT_SIGNED);
}

// A pointer to `element`[0]: how what a map of maps holds is declared.
int add_array_of(btf* types, int element) {
  const int index = add_int(types);
  return index < 0 ? index : btf__add_array(types, index, element, 0);
}

struct Member {
  const char* name;
  int type;
};

int add_definition(btf* types, const MapShape& shape);

// Members first: a struct's can only be added right behind it.
int add_values(btf* types, const MapShape& inner) {
  const int definition = add_definition(types, inner);
  if (definition < 0) return definition;
  const int pointer = btf__add_ptr(types, definition);
  return pointer < 0 ? pointer : add_array_of(types, pointer);
}

int add_definition(btf* types, const MapShape& shape) {
  std::vector<Member> members = {{"type", add_number(types, shape.type)},
                                 {"key_size", add_number(types, shape.key_size)},
                                 {"max_entries", add_number(types, shape.max_entries)},
                                 {"map_flags", add_number(types, shape.flags)}};
  if (shape.pinned) members.push_back({"pinning", add_number(types, 1)});
  if (shape.inner)
    members.push_back({"values", add_values(types, *shape.inner)});
  else
    members.push_back({"value_size", add_number(types, shape.value_size)});
  // `values` is an array without a length and takes no room
  const auto bytes = static_cast<uint32_t>(members.size() - (shape.inner ? 1 : 0)) * kPointerBytes;
  const int definition = btf__add_struct(types, nullptr, bytes);
  uint32_t bit = 0;
  for (const auto& member : members) {
    if (definition < 0 || member.type < 0 || btf__add_field(types, member.name, member.type, bit, 0) != 0)
      return -ENOMEM;
    bit += kPointerBytes * 8;
  }
  return definition;
}

}  // namespace

int add_number(btf* types, uint32_t length) {
  const int element = add_int(types);
  if (element < 0) return element;
  const int array = btf__add_array(types, element, element, length);
  return array < 0 ? array : btf__add_ptr(types, array);
}

uint32_t maps_section(const btf* types) {
  const int id = btf__find_by_name_kind(types, ".maps", BTF_KIND_DATASEC);
  return id > 0 ? static_cast<uint32_t>(id) : 0;
}

void forget_section(btf* types, const std::string& name) {
  const int id = btf__find_by_name_kind(types, name.c_str(), BTF_KIND_DATASEC);
  // Adding makes the types changeable
  if (id <= 0 || btf__add_str(types, name.c_str()) < 0) return;
  const_cast<btf_type*>(btf__type_by_id(types, static_cast<uint32_t>(id)))->size = 1;
}

Result<MapVariable> add_map_variable(btf* types, const std::string& name, const MapShape& shape) {
  const int definition = add_definition(types, shape);
  if (definition < 0) return no_memory();
  const auto size = btf__type_by_id(types, static_cast<uint32_t>(definition))->size;
  const int variable = btf__add_var(types, name.c_str(), BTF_VAR_GLOBAL_ALLOCATED, definition);
  if (variable < 0) return no_memory();
  return MapVariable{.type = static_cast<uint32_t>(variable), .size = size};
}

Status add_to_maps_section(btf* types, std::span<const MapVariable> variables) {
  // Only the last type can grow: the section is made anew, and the old one loses its name
  const auto old = maps_section(types);
  std::vector<MapVariable> all;
  if (old != 0) {
    const auto* type = btf__type_by_id(types, old);
    for (const auto& info : std::span(btf_var_secinfos(type), btf_vlen(type)))
      all.push_back({info.type, info.offset, info.size});
    const int name = btf__add_str(types, ".maps.before");
    if (name < 0) return no_memory();
    const_cast<btf_type*>(btf__type_by_id(types, old))->name_off = static_cast<uint32_t>(name);
    forget_section(types, ".maps.before");
  }
  all.insert(all.end(), variables.begin(), variables.end());
  // Of no size, as compilers leave it: libbpf then takes sizes and offsets from the symbols
  if (btf__add_datasec(types, ".maps", 0) < 0) return no_memory();
  for (const auto& variable : all)
    if (btf__add_datasec_var_info(types, static_cast<int>(variable.type), variable.offset, variable.size) != 0)
      return no_memory();
  return {};
}

}  // namespace xbond::bpf
