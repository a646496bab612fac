// References of code to what only a running kernel has: its functions and variables (section `.ksyms`).
#include <fmt/format.h>
#include <linux/bpf.h>

#include <map>
#include <set>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/draft.hpp"
#include "bpf_compat/object/map_types.hpp"

namespace xbond::bpf {
namespace {

// Those of `.kconfig` are libbpf's to fill in: the kernel's version and options.
std::set<std::string, std::less<>> kconfig_names(const btf* types) {
  std::set<std::string, std::less<>> names;
  const int id = types ? btf__find_by_name_kind(types, ".kconfig", BTF_KIND_DATASEC) : 0;
  if (id <= 0) return names;
  const auto* section = btf__type_by_id(types, static_cast<uint32_t>(id));
  for (const auto& info : std::span(btf_var_secinfos(section), btf_vlen(section)))
    names.emplace(btf_name(types, btf__type_by_id(types, info.type)->name_off));
  return names;
}

constexpr bpf_insn call(uint8_t kind, int32_t number) {
  return {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = kind, .off = 0, .imm = number};
}

class Taker {
 public:
  explicit Taker(Draft& draft) : draft_(draft) {}

  // What is weak and not there is a null pointer; what must be there marks the program, which then names it.
  Status take(std::vector<std::byte>& code, size_t offset, size_t symbol) {
    const auto insn = read_at<bpf_insn>(code, offset);
    const bool wide = insn && isa::is_wide(*insn) && code.size() - offset >= 2 * sizeof(bpf_insn);
    const auto name = draft_.image.symbol_name(symbol);
    if (!insn || (!wide && insn->code != (BPF_JMP | BPF_CALL)))
      return fail(EINVAL, fmt::format("kernel symbol {} is referred to by no call or load", name));
    const bool weak = ELF64_ST_BIND(draft_.image.symbol(symbol).st_info) == STB_WEAK;
    if (wide && weak) {
      write_at(code, offset, bpf_insn{.code = insn->code, .dst_reg = insn->dst_reg, .src_reg = 0, .off = 0, .imm = 0});
      write_at(code, offset + sizeof(bpf_insn), bpf_insn{});
      return {};
    }
    const auto marked = weak ? call(0, isa::kUnresolvedCall) : call(BPF_PSEUDO_KFUNC_CALL, number(name));
    write_at(code, offset, marked);
    if (wide) write_at(code, offset + sizeof(bpf_insn), marked);
    return {};
  }

 private:
  int32_t number(std::string_view name) {
    auto& names = draft_.out.kernel_functions;
    const auto [it, is_new] = numbers_.try_emplace(std::string(name), static_cast<int32_t>(names.size()));
    if (is_new) names.emplace_back(name);
    return it->second;
  }

  Draft& draft_;
  std::map<std::string, int32_t> numbers_;
};

}  // namespace

Status take_kernel_symbols(Draft& draft) {
  auto& image = draft.image;
  const auto kconfig = kconfig_names(draft.types.get());
  const auto is_kernels = [&](size_t index) {
    const auto& symbol = image.symbol(index);
    return index != 0 && symbol.st_shndx == SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE &&
           ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && !kconfig.contains(image.symbol_name(index));
  };
  Taker taker(draft);
  const auto count = image.sections().size();
  for (size_t s = 0; s < count; ++s) {
    if (!image.sections()[s].code()) continue;
    const auto relocations = image.relocations(s);
    std::vector<Elf64_Rel> others;
    for (const auto& relocation : relocations) {
      const auto symbol = ELF64_R_SYM(relocation.r_info);
      if (!is_kernels(symbol)) {
        others.push_back(relocation);
        continue;
      }
      if (auto status = taker.take(image.sections()[s].data, relocation.r_offset, symbol); !status) return status;
    }
    if (others.size() != relocations.size()) image.set_relocations(s, others);
  }
  for (size_t i = 0; i < image.symbols(); ++i)
    if (is_kernels(i)) image.symbol(i).st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
  if (draft.types) forget_section(draft.types.get(), ".ksyms");
  return {};
}

}  // namespace xbond::bpf
