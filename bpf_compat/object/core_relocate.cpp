#include "bpf_compat/object/core_relocate.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstring>
#include <map>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/btf_handle.hpp"
#include "bpf_compat/object/core_patch.hpp"
#include "bpf_compat/object/core_spec.hpp"
#include "bpf_compat/object/core_value.hpp"
#include "bpf_compat/object/kernel_types.hpp"

namespace xbond::bpf {
namespace {

using namespace core;  // NOLINT(google-build-using-namespace): the vocabulary of this file

// For each the target's types are searched through. No object has so many but to waste time.
constexpr size_t kMaxRoots = 1000;

class Relocator {
 public:
  Relocator(ElfImage& image, const btf* types, const btf* target) : image_(image), types_(types), target_(target) {}

  Status one(const CoreRelocation& relocation) {
    uint32_t given = 0;  // the file's: any number, which an object of the enumeration's type could not hold
    std::memcpy(&given, &relocation.record.kind, sizeof given);
    if (given > BPF_CORE_ENUMVAL_VALUE) return fail(ENOTSUP, fmt::format("kind {} is not known here", given));
    const auto kind = static_cast<bpf_core_relo_kind>(given);
    const auto section = image_.find(relocation.section);
    if (!section || !image_.sections()[*section].code()) return fail(EINVAL, "it is for no section of code");
    const auto access = btf_name(types_, relocation.record.access_str_off);
    const auto local = parse_spec(types_, relocation.record.type_id, access, kind);
    if (!local) return local.error();
    const auto before = value_of(&*local, kind);
    if (!before) return before.error();
    if (candidates_.size() > kMaxRoots) return fail(EINVAL, fmt::format("more than {} types", kMaxRoots));
    const auto after = kind == BPF_CORE_TYPE_ID_LOCAL ? before : find(*local, kind);
    if (!after) return after.error();
    return patch(image_.sections()[*section].data, relocation.record.insn_off,
                 {.before = *before, .after = *after, .types = types_, .target = target_});
  }

 private:
  // What the target's types say. Several may bear the name: they have to agree.
  Result<Value> find(const Spec& local, bpf_core_relo_kind kind) {
    std::optional<Value> found;
    for (const auto id : candidates(local)) {
      const auto spec = match(local, target_, id, kind);
      if (!spec) continue;
      const auto value = value_of(&*spec, kind);
      if (!value) return value.error();
      if (found && found->number != value->number)
        return fail(EINVAL, fmt::format("type {} of the target is ambiguous", name_of(local)));
      if (!found) found = *value;
    }
    return found ? Result<Value>(*found) : value_of(nullptr, kind);
  }

  // By root type: the kernel's types are many, an object's roots few.
  const std::vector<uint32_t>& candidates(const Spec& local) {
    const auto [it, is_new] = candidates_.try_emplace(local.root);
    if (is_new && !name_of(local).empty())
      for (uint32_t id = 1; id < btf__type_cnt(target_); ++id)
        if (is_candidate(local, target_, id)) it->second.push_back(id);
    return it->second;
  }

  [[nodiscard]] std::string_view name_of(const Spec& local) const {
    return btf_name(types_, btf__type_by_id(types_, local.root)->name_off);
  }

  ElfImage& image_;
  const btf* types_;
  const btf* target_;
  std::map<uint32_t, std::vector<uint32_t>> candidates_;
};

}  // namespace

Status apply_core(ElfImage& image, const btf* types, std::span<const CoreRelocation> relocations) {
  if (relocations.empty()) return {};
  const auto target = load_kernel_types();
  if (!target) return target.error();
  Relocator relocator(image, types, target->get());
  for (const auto& relocation : relocations)
    if (auto status = relocator.one(relocation); !status)
      return fail(status.error().code,
                  fmt::format("CO-RE relocation of instruction {} in section {}: {}",
                              relocation.record.insn_off / sizeof(bpf_insn), relocation.section, status.error().text));
  return {};
}

}  // namespace xbond::bpf
