// Finding a local path again among the target's types. What counts as compatible is libbpf's rule.
#include "bpf_compat/object/btf_handle.hpp"
#include "bpf_compat/object/core_spec.hpp"

namespace xbond::bpf::core {
namespace {

// Types refer to each other in circles through pointers; libbpf gives up at this depth too.
constexpr int kMaxDepth = 32;

// "task_struct" of "task_struct___v2".
std::string_view essential(std::string_view name) {
  for (size_t i = name.size(); i >= 5; --i) {
    const auto at = i - 5;  // one character at least, "___", one at least
    if (name.substr(at + 1, 3) == "___" && name[at] != '_' && name[at + 4] != '_') return name.substr(0, at + 1);
  }
  return name;
}

bool same_kind(const btf_type* a, const btf_type* b) {
  return btf_kind(a) == btf_kind(b) || (btf_is_any_enum(a) && btf_is_any_enum(b));
}

bool plain_int(const btf_type* type) {
  return btf_int_offset(type) == 0;
}

bool same_name(const btf* local, const btf_type* a, const btf* target, const btf_type* b) {
  const auto x = essential(btf_name(local, a->name_off));
  const auto y = essential(btf_name(target, b->name_off));
  return x.empty() || y.empty() || x == y;
}

bool fields_compatible(const btf* local, uint32_t local_id, const btf* target, uint32_t target_id, int depth = 0) {
  if (depth == kMaxDepth) return false;
  const auto* a = btf__type_by_id(local, skip_modifiers(local, local_id));
  const auto* b = btf__type_by_id(target, skip_modifiers(target, target_id));
  if (btf_is_composite(a) && btf_is_composite(b)) return true;
  if (!same_kind(a, b)) return false;
  switch (btf_kind(a)) {
    case BTF_KIND_PTR:
    case BTF_KIND_FLOAT:
      return true;
    case BTF_KIND_FWD:
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
      return same_name(local, a, target, b);
    case BTF_KIND_INT:
      return plain_int(a) && plain_int(b);
    case BTF_KIND_ARRAY:
      return fields_compatible(local, btf_array(a)->type, target, btf_array(b)->type, depth + 1);
    default:
      return false;
  }
}

bool types_compatible(const btf* local, uint32_t local_id, const btf* target, uint32_t target_id, int depth = 0) {
  if (depth == kMaxDepth) return false;
  const auto* a = btf__type_by_id(local, skip_modifiers(local, local_id));
  const auto* b = btf__type_by_id(target, skip_modifiers(target, target_id));
  if (!same_kind(a, b)) return false;
  const auto below = [&](uint32_t x, uint32_t y) { return types_compatible(local, x, target, y, depth + 1); };
  switch (btf_kind(a)) {
    case BTF_KIND_UNKN:
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
    case BTF_KIND_FWD:
      return true;
    case BTF_KIND_INT:
      return plain_int(a) && plain_int(b);
    case BTF_KIND_PTR:
      return below(a->type, b->type);
    case BTF_KIND_ARRAY:
      return below(btf_array(a)->type, btf_array(b)->type);
    case BTF_KIND_FUNC_PROTO:
      if (btf_vlen(a) != btf_vlen(b)) return false;
      for (int i = 0; i < btf_vlen(a); ++i)
        if (!below(btf_params(a)[i].type, btf_params(b)[i].type)) return false;
      return below(a->type, b->type);
    default:
      return false;
  }
}

// The member of that name and a compatible type, also inside nameless structs and unions. `id` becomes its type.
bool find_member(const Spec& local, const Step& wanted, Spec& out, uint32_t& id, int depth = 0) {
  if (depth == kMaxDepth) return false;
  const auto container = skip_modifiers(out.types, id);
  const auto* type = btf__type_by_id(out.types, container);
  if (!btf_is_composite(type)) return false;
  const auto local_type = btf_members(btf__type_by_id(local.types, wanted.type))[wanted.index].type;
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    const auto& member = btf_members(type)[i];
    const auto before = out.bit_offset;
    out.bit_offset += btf_member_bit_offset(type, i);
    if (member.name_off == 0) {
      uint32_t inside = member.type;
      if (find_member(local, wanted, out, inside, depth + 1)) {
        id = inside;
        return true;
      }
    } else if (btf_name(out.types, member.name_off) == wanted.name) {
      if (!fields_compatible(local.types, local_type, out.types, member.type)) return false;
      out.steps.push_back({container, i, wanted.name});
      id = member.type;
      return true;
    }
    out.bit_offset = before;
  }
  return false;
}

bool find_element(const Step& wanted, Spec& out, uint32_t& id) {
  const auto* type = btf__type_by_id(out.types, skip_modifiers(out.types, id));
  if (!btf_is_array(type)) return false;
  const auto* array = btf_array(type);
  if (array->nelems != 0 && wanted.index >= array->nelems) return false;
  id = skip_modifiers(out.types, array->type);
  const auto size = btf__resolve_size(out.types, id);
  if (size < 0) return false;
  out.steps.push_back({id, wanted.index, {}});
  out.bit_offset += uint64_t{wanted.index} * static_cast<uint64_t>(size) * 8;
  return true;
}

std::optional<Spec> match_enumerator(const Spec& local, Spec out, uint32_t root) {
  const auto id = skip_modifiers(out.types, root);
  const auto* type = btf__type_by_id(out.types, id);
  if (!btf_is_any_enum(type)) return std::nullopt;
  const auto wanted = essential(local.steps.front().name);
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    const auto name =
        btf_name(out.types, btf_is_enum(type) ? btf_enum(type)[i].name_off : btf_enum64(type)[i].name_off);
    if (essential(name) != wanted) continue;
    out.steps.push_back({id, i, name});
    return out;
  }
  return std::nullopt;
}

}  // namespace

bool is_candidate(const Spec& local, const btf* target, uint32_t id) {
  const auto* a = btf__type_by_id(local.types, local.root);
  const auto* b = btf__type_by_id(target, id);
  if (!same_kind(a, b) || b->name_off == 0) return false;
  return essential(btf_name(local.types, a->name_off)) == essential(btf_name(target, b->name_off));
}

std::optional<Spec> match(const Spec& local, const btf* target, uint32_t root, bpf_core_relo_kind kind) {
  Spec out{.types = target, .root = root, .steps = {}};
  if (is_enumerator(kind)) return match_enumerator(local, out, root);
  if (!is_field(kind))
    return types_compatible(local.types, local.root, target, root) ? std::optional(out) : std::nullopt;

  auto id = skip_modifiers(target, root);
  const auto size = btf__resolve_size(target, id);
  if (size < 0) return std::nullopt;
  out.steps.push_back({id, local.steps.front().index, {}});
  out.bit_offset = uint64_t{local.steps.front().index} * static_cast<uint64_t>(size) * 8;
  for (size_t i = 1; i < local.steps.size(); ++i) {
    const auto& wanted = local.steps[i];
    if (wanted.name.empty() ? !find_element(wanted, out, id) : !find_member(local, wanted, out, id))
      return std::nullopt;
  }
  return out;
}

}  // namespace xbond::bpf::core
