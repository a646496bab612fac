// Maps as they were declared before there were types: arrays of a C structure in section `maps`.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "bpf_compat/object/draft.hpp"
#include "bpf_compat/object/map_types.hpp"

namespace xbond::bpf {
namespace {

constexpr size_t kWord = sizeof(uint32_t);
// struct bpf_map_def of libbpf before 1.0, the shortest; its last field, the flags, may be missing.
constexpr size_t kLeastBytes = 4 * kWord;
// iproute2's struct bpf_elf_map: as that, then id, pinning, inner_id, inner_idx.
constexpr size_t kElfMapBytes = 9 * kWord;
constexpr uint32_t kPinGlobal = 2;  // PIN_GLOBAL_NS: one map of that name for all
constexpr uint32_t kNoSlot = UINT32_MAX;

struct LegacyMap {
  std::string name;
  size_t symbol = 0;
  MapShape shape;
  uint32_t id = 0, inner_id = 0, slot = kNoSlot;  // iproute2's way to say what stands in a map of maps
};

bool legacy(const ElfImage::Section& section) {
  return section.header.sh_type == SHT_PROGBITS && (section.name == "maps" || section.name.starts_with("maps/"));
}

// Where symbols of legacy sections begin, by section: a map ends where the next begins.
using Starts = std::map<size_t, std::set<uint64_t>>;

Result<LegacyMap> read_map(const ElfImage& image, size_t index, const std::set<uint64_t>& starts) {
  const auto& symbol = image.symbol(index);
  const auto& data = image.sections()[symbol.st_shndx].data;
  LegacyMap map{.name = std::string(image.symbol_name(index)), .symbol = index, .shape = {}};
  const auto next = starts.upper_bound(symbol.st_value);
  const auto end = next == starts.end() ? data.size() : *next;
  size_t bytes = end - std::min(end, symbol.st_value);
  if (symbol.st_size != 0) bytes = std::min<size_t>(bytes, symbol.st_size);
  if (bytes < kLeastBytes)
    return fail(EINVAL, fmt::format("legacy map {} has {} bytes, too few for a definition", map.name, bytes));
  std::array<uint32_t, kElfMapBytes / kWord> words{};
  for (size_t i = 0; i < words.size() && (i + 1) * kWord <= bytes; ++i)
    words[i] = *read_at<uint32_t>(data, symbol.st_value + i * kWord);
  map.shape = {words[0], words[1], words[2], words[3], words[4]};
  if (bytes == kElfMapBytes) {
    map.id = words[5];
    map.shape.pinned = words[6] == kPinGlobal;
    map.inner_id = words[7];
    map.slot = words[8];
  }
  return map;
}

Result<std::vector<LegacyMap>> collect(const ElfImage& image) {
  std::vector<size_t> symbols;
  Starts starts;
  for (size_t i = 0; i < image.symbols(); ++i) {
    const auto& symbol = image.symbol(i);
    if (!image.in_section(symbol) || !legacy(image.sections()[symbol.st_shndx]) || image.symbol_name(i).empty() ||
        ELF64_ST_TYPE(symbol.st_info) == STT_SECTION)
      continue;
    symbols.push_back(i);
    starts[symbol.st_shndx].insert(symbol.st_value);
  }
  if (symbols.size() > kMaxMaps) return fail(EINVAL, fmt::format("it has more than {} maps", kMaxMaps));
  std::vector<LegacyMap> maps;
  for (const auto i : symbols) {
    auto map = read_map(image, i, starts[image.symbol(i).st_shndx]);
    if (!map) return map.error();
    if (std::ranges::find(maps, map->name, &LegacyMap::name) != maps.end())
      return fail(EINVAL, fmt::format("two maps are called {}", map->name));
    maps.push_back(std::move(*map));
  }
  return maps;
}

bool of_maps(uint32_t type) {
  return type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS;
}

// What stands in maps of maps: those whose id an outer one names as inner_id are of its inner shape, and stand in it at
// their inner_idx.
void link_inner(std::vector<LegacyMap>& maps, Draft& draft) {
  for (auto& outer : maps) {
    if (!of_maps(outer.shape.type) || outer.inner_id == 0) continue;
    for (const auto& inner : maps) {
      if (inner.id != outer.inner_id || of_maps(inner.shape.type)) continue;
      outer.shape.inner = &inner.shape;
      if (inner.slot != kNoSlot) draft.out.initial_refs[outer.name].push_back({inner.slot, inner.name});
    }
  }
}

// References by section and offset, which static maps get, become references by symbol: libbpf knows maps by these.
void retarget(ElfImage& image, const std::vector<LegacyMap>& maps) {
  const auto count = image.sections().size();
  for (size_t s = 0; s < count; ++s) {
    if (!image.sections()[s].code()) continue;
    auto relocations = image.relocations(s);
    bool changed = false;
    for (auto& relocation : relocations) {
      const auto& target = image.symbol(ELF64_R_SYM(relocation.r_info));
      if (ELF64_ST_TYPE(target.st_info) != STT_SECTION || !image.in_section(target) ||
          !legacy(image.sections()[target.st_shndx]))
        continue;
      auto& code = image.sections()[s].data;
      auto insn = read_at<bpf_insn>(code, relocation.r_offset);
      if (!insn) continue;
      const auto it = std::ranges::find_if(maps, [&](const LegacyMap& map) {
        const auto& symbol = image.symbol(map.symbol);
        return symbol.st_shndx == target.st_shndx && symbol.st_value == static_cast<uint32_t>(insn->imm);
      });
      if (it == maps.end()) continue;
      insn->imm = 0;
      write_at(code, relocation.r_offset, *insn);
      relocation.r_info = ELF64_R_INFO(it->symbol, ELF64_R_TYPE(relocation.r_info));
      changed = true;
    }
    if (changed) image.set_relocations(s, relocations);
  }
}

}  // namespace

Status convert_legacy_maps(Draft& draft) {
  auto& image = draft.image;
  if (std::ranges::none_of(image.sections(), legacy)) return {};
  auto maps = collect(image);
  if (!maps) return maps.error();
  link_inner(*maps, draft);
  retarget(image, *maps);

  if (!draft.types) draft.types.reset(btf__new_empty());
  if (!draft.types) return fail(ENOMEM, "no memory for map types");
  auto section = image.find(".maps");
  if (!section) section = image.add_section(".maps", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, {});
  auto& data = image.sections()[*section].data;
  std::vector<MapVariable> variables;
  for (const auto& map : *maps) {
    const auto variable = add_map_variable(draft.types.get(), map.name, map.shape);
    if (!variable) return variable.error();
    auto& symbol = image.symbol(map.symbol);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_other = STV_DEFAULT;
    symbol.st_shndx = static_cast<uint16_t>(*section);
    symbol.st_value = data.size();
    symbol.st_size = variable->size;
    data.resize(data.size() + variable->size);
    variables.push_back({variable->type, static_cast<uint32_t>(symbol.st_value), variable->size});
  }
  for (size_t i = 0; i < image.sections().size(); ++i) {
    if (!legacy(image.sections()[i])) continue;
    forget_section(draft.types.get(), image.sections()[i].name);
    image.hide(i);
  }
  return add_to_maps_section(draft.types.get(), variables);
}

}  // namespace xbond::bpf
