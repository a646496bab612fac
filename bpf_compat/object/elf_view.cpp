#include "bpf_compat/object/elf_view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace xbond::bpf {
namespace {

Result<Elf64_Ehdr> read_header(std::span<const std::byte> image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (image.size() < SELFMAG || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0) return fail(EINVAL, "not an ELF file");
  if (!header) return fail(EINVAL, "ELF file cut short");
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return fail(EINVAL, "not a 64-bit ELF file");
  if (header->e_ident[EI_DATA] != ELFDATA2LSB)
    return fail(EINVAL, "big-endian BPF code; compile with -target bpf here");
  if (header->e_machine != EM_BPF)
    return fail(EINVAL, fmt::format("not BPF code (ELF machine {}, BPF is {})", header->e_machine, EM_BPF));
  if (header->e_type != ET_REL) return fail(EINVAL, "not a relocatable BPF object (compile with -c)");
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 || header->e_shnum >= SHN_LORESERVE)
    return fail(EINVAL, "ELF section table is damaged");
  if (header->e_shstrndx == SHN_UNDEF || header->e_shstrndx >= header->e_shnum)
    return fail(EINVAL, "ELF section names are missing");
  return *header;
}

}  // namespace

std::optional<std::string_view> string_at(std::span<const std::byte> table, size_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto* start = reinterpret_cast<const char*>(table.data()) + offset;
  const size_t room = table.size() - offset;
  const size_t length = strnlen(start, room);
  if (length == room) return std::nullopt;
  return std::string_view(start, length);
}

Result<ElfView> ElfView::open(std::span<const std::byte> image) {
  const auto header = read_header(image);
  if (!header) return header.error();

  ElfView view;
  view.header_ = *header;
  view.sections_.reserve(header->e_shnum);
  for (size_t i = 0; i < header->e_shnum; ++i) {
    if (header->e_shoff > image.size()) return fail(EINVAL, "ELF section table lies outside the file");
    const auto section = read_at<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return fail(EINVAL, "ELF section table lies outside the file");
    std::span<const std::byte> data;
    if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL) {
      if (section->sh_offset > image.size() || image.size() - section->sh_offset < section->sh_size)
        return fail(EINVAL, fmt::format("ELF section {} lies outside the file", i));
      data = image.subspan(section->sh_offset, section->sh_size);
    }
    view.sections_.push_back({{}, *section, data});
  }

  const auto& names = view.sections_[header->e_shstrndx];
  if (names.header.sh_type != SHT_STRTAB) return fail(EINVAL, "ELF section names are missing");
  for (size_t i = 0; i < view.sections_.size(); ++i) {
    const auto name = string_at(names.data, view.sections_[i].header.sh_name);
    if (!name) return fail(EINVAL, fmt::format("ELF section {} has no valid name", i));
    view.sections_[i].name = *name;
  }
  return view;
}

const ElfView::Section* ElfView::find(std::string_view name) const {
  const auto it = std::ranges::find(sections_, name, &Section::name);
  return it == sections_.end() ? nullptr : &*it;
}

}  // namespace xbond::bpf
