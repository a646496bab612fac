#include "bpf_compat/object/elf_image.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace xbond::bpf {
namespace {

template <class T>
std::vector<T> records(std::span<const std::byte> bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

template <class T>
std::vector<std::byte> as_bytes(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

uint32_t append_string(std::vector<std::byte>& table, std::string_view text) {
  const auto offset = static_cast<uint32_t>(table.size());
  const auto bytes = std::as_bytes(std::span(text));
  table.insert(table.end(), bytes.begin(), bytes.end());
  table.push_back(std::byte{0});
  return offset;
}

void pad(std::vector<std::byte>& out, uint64_t alignment) {
  const size_t unit = std::max<uint64_t>(alignment, 1);
  out.resize((out.size() + unit - 1) / unit * unit);
}

}  // namespace

ElfImage::ElfImage(const ElfView& view) : header_(view.header()) {
  for (const auto& section : view.sections()) {
    sections_.push_back({std::string(section.name), section.header, {section.data.begin(), section.data.end()}});
    if (section.header.sh_type == SHT_SYMTAB) symbol_table_ = sections_.size() - 1;
  }
  symbols_ = records<Elf64_Sym>(sections_[symbol_table_].data);
}

std::optional<size_t> ElfImage::find(std::string_view name) const {
  const auto it = std::ranges::find(sections_, name, &Section::name);
  return it == sections_.end() ? std::nullopt : std::optional<size_t>(it - sections_.begin());
}

size_t ElfImage::add_section(std::string name, uint32_t type, uint64_t flags, std::vector<std::byte> data) {
  Section section{std::move(name), {}, std::move(data)};
  section.header.sh_type = type;
  section.header.sh_flags = flags;
  section.header.sh_addralign = 8;
  sections_.push_back(std::move(section));
  return sections_.size() - 1;
}

void ElfImage::hide(size_t section) {
  sections_[section].name = fmt::format(".debug_{}", section);
  sections_[section].header.sh_type = SHT_PROGBITS;
  sections_[section].header.sh_flags = 0;
}

std::string_view ElfImage::symbol_name(size_t index) const {
  const auto& names = sections_[sections_[symbol_table_].header.sh_link].data;
  return string_at(names, symbols_[index].st_name).value_or("");
}

size_t ElfImage::add_symbol(std::string_view name, Elf64_Sym symbol) {
  symbol.st_name = append_string(sections_[sections_[symbol_table_].header.sh_link].data, name);
  symbols_.push_back(symbol);
  return symbols_.size() - 1;
}

bool ElfImage::in_section(const Elf64_Sym& symbol) const {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < sections_.size();
}

std::optional<size_t> ElfImage::symbol_at(size_t section, uint64_t offset, unsigned type) const {
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i].st_shndx == section && symbols_[i].st_value == offset && ELF64_ST_TYPE(symbols_[i].st_info) == type)
      return i;
  return std::nullopt;
}

std::optional<size_t> ElfImage::relocation_section(size_t section) const {
  for (size_t i = 0; i < sections_.size(); ++i)
    if (sections_[i].header.sh_type == SHT_REL && sections_[i].header.sh_info == section) return i;
  return std::nullopt;
}

std::vector<Elf64_Rel> ElfImage::relocations(size_t section) const {
  const auto table = relocation_section(section);
  return table ? records<Elf64_Rel>(sections_[*table].data) : std::vector<Elf64_Rel>{};
}

void ElfImage::set_relocations(size_t section, const std::vector<Elf64_Rel>& relocations) {
  auto table = relocation_section(section);
  if (!table) {
    if (relocations.empty()) return;
    table = add_section(".rel" + sections_[section].name, SHT_REL, 0, {});
    auto& header = sections_[*table].header;
    header.sh_info = static_cast<uint32_t>(section);
    header.sh_link = static_cast<uint32_t>(symbol_table_);
    header.sh_entsize = sizeof(Elf64_Rel);
  }
  // A table without entries is one that libbpf need not see
  if (relocations.empty()) {
    hide(*table);
    sections_[*table].data.clear();
    return;
  }
  sections_[*table].data = as_bytes(relocations);
}

std::vector<std::byte> ElfImage::write() const {
  auto sections = sections_;
  sections[symbol_table_].data = as_bytes(symbols_);
  auto& names = sections[header_.e_shstrndx];
  // Names anew behind those that are there: symbols may share the table
  for (auto& section : sections) section.header.sh_name = append_string(names.data, section.name);

  std::vector<std::byte> out(sizeof(Elf64_Ehdr));
  for (auto& section : sections) {
    if (section.header.sh_type == SHT_NULL || section.header.sh_type == SHT_NOBITS) continue;
    pad(out, section.header.sh_addralign);
    section.header.sh_offset = out.size();
    section.header.sh_size = section.data.size();
    out.insert(out.end(), section.data.begin(), section.data.end());
  }
  pad(out, alignof(Elf64_Shdr));
  auto header = header_;
  header.e_shoff = out.size();
  header.e_shnum = static_cast<uint16_t>(sections.size());
  for (const auto& section : sections) {
    const auto bytes = std::as_bytes(std::span(&section.header, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  write_at(out, 0, header);
  return out;
}

}  // namespace xbond::bpf
