#include "bpf_compat/object/core_spec.hpp"

#include <charconv>

#include "bpf_compat/object/btf_handle.hpp"

namespace xbond::bpf::core {
namespace {

constexpr size_t kMaxSteps = 64;  // libbpf's bound

Error damaged() {
  return fail(EINVAL, "its access string is damaged");
}

Result<std::vector<uint32_t>> numbers(std::string_view access) {
  std::vector<uint32_t> out;
  for (const char *at = access.data(), *end = at + access.size(); at != end;) {
    uint32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || out.size() == kMaxSteps) return damaged();
    out.push_back(number);
    at = next;
    if (at == end) break;
    if (*at != ':' || ++at == end) return damaged();
  }
  return out.empty() ? Result<std::vector<uint32_t>>(damaged()) : out;
}

// One step into a struct, union or array. `id` becomes the type reached.
Status step_into(Spec& spec, uint32_t& id, uint32_t index) {
  id = skip_modifiers(spec.types, id);
  const auto* type = btf__type_by_id(spec.types, id);
  if (btf_is_composite(type)) {
    if (index >= btf_vlen(type)) return damaged();
    const auto& member = btf_members(type)[index];
    if (member.name_off != 0) spec.steps.push_back({id, index, btf_name(spec.types, member.name_off)});
    spec.bit_offset += btf_member_bit_offset(type, index);
    id = member.type;
    return {};
  }
  if (!btf_is_array(type)) return fail(EINVAL, "it steps into a type that has no parts");
  const auto* array = btf_array(type);
  id = skip_modifiers(spec.types, array->type);
  const auto size = btf__resolve_size(spec.types, id);
  if (size < 0 || (array->nelems != 0 && index >= array->nelems)) return damaged();
  spec.steps.push_back({id, index, {}});
  spec.bit_offset += uint64_t{index} * static_cast<uint64_t>(size) * 8;
  return {};
}

Result<Spec> parse_enumerator(Spec spec, uint32_t index) {
  const auto id = skip_modifiers(spec.types, spec.root);
  const auto* type = btf__type_by_id(spec.types, id);
  if (!btf_is_any_enum(type) || index >= btf_vlen(type)) return damaged();
  const auto name = btf_is_enum(type) ? btf_enum(type)[index].name_off : btf_enum64(type)[index].name_off;
  spec.steps.push_back({id, index, btf_name(spec.types, name)});
  return spec;
}

}  // namespace

bool is_field(bpf_core_relo_kind kind) {
  return kind <= BPF_CORE_FIELD_RSHIFT_U64;
}

bool is_enumerator(bpf_core_relo_kind kind) {
  return kind == BPF_CORE_ENUMVAL_EXISTS || kind == BPF_CORE_ENUMVAL_VALUE;
}

Result<Spec> parse_spec(const btf* types, uint32_t root, std::string_view access, bpf_core_relo_kind kind) {
  if (!btf__type_by_id(types, root)) return fail(EINVAL, "it names no type");
  Spec spec{.types = types, .root = root, .steps = {}};
  const auto path = numbers(access);
  if (!path) return path.error();
  if (!is_field(kind) && !is_enumerator(kind))
    return path->size() == 1 && path->front() == 0 ? Result<Spec>(spec) : Result<Spec>(damaged());
  if (is_enumerator(kind)) return path->size() == 1 ? parse_enumerator(spec, path->front()) : Result<Spec>(damaged());

  auto id = skip_modifiers(types, root);
  const auto size = btf__resolve_size(types, id);
  if (size < 0) return fail(EINVAL, "its root type has no size");
  spec.steps.push_back({id, path->front(), {}});
  spec.bit_offset = uint64_t{path->front()} * static_cast<uint64_t>(size) * 8;
  for (size_t i = 1; i < path->size(); ++i)
    if (auto status = step_into(spec, id, (*path)[i]); !status) return status.error();
  return spec;
}

}  // namespace xbond::bpf::core
