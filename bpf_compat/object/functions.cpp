// Which symbols of an object are its functions.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <map>
#include <set>
#include <vector>

#include "bpf_compat/object/draft.hpp"

namespace xbond::bpf {
namespace {

bool in_code(const ElfImage& image, const Elf64_Sym& symbol) {
  return image.in_section(symbol) && image.sections()[symbol.st_shndx].code();
}

// Labels within functions are local and have no type either.
bool untyped_function(const ElfImage& image, size_t index) {
  const auto& symbol = image.symbol(index);
  return ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
         in_code(image, symbol) && !image.symbol_name(index).empty();
}

}  // namespace

Status refuse_struct_ops(const Draft& draft) {
  const auto& image = draft.image;
  for (size_t i = 0; i < image.symbols(); ++i) {
    const auto& symbol = image.symbol(i);
    if (!image.in_section(symbol) || !image.sections()[symbol.st_shndx].name.starts_with(".struct_ops") ||
        ELF64_ST_TYPE(symbol.st_info) == STT_SECTION)
      continue;
    return fail(ENOTSUP, fmt::format("map {} is of type struct_ops, which has no meaning without a kernel: build the "
                                     "XDP program without it",
                                     image.symbol_name(i)));
  }
  return {};
}

void type_functions(Draft& draft) {
  auto& image = draft.image;
  std::vector<size_t> untyped;
  // Where functions begin, by section: one ends where the next begins
  std::map<size_t, std::set<uint64_t>> starts;
  std::set<std::pair<size_t, uint64_t>> typed;
  for (size_t i = 0; i < image.symbols(); ++i) {
    const auto& symbol = image.symbol(i);
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (is_function) typed.emplace(symbol.st_shndx, symbol.st_value);
    if (untyped_function(image, i)) untyped.push_back(i);
    if (is_function || untyped_function(image, i)) starts[symbol.st_shndx].insert(symbol.st_value);
  }
  for (const auto index : untyped) {
    auto& symbol = image.symbol(index);
    // Several names for one place: the first is enough
    if (!typed.emplace(symbol.st_shndx, symbol.st_value).second) continue;
    const auto& known = starts[symbol.st_shndx];
    const auto next = known.upper_bound(symbol.st_value);
    const auto end = next == known.end() ? image.sections()[symbol.st_shndx].data.size() : *next;
    if (end <= symbol.st_value) continue;
    symbol.st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_FUNC);
    symbol.st_size = end - symbol.st_value;
  }
}

void publish_programs(Draft& draft) {
  auto& image = draft.image;
  const auto text = image.find(".text");
  for (size_t i = 0; i < image.symbols(); ++i) {
    auto& symbol = image.symbol(i);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && ELF64_ST_BIND(symbol.st_info) == STB_LOCAL &&
        in_code(image, symbol) && symbol.st_shndx != text)
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  }
}

}  // namespace xbond::bpf
