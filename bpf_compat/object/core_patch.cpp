#include "bpf_compat/object/core_patch.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <climits>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/elf_image.hpp"

namespace xbond::bpf::core {
namespace {

constexpr bpf_insn kUnresolved{
    .code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = isa::kUnresolvedCall};

bool accesses_memory(const bpf_insn& insn) {
  const auto cls = isa::code_class(insn.code);
  return cls == BPF_LDX || cls == BPF_ST || cls == BPF_STX;
}

// A field that has another width than the program expects may be taken at its own where that gives the same number:
// pointers, and unsigned integers.
bool may_resize(const Change& change) {
  const auto* before = btf__type_by_id(change.types, change.before.leaf_type);
  const auto* after = btf__type_by_id(change.target, change.after.leaf_type);
  if (btf_is_ptr(before) && btf_is_ptr(after)) return true;
  const auto unsigned_int = [](const btf_type* type) {
    return btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_SIGNED) == 0;
  };
  return unsigned_int(before) && unsigned_int(after);
}

Status mismatch(std::string_view what, uint64_t found, uint64_t expected) {
  return fail(EINVAL, fmt::format("its instruction has {} {}, compiled for {}", what, found, expected));
}

Result<uint8_t> size_code(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return uint8_t{BPF_B};
    case 2:
      return uint8_t{BPF_H};
    case 4:
      return uint8_t{BPF_W};
    case 8:
      return uint8_t{BPF_DW};
    default:
      return fail(EINVAL, fmt::format("a field of {} bytes can't be loaded", bytes));
  }
}

Status patch_memory(bpf_insn& insn, const Change& change) {
  const auto& [before, after, types, target] = change;
  if (before.exact && static_cast<uint64_t>(int64_t{insn.off}) != before.number)
    return mismatch("offset", static_cast<uint16_t>(insn.off), before.number);
  if (after.number > SHRT_MAX) return fail(EINVAL, fmt::format("offset {} is too far", after.number));
  insn.off = static_cast<int16_t>(after.number);
  if (after.size == before.size) return {};
  if (static_cast<uint32_t>(isa::access_bytes(insn.code)) != before.size)
    return mismatch("width", static_cast<uint64_t>(isa::access_bytes(insn.code)), before.size);
  const auto code = size_code(after.size);
  if (!code) return code.error();
  insn.code = static_cast<uint8_t>((insn.code & ~0x18) | *code);
  return {};
}

Status patch_wide(bpf_insn& low, bpf_insn& high, const Change& change) {
  if (low.src_reg != 0 || high.code != 0) return fail(EINVAL, "its instruction loads no constant");
  const auto number = uint64_t{static_cast<uint32_t>(high.imm)} << 32 | static_cast<uint32_t>(low.imm);
  if (change.before.exact && number != change.before.number) return mismatch("constant", number, change.before.number);
  low.imm = static_cast<int32_t>(static_cast<uint32_t>(change.after.number));
  high.imm = static_cast<int32_t>(static_cast<uint32_t>(change.after.number >> 32));
  return {};
}

Status patch_constant(bpf_insn& insn, const Change& change) {
  if (isa::from_register(insn.code)) return fail(EINVAL, "its instruction has no constant");
  if (change.before.exact && insn.imm != static_cast<int32_t>(static_cast<uint32_t>(change.before.number)))
    return mismatch("constant", static_cast<uint32_t>(insn.imm), change.before.number);
  insn.imm = static_cast<int32_t>(static_cast<uint32_t>(change.after.number));
  return {};
}

}  // namespace

Status patch(std::vector<std::byte>& code, size_t offset, const Change& change) {
  const auto first = read_at<bpf_insn>(code, offset);
  if (!first || offset % sizeof(bpf_insn) != 0) return fail(EINVAL, "it is for no instruction");
  auto low = *first;
  const bool wide = isa::is_wide(low);
  auto high = read_at<bpf_insn>(code, offset + sizeof(bpf_insn)).value_or(bpf_insn{});
  if (wide && code.size() - offset < 2 * sizeof(bpf_insn)) return fail(EINVAL, "its instruction is cut short");

  const bool resizes = change.after.known && accesses_memory(low) && change.before.size != change.after.size;
  Status status;
  if (!change.after.known || (resizes && !may_resize(change))) {
    low = kUnresolved;
    high = kUnresolved;
  } else if (wide) {
    status = patch_wide(low, high, change);
  } else if (accesses_memory(low)) {
    status = patch_memory(low, change);
  } else if (const auto cls = isa::code_class(low.code); cls == BPF_ALU || cls == BPF_ALU64) {
    status = patch_constant(low, change);
  } else {
    status = fail(EINVAL, "its instruction takes no number");
  }
  if (!status) return status;
  write_at(code, offset, low);
  if (wide) write_at(code, offset + sizeof(bpf_insn), high);
  return {};
}

}  // namespace xbond::bpf::core
