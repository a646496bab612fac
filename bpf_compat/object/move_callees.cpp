// Functions that a program calls within its own section. libbpf looks for all callees in .text and, finding another
// function at that offset, would link that one.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <map>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/draft.hpp"

namespace xbond::bpf {
namespace {

constexpr unsigned kCallRelocation = 10;  // R_BPF_64_32
constexpr size_t kMaxTextBytes = 1'000'000 * sizeof(bpf_insn);

struct Place {
  size_t section;
  uint64_t offset;
  auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): it takes <=> for a pointer
};

struct Copy {
  size_t original;  // symbols
  size_t symbol;
  Place place;  // of the original
  uint64_t start;
  uint64_t length;
};

// A section's relocations by offset, the first of each.
using Relocations = std::map<uint64_t, Elf64_Rel>;

class Mover {
 public:
  explicit Mover(Draft& draft) : image_(draft.image) {}

  Status run() {
    for (size_t i = 0; i < image_.symbols(); ++i)
      if (const auto& symbol = image_.symbol(i); ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
        functions_.try_emplace({symbol.st_shndx, symbol.st_value}, i);
    const auto sections = image_.sections().size();
    for (size_t s = 0; s < sections; ++s) {
      const auto& section = image_.sections()[s];
      if (!section.code() || section.name == ".text") continue;
      if (auto status = redirect_calls(s, 0, section.data.size(), s, 0); !status) return status;
    }
    // Copies call on: the list grows while it is walked
    for (size_t i = 0; i < copies_.size(); ++i)
      if (auto status = finish(copies_[i]); !status) return status;
    if (!copies_.empty()) store();
    return {};
  }

 private:
  Relocations& relocations(size_t section) {
    const auto [it, is_new] = relocations_.try_emplace(section);
    if (is_new)
      for (const auto& relocation : image_.relocations(section))
        it->second.try_emplace(relocation.r_offset, relocation);
    return it->second;
  }

  // For each call in [from, from + length) of section `s` to a function of that section, the call that stands at the
  // same place behind `to_from` of section `to` gets a relocation to the function's copy.
  Status redirect_calls(size_t s, uint64_t from, uint64_t length, size_t to, uint64_t to_from) {
    for (uint64_t at = from; at < from + length; at += sizeof(bpf_insn)) {
      const auto callee = local_callee(s, at);
      if (!callee) continue;
      const auto symbol = copy_of({s, *callee});
      if (!symbol) return symbol.error();
      auto& code = image_.sections()[to].data;
      const auto place = at - from + to_from;
      auto insn = *read_at<bpf_insn>(code, place);
      insn.imm = -1;
      pending_.push_back({{to, place}, insn, *symbol});
    }
    return {};
  }

  // The offset within section `s` that the call at `at` leads to; nothing where it leads elsewhere, or is no call.
  std::optional<uint64_t> local_callee(size_t s, uint64_t at) {
    const auto insn = read_at<bpf_insn>(image_.sections()[s].data, at);
    if (!insn || !isa::is_local_call(*insn)) return std::nullopt;
    const auto distance = (int64_t{insn->imm} + 1) * static_cast<int64_t>(sizeof(bpf_insn));
    const auto& known = relocations(s);
    const auto it = known.find(at);
    if (it == known.end()) return at + static_cast<uint64_t>(distance);
    const auto& symbol = image_.symbol(ELF64_R_SYM(it->second.r_info));
    return symbol.st_shndx == s ? std::optional(symbol.st_value + static_cast<uint64_t>(distance)) : std::nullopt;
  }

  // The symbol of the function's copy in .text, which is made when there is none yet.
  Result<size_t> copy_of(Place place) {
    if (const auto it = by_place_.find(place); it != by_place_.end()) return it->second;
    const auto it = functions_.find(place);
    if (it == functions_.end())
      return fail(EINVAL,
                  fmt::format("a call in section {} leads to no function", image_.sections()[place.section].name));
    const auto text = text_section();
    if (!text) return text.error();
    const auto length = image_.symbol(it->second).st_size;
    const auto code = image_.sections()[place.section].data;
    auto& target = image_.sections()[*text].data;
    const auto start = target.size();
    if (place.offset > code.size() || code.size() - place.offset < length || start + length > kMaxTextBytes)
      return fail(EINVAL, fmt::format("function {} does not lie in its section", image_.symbol_name(it->second)));
    const auto first = code.begin() + static_cast<ptrdiff_t>(place.offset);
    target.insert(target.end(), first, first + static_cast<ptrdiff_t>(length));

    auto symbol = image_.symbol(it->second);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = static_cast<uint16_t>(*text);
    symbol.st_value = start;
    // A dot can't be in a name of C: no other function is called so
    const auto name = fmt::format("{}.text", image_.symbol_name(it->second));
    copies_.push_back({it->second, image_.add_symbol(name, symbol), place, start, length});
    by_place_[place] = copies_.back().symbol;
    return copies_.back().symbol;
  }

  // The copy gets what is the original's: relocations, and calls of its own.
  Status finish(Copy copy) {
    const auto text = image_.symbol(copy.symbol).st_shndx;
    const auto& known = relocations(copy.place.section);
    const auto end = known.lower_bound(copy.place.offset + copy.length);
    for (auto it = known.lower_bound(copy.place.offset); it != end; ++it) {
      const auto offset = it->first - copy.place.offset + copy.start;
      relocations(text)[offset] = {offset, it->second.r_info};
    }
    return redirect_calls(copy.place.section, copy.place.offset, copy.length, text, copy.start);
  }

  // All calls at once, when no one looks at the old ones any more. A static function that was only called is no
  // program.
  void store() {
    for (const auto& [place, insn, symbol] : pending_) {
      write_at(image_.sections()[place.section].data, place.offset, insn);
      relocations(place.section)[place.offset] = {place.offset, ELF64_R_INFO(symbol, kCallRelocation)};
    }
    for (const auto& copy : copies_) {
      auto& original = image_.symbol(copy.original);
      if (ELF64_ST_BIND(original.st_info) != STB_LOCAL) continue;
      original.st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
      auto& known = relocations(copy.place.section);
      known.erase(known.lower_bound(copy.place.offset), known.lower_bound(copy.place.offset + copy.length));
    }
    for (const auto& [section, known] : relocations_) {
      std::vector<Elf64_Rel> all;
      for (const auto& [offset, relocation] : known) all.push_back(relocation);
      image_.set_relocations(section, all);
    }
  }

  Result<size_t> text_section() {
    const auto text = image_.find(".text");
    if (!text) return image_.add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, {});
    return image_.sections()[*text].code() ? Result<size_t>(*text) : fail(EINVAL, "its section .text holds no code");
  }

  struct Pending {
    Place place;
    bpf_insn insn;
    size_t symbol;
  };

  ElfImage& image_;
  std::map<Place, size_t> functions_;
  std::map<Place, size_t> by_place_;
  std::vector<Copy> copies_;
  std::vector<Pending> pending_;
  std::map<size_t, Relocations> relocations_;
};

}  // namespace

Status move_callees(Draft& draft) {
  return Mover(draft).run();
}

}  // namespace xbond::bpf
