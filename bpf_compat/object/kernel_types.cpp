#include "bpf_compat/object/kernel_types.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "bpf_compat/object/elf_view.hpp"
#include "bpf_compat/uapi_types_object.hpp"  // made at build time

namespace xbond::bpf {

Result<BtfHandle> load_uapi_types() {
  const auto elf = ElfView::open(std::as_bytes(std::span(kUapiTypesObject)));
  const auto* section = elf ? elf->find(".BTF") : nullptr;
  if (!section) return fail(EINVAL, "this build's UAPI types are damaged");
  BtfHandle types(btf__new(section->data.data(), static_cast<uint32_t>(section->data.size())));
  if (!types) return fail(errno, fmt::format("this build's UAPI types: {}", std::strerror(errno)));
  return types;
}

Result<BtfHandle> load_kernel_types() {
  // libbpf would look in other places too, among them files that no one who runs this chose
  constexpr auto kPath = "/sys/kernel/btf/vmlinux";
  if (access(kPath, R_OK) == 0)
    if (BtfHandle types(btf__parse(kPath, nullptr)); types) return types;
  return load_uapi_types();
}

}  // namespace xbond::bpf
