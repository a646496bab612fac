// A BPF object taken apart, to be changed and put together again. Made from a view that check_elf_form has passed.
// Section numbers stay; sections, symbols and relocations may be added. Thread: any, one at a time.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/object/elf_view.hpp"

namespace xbond::bpf {

class ElfImage {
 public:
  struct Section {
    std::string name;
    Elf64_Shdr header{};          // sizes and places are computed by write()
    std::vector<std::byte> data;  // empty for SHT_NOBITS

    [[nodiscard]] bool executable() const { return (header.sh_flags & SHF_EXECINSTR) != 0; }
    // Holds instructions that a program may be made of.
    [[nodiscard]] bool code() const { return executable() && header.sh_type == SHT_PROGBITS; }
  };

  explicit ElfImage(const ElfView& view);

  [[nodiscard]] std::vector<Section>& sections() { return sections_; }
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  // The number of the first section of that name.
  [[nodiscard]] std::optional<size_t> find(std::string_view name) const;
  // Gives its number.
  size_t add_section(std::string name, uint32_t type, uint64_t flags, std::vector<std::byte> data);
  // Makes a section one that libbpf passes over, whatever it holds.
  void hide(size_t section);

  // Symbols are numbered as relocations do.
  [[nodiscard]] size_t symbols() const { return symbols_.size(); }
  [[nodiscard]] Elf64_Sym& symbol(size_t index) { return symbols_[index]; }
  [[nodiscard]] const Elf64_Sym& symbol(size_t index) const { return symbols_[index]; }
  [[nodiscard]] std::string_view symbol_name(size_t index) const;
  size_t add_symbol(std::string_view name, Elf64_Sym symbol);
  // Whether the symbol stands in a section of the file, and not for nothing or a file's name.
  [[nodiscard]] bool in_section(const Elf64_Sym& symbol) const;
  // The function or the object (`type`) that begins there.
  [[nodiscard]] std::optional<size_t> symbol_at(size_t section, uint64_t offset, unsigned type) const;

  // Relocations of a section; empty where it has none.
  [[nodiscard]] std::vector<Elf64_Rel> relocations(size_t section) const;
  void set_relocations(size_t section, const std::vector<Elf64_Rel>& relocations);

  [[nodiscard]] std::vector<std::byte> write() const;

 private:
  [[nodiscard]] std::optional<size_t> relocation_section(size_t section) const;

  Elf64_Ehdr header_;
  std::vector<Section> sections_;
  size_t symbol_table_ = 0;
  std::vector<Elf64_Sym> symbols_;
};

// A T, written over `bytes` at `offset`. Precondition: it lies inside.
template <class T>
void write_at(std::vector<std::byte>& bytes, size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

}  // namespace xbond::bpf
