// The sections of a 64-bit little-endian BPF object, with every offset and size checked against the file before use.
// libbpf trusts much of what it reads: it gets an image only after this view and the checks in sanity.hpp have passed.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// Reads a T at `offset`, wherever it is aligned. Nothing when it does not lie inside `bytes`.
template <class T>
std::optional<T> read_at(std::span<const std::byte> bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The NUL-terminated string at `offset`. Nothing when it starts or ends outside `table`.
std::optional<std::string_view> string_at(std::span<const std::byte> table, size_t offset);

// Borrows the image: it must outlive the view.
class ElfView {
 public:
  struct Section {
    std::string_view name;
    Elf64_Shdr header;
    std::span<const std::byte> data;  // empty for SHT_NOBITS

    [[nodiscard]] bool executable() const { return (header.sh_flags & SHF_EXECINSTR) != 0; }
  };

  // Errors: EINVAL with what is wrong with the file.
  static Result<ElfView> open(std::span<const std::byte> image);

  [[nodiscard]] const Elf64_Ehdr& header() const { return header_; }
  [[nodiscard]] std::span<const Section> sections() const { return sections_; }
  [[nodiscard]] const Section* find(std::string_view name) const;

 private:
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
};

}  // namespace xbond::bpf
