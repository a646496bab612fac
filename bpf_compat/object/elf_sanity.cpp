#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bpf_compat/object/sanity.hpp"

namespace xbond::bpf {
namespace {

constexpr size_t kInstructionBytes = 8;
// Longest objects in the field have some ten thousand instructions; the kernel's own limit is a million.
constexpr size_t kMaxSectionBytes = 1'000'000 * kInstructionBytes;
// .bss and .data become maps in memory
constexpr size_t kMaxDataBytes = size_t{64} << 20;

// Far above what compilers make of an XDP program; libbpf's searches among them are not linear.
constexpr size_t kMaxSections = 10'000;
constexpr size_t kMaxSymbols = 100'000;

// Sections that libbpf finds by name: of two it takes the last, and others the first.
constexpr std::array<std::string_view, 9> kUnique = {".BTF", ".BTF.ext", ".maps",   ".text",  ".data",
                                                     ".bss", ".rodata",  "license", "version"};

struct Function {
  std::string_view name;
  size_t section;
  size_t offset;
  size_t size;
};

using Section = ElfView::Section;

Status check_section(const Section& section, size_t index) {
  const auto& header = section.header;
  if ((header.sh_flags & SHF_COMPRESSED) != 0)
    return fail(EINVAL, fmt::format("section {} is compressed", section.name));
  // The library rounds by it
  if ((header.sh_addralign & (header.sh_addralign - 1)) != 0 || header.sh_addralign > 4096)
    return fail(EINVAL, fmt::format("section {} has alignment {}", section.name, header.sh_addralign));
  if (section.executable() && section.name.starts_with(".debug_"))
    return fail(EINVAL, fmt::format("section {} holds code", section.name));
  if (section.executable() && header.sh_type != SHT_NOBITS) {
    if (header.sh_size % kInstructionBytes != 0)
      return fail(EINVAL, fmt::format("section {} does not hold whole instructions", section.name));
    if (header.sh_size > kMaxSectionBytes)
      return fail(EINVAL, fmt::format("section {} holds more than a million instructions", section.name));
  }
  if (header.sh_type == SHT_NOBITS && header.sh_size > kMaxDataBytes)
    return fail(EINVAL, fmt::format("section {} (number {}) asks for {} bytes", section.name, index, header.sh_size));
  if ((section.name == "license" || section.name == "version" || section.name == ".maps") &&
      header.sh_type != SHT_PROGBITS)
    return fail(EINVAL, fmt::format("section {} has no contents", section.name));
  return {};
}

Status check_unique(std::span<const Section> sections) {
  for (const auto name : kUnique)
    if (std::ranges::count(sections, name, &Section::name) > 1)
      return fail(EINVAL, fmt::format("more than one section {}", name));
  return {};
}

struct Symbols {
  const Section* table = nullptr;
  const Section* names = nullptr;
  size_t index = 0;
  size_t count = 0;

  [[nodiscard]] Elf64_Sym at(size_t i) const { return *read_at<Elf64_Sym>(table->data, i * sizeof(Elf64_Sym)); }
};

Result<Symbols> find_symbols(const ElfView& elf) {
  Symbols symbols;
  const auto sections = elf.sections();
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].header.sh_type != SHT_SYMTAB) continue;
    if (symbols.table) return fail(EINVAL, "more than one symbol table");
    symbols.table = &sections[i];
    symbols.index = i;
  }
  if (!symbols.table) return fail(EINVAL, "no symbol table: the object is stripped");
  const auto& header = symbols.table->header;
  if (header.sh_entsize != sizeof(Elf64_Sym) || header.sh_size % sizeof(Elf64_Sym) != 0)
    return fail(EINVAL, "symbol table is damaged");
  if (header.sh_link >= sections.size() || sections[header.sh_link].header.sh_type != SHT_STRTAB)
    return fail(EINVAL, "symbol names are missing");
  symbols.names = &sections[header.sh_link];
  symbols.count = header.sh_size / sizeof(Elf64_Sym);
  if (symbols.count > kMaxSymbols) return fail(EINVAL, fmt::format("more than {} symbols", kMaxSymbols));
  return symbols;
}

Status check_function(const Elf64_Sym& symbol, std::string_view name, const Section& section) {
  if (symbol.st_value % kInstructionBytes != 0 || symbol.st_size % kInstructionBytes != 0 || symbol.st_size == 0)
    return fail(EINVAL, fmt::format("function {} does not hold whole instructions", name));
  if (name.empty()) return fail(EINVAL, fmt::format("a function in section {} has no name", section.name));
  return {};
}

// The functions of all code sections, in the order of the symbol table.
Result<std::vector<Function>> collect_functions(const ElfView& elf, const Symbols& symbols) {
  std::vector<Function> functions;
  const auto sections = elf.sections();
  for (size_t i = 0; i < symbols.count; ++i) {
    const auto symbol = symbols.at(i);
    const auto name = string_at(symbols.names->data, symbol.st_name);
    if (!name) return fail(EINVAL, fmt::format("symbol {} has no valid name", i));
    if (symbol.st_shndx == SHN_XINDEX) return fail(EINVAL, "too many sections");
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) continue;
    if (symbol.st_shndx >= sections.size()) return fail(EINVAL, fmt::format("symbol {} is in no section", *name));
    const auto& section = sections[symbol.st_shndx];
    if (symbol.st_value > section.header.sh_size || section.header.sh_size - symbol.st_value < symbol.st_size)
      return fail(EINVAL, fmt::format("symbol {} lies outside its section {}", *name, section.name));
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (!section.executable() || section.header.sh_type != SHT_PROGBITS)
      return fail(EINVAL, fmt::format("function {} is in section {}, which holds no code", *name, section.name));
    if (auto status = check_function(symbol, *name, section); !status) return status.error();
    functions.push_back({*name, symbol.st_shndx, symbol.st_value, symbol.st_size});
  }
  return functions;
}

Status check_overlap(std::vector<Function> functions) {
  std::ranges::sort(functions, {}, [](const Function& f) { return std::pair(f.section, f.offset); });
  for (size_t i = 1; i < functions.size(); ++i) {
    const auto& a = functions[i - 1];
    const auto& b = functions[i];
    if (a.section == b.section && a.offset + a.size > b.offset)
      return fail(EINVAL, fmt::format("functions {} and {} overlap", a.name, b.name));
  }
  return {};
}

Status check_relocations(const ElfView& elf, const Symbols& symbols, const Section& section) {
  const auto& header = section.header;
  if (header.sh_type == SHT_RELA) {
    if (header.sh_info < elf.sections().size() && elf.sections()[header.sh_info].executable())
      return fail(EINVAL, fmt::format("section {} has relocations of an unknown form", section.name));
    return {};
  }
  if (header.sh_entsize != sizeof(Elf64_Rel) || header.sh_size % sizeof(Elf64_Rel) != 0 ||
      header.sh_link != symbols.index || header.sh_info == 0 || header.sh_info >= elf.sections().size())
    return fail(EINVAL, fmt::format("relocations of section {} are damaged", section.name));
  const auto& target = elf.sections()[header.sh_info];
  // By its name libbpf tells which relocations it leaves alone
  if (target.executable() && section.name != fmt::format(".rel{}", target.name))
    return fail(EINVAL, fmt::format("relocations of section {} are in section {}", target.name, section.name));
  if (target.header.sh_type == SHT_NOBITS && header.sh_size != 0)
    return fail(EINVAL, fmt::format("section {} has relocations but no data", target.name));
  for (size_t i = 0; i < header.sh_size / sizeof(Elf64_Rel); ++i) {
    const auto relocation = *read_at<Elf64_Rel>(section.data, i * sizeof(Elf64_Rel));
    const size_t width = target.executable() ? kInstructionBytes : sizeof(uint32_t);
    if (ELF64_R_SYM(relocation.r_info) >= symbols.count || relocation.r_offset > target.data.size() ||
        target.data.size() - relocation.r_offset < width)
      return fail(EINVAL, fmt::format("relocation {} of section {} points outside", i, target.name));
  }
  return {};
}

bool is_local_call(const Section& section, size_t offset) {
  constexpr auto kCall = std::byte{0x85};
  return section.data[offset] == kCall && (section.data[offset + 1] >> 4) == std::byte{BPF_PSEUDO_CALL};
}

// libbpf 1.1 frees a program's list of relocations twice when it appends functions and neither they nor the program
// have any: only calls within the program's own section, which need no relocation, lead there. None is left after
// normalisation.
Status check_calls(const ElfView& elf, const std::vector<Function>& functions) {
  const auto sections = elf.sections();
  std::vector<std::vector<uint64_t>> relocated(sections.size());
  for (const auto& section : sections) {
    if (section.header.sh_type != SHT_REL) continue;
    auto& offsets = relocated[section.header.sh_info];
    for (size_t at = 0; at < section.data.size(); at += sizeof(Elf64_Rel))
      offsets.push_back(read_at<Elf64_Rel>(section.data, at)->r_offset);
    std::ranges::sort(offsets);
  }
  for (const auto& function : functions) {
    const auto& section = sections[function.section];
    const auto& offsets = relocated[function.section];
    const auto first = std::ranges::lower_bound(offsets, function.offset);
    if (section.name == ".text" || (first != offsets.end() && *first < function.offset + function.size)) continue;
    for (size_t at = function.offset; at < function.offset + function.size; at += kInstructionBytes)
      if (is_local_call(section, at))
        return fail(EINVAL, fmt::format("function {} calls its own section {}", function.name, section.name));
  }
  return {};
}

// Code that no function symbol covers is what libbpf looks up a program for, and crashes.
Status check_code_has_functions(const ElfView& elf, const std::vector<Function>& functions) {
  const auto sections = elf.sections();
  std::vector<bool> covered(sections.size(), false);
  for (const auto& function : functions) covered[function.section] = true;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!sections[i].executable() || sections[i].data.empty()) continue;
    if (!covered[i])
      return fail(ENOTSUP, fmt::format("section {} holds code without a function symbol, which this version does not "
                                       "take: rebuild it with a current clang",
                                       sections[i].name));
  }
  if (functions.empty()) return fail(EINVAL, "no program in it");
  return {};
}

// Two tables for one section would be two answers to one question.
Status check_one_table_each(std::span<const Section> sections) {
  std::vector<bool> has(sections.size(), false);
  for (const auto& section : sections) {
    if (section.header.sh_type != SHT_REL) continue;
    const auto target = section.header.sh_info;
    if (has[target])
      return fail(EINVAL, fmt::format("section {} has two tables of relocations", sections[target].name));
    has[target] = true;
  }
  return {};
}

// What holds of any object that can be read. Gives its functions.
Result<std::vector<Function>> check_form(const ElfView& elf) {
  const auto sections = elf.sections();
  if (sections.size() > kMaxSections) return fail(EINVAL, fmt::format("more than {} sections", kMaxSections));
  for (size_t i = 0; i < sections.size(); ++i)
    if (auto status = check_section(sections[i], i); !status) return status.error();
  if (auto status = check_unique(sections); !status) return status.error();
  const auto symbols = find_symbols(elf);
  if (!symbols) return symbols.error();
  auto functions = collect_functions(elf, *symbols);
  if (!functions) return functions.error();
  if (auto status = check_overlap(*functions); !status) return status.error();
  for (const auto& section : sections)
    if (section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELA)
      if (auto status = check_relocations(elf, *symbols, section); !status) return status.error();
  if (auto status = check_one_table_each(sections); !status) return status.error();
  return functions;
}

}  // namespace

Status check_elf_form(const ElfView& elf) {
  const auto checked = check_form(elf);
  return checked ? Status() : checked.error();
}

Status check_elf(const ElfView& elf) {
  const auto functions = check_form(elf);
  if (!functions) return functions.error();
  if (auto status = check_calls(elf, *functions); !status) return status;
  return check_code_has_functions(elf, *functions);
}

}  // namespace xbond::bpf
