// What section `.maps` says beyond what libbpf takes: pinning values of other loaders, and first values of maps that
// hold maps or programs, which stand in its relocations.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <map>
#include <optional>

#include "bpf_compat/object/draft.hpp"
#include "bpf_compat/object/map_types.hpp"

namespace xbond::bpf {
namespace {

constexpr size_t kSlotBytes = 8;  // a pointer in the BPF target

// The number that a map definition's member stands for: the length of the array that it points to.
std::optional<uint32_t> number_of(const btf* types, uint32_t id) {
  const auto* pointer = btf__type_by_id(types, id);
  if (!pointer || !btf_is_ptr(pointer)) return std::nullopt;
  const auto* array = btf__type_by_id(types, pointer->type);
  return array && btf_is_array(array) ? std::optional(btf_array(array)->nelems) : std::nullopt;
}

// The definition (a struct) behind a variable of `.maps`; null where it is something else, which libbpf then names.
const btf_type* definition_of(const btf* types, uint32_t variable) {
  const auto* type = btf__type_by_id(types, variable);
  if (!type || !btf_is_var(type)) return nullptr;
  const auto* definition = btf__type_by_id(types, skip_modifiers(types, type->type));
  return definition && btf_is_struct(definition) ? definition : nullptr;
}

std::optional<uint32_t> member_index(const btf* types, const btf_type* definition, std::string_view name) {
  for (uint32_t i = 0; i < btf_vlen(definition); ++i)
    if (btf_name(types, btf_members(definition)[i].name_off) == name) return i;
  return std::nullopt;
}

std::vector<uint32_t> map_variables(const btf* types) {
  const auto section = types ? maps_section(types) : 0;
  if (section == 0) return {};
  const auto* type = btf__type_by_id(types, section);
  std::vector<uint32_t> out;
  for (const auto& info : std::span(btf_var_secinfos(type), btf_vlen(type))) out.push_back(info.type);
  return out;
}

// A map with slots, as the symbol and the types have it.
struct Outer {
  std::string name;
  uint64_t first_slot;  // offset in .maps
  uint64_t end;
};

std::vector<Outer> maps_with_slots(const Draft& draft, size_t section) {
  std::map<std::string_view, Elf64_Sym> symbols;
  for (size_t i = 0; i < draft.image.symbols(); ++i)
    if (const auto& symbol = draft.image.symbol(i); symbol.st_shndx == section)
      symbols.try_emplace(draft.image.symbol_name(i), symbol);
  std::vector<Outer> out;
  const auto* types = draft.types.get();
  for (const auto variable : map_variables(types)) {
    const auto* definition = definition_of(types, variable);
    const auto values = definition ? member_index(types, definition, "values") : std::nullopt;
    if (!values) continue;
    const auto name = btf_name(types, btf__type_by_id(types, variable)->name_off);
    if (const auto it = symbols.find(name); it != symbols.end())
      out.push_back({std::string(name), it->second.st_value + btf_member_bit_offset(definition, *values) / 8,
                     it->second.st_value + it->second.st_size});
  }
  return out;
}

// The map or function that a slot refers to. By symbol, or by section with the offset standing in the slot.
std::optional<std::string> target_of(const ElfImage& image, size_t section, const Elf64_Rel& relocation) {
  const auto index = ELF64_R_SYM(relocation.r_info);
  const auto& symbol = image.symbol(index);
  if (!image.in_section(symbol)) return std::nullopt;
  const bool code = image.sections()[symbol.st_shndx].code();
  if (!code && symbol.st_shndx != section) return std::nullopt;
  if (ELF64_ST_TYPE(symbol.st_info) != STT_SECTION) return std::string(image.symbol_name(index));
  const auto offset = read_at<uint64_t>(image.sections()[section].data, relocation.r_offset);
  const auto there = image.symbol_at(symbol.st_shndx, offset.value_or(0), code ? STT_FUNC : STT_OBJECT);
  return there ? std::optional(std::string(image.symbol_name(*there))) : std::nullopt;
}

}  // namespace

Status clear_unknown_pinning(Draft& draft) {
  auto* types = draft.types.get();
  const auto variables = map_variables(types);
  if (variables.size() > kMaxMaps) return fail(EINVAL, fmt::format("it has more than {} maps", kMaxMaps));
  for (const auto variable : variables) {
    const auto* definition = definition_of(types, variable);
    const auto pinning = definition ? member_index(types, definition, "pinning") : std::nullopt;
    if (!pinning) continue;
    const auto value = number_of(types, btf_members(definition)[*pinning].type);
    if (!value || *value <= 1) continue;  // LIBBPF_PIN_NONE, LIBBPF_PIN_BY_NAME
    const auto none = add_number(types, 0);
    if (none < 0) return fail(ENOMEM, "no memory for map types");
    // Types may have moved
    auto* again = const_cast<btf_type*>(definition_of(types, variable));
    btf_members(again)[*pinning].type = static_cast<uint32_t>(none);
  }
  return {};
}

Status take_initial_refs(Draft& draft) {
  auto& image = draft.image;
  const auto section = image.find(".maps");
  if (!section) return {};
  const auto maps = maps_with_slots(draft, *section);
  for (const auto& relocation : image.relocations(*section)) {
    const auto at = relocation.r_offset;
    const auto map =
        std::ranges::find_if(maps, [&](const Outer& outer) { return at >= outer.first_slot && at < outer.end; });
    if (map == maps.end() || (at - map->first_slot) % kSlotBytes != 0)
      return fail(EINVAL, fmt::format("section .maps has a reference at byte {} that is no map's value", at));
    const auto target = target_of(image, *section, relocation);
    if (!target) return fail(EINVAL, fmt::format("map {} holds what is neither a map nor a program", map->name));
    draft.out.initial_refs[map->name].push_back({static_cast<uint32_t>((at - map->first_slot) / kSlotBytes), *target});
  }
  image.set_relocations(*section, {});
  return {};
}

}  // namespace xbond::bpf
