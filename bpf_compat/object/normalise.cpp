#include "bpf_compat/object/normalise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bpf_compat/object/core_relocate.hpp"
#include "bpf_compat/object/draft.hpp"
#include "bpf_compat/object/sanity.hpp"

namespace xbond::bpf {
namespace {

Result<BtfHandle> read_types(const ElfImage& image) {
  const auto section = image.find(".BTF");
  if (!section) return BtfHandle{};
  const auto& data = image.sections()[*section].data;
  if (auto status = check_btf(data); !status) return status.error();
  BtfHandle types(btf__new(data.data(), static_cast<uint32_t>(data.size())));
  if (!types) return fail(EINVAL, "libbpf can't read its .BTF");
  return types;
}

// Afterwards nothing in .BTF.ext is of use to libbpf: hides it.
Status relocate(Draft& draft) {
  const auto types = draft.image.find(".BTF");
  const auto ext = draft.image.find(".BTF.ext");
  if (!ext) return {};
  if (types) {
    const auto relocations = check_btf_ext(draft.image.sections()[*ext].data, draft.image.sections()[*types].data);
    if (!relocations) return relocations.error();
    if (auto status = apply_core(draft.image, draft.types.get(), *relocations); !status) return status;
  }
  draft.image.hide(*ext);
  return {};
}

void write_types(Draft& draft) {
  if (!draft.types) return;
  uint32_t size = 0;
  const auto* raw = static_cast<const std::byte*>(btf__raw_data(draft.types.get(), &size));
  auto section = draft.image.find(".BTF");
  if (!section) section = draft.image.add_section(".BTF", SHT_PROGBITS, 0, {});
  draft.image.sections()[*section].data.assign(raw, raw + size);
}

}  // namespace

Result<Normalised> normalise(const ElfView& view) {
  Draft draft{.image = ElfImage(view), .types = nullptr};
  auto types = read_types(draft.image);
  if (!types) return types.error();
  draft.types = std::move(*types);
  if (auto status = refuse_struct_ops(draft); !status) return status.error();
  type_functions(draft);
  for (auto* step :
       {relocate, convert_legacy_maps, clear_unknown_pinning, take_initial_refs, take_kernel_symbols, move_callees})
    if (auto status = step(draft); !status) return status.error();
  publish_programs(draft);
  write_types(draft);
  draft.out.image = draft.image.write();
  return std::move(draft.out);
}

}  // namespace xbond::bpf
