#include <fmt/format.h>

#include <algorithm>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/decoded.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

// The op of a family's form: names stand in the order 64k, 64x, 32k, 32x.
Op form(Op first, bool narrow, bool reg) {
  return static_cast<Op>(static_cast<unsigned>(first) + (narrow ? 2U : 0U) + (reg ? 1U : 0U));
}

Op alu_family(const bpf_insn& insn) {
  switch (code_op(insn.code)) {
    case BPF_ADD:
      return Op::add64k;
    case BPF_SUB:
      return Op::sub64k;
    case BPF_MUL:
      return Op::mul64k;
    case BPF_DIV:
      return insn.off == 1 ? Op::sdiv64k : Op::div64k;
    case BPF_OR:
      return Op::bit_or64k;
    case BPF_AND:
      return Op::bit_and64k;
    case BPF_LSH:
      return Op::lsh64k;
    case BPF_RSH:
      return Op::rsh64k;
    case BPF_MOD:
      return insn.off == 1 ? Op::smod64k : Op::mod64k;
    case BPF_XOR:
      return Op::bit_xor64k;
    case BPF_ARSH:
      return Op::arsh64k;
    default:
      return Op::mov64k;
  }
}

Op extension(const bpf_insn& insn, bool narrow) {
  if (insn.off == 8) return narrow ? Op::extend32_8 : Op::extend64_8;
  if (insn.off == 16) return narrow ? Op::extend32_16 : Op::extend64_16;
  return Op::extend64_32;
}

// On this little-endian machine "to little" only cuts, and "to big" is a swap as bswap is.
Op byte_order(const bpf_insn& insn, bool narrow) {
  const bool swap = !narrow || from_register(insn.code);
  if (insn.imm == 16) return swap ? Op::swap16 : Op::cut16;
  if (insn.imm == 32) return swap ? Op::swap32 : Op::cut32;
  return swap ? Op::swap64 : Op::nothing;
}

Op alu_op(const bpf_insn& insn) {
  const bool narrow = code_class(insn.code) == BPF_ALU;
  if (code_op(insn.code) == BPF_NEG) return narrow ? Op::neg32 : Op::neg64;
  if (code_op(insn.code) == BPF_END) return byte_order(insn, narrow);
  if (code_op(insn.code) == BPF_MOV && insn.off != 0) return extension(insn, narrow);
  return form(alu_family(insn), narrow, from_register(insn.code));
}

Op jump_op(const bpf_insn& insn) {
  const auto family = [&] {
    switch (code_op(insn.code)) {
      case BPF_JEQ:
        return Op::jeq64k;
      case BPF_JNE:
        return Op::jne64k;
      case BPF_JGT:
        return Op::jgt64k;
      case BPF_JGE:
        return Op::jge64k;
      case BPF_JLT:
        return Op::jlt64k;
      case BPF_JLE:
        return Op::jle64k;
      case BPF_JSET:
        return Op::jset64k;
      case BPF_JSGT:
        return Op::jsgt64k;
      case BPF_JSGE:
        return Op::jsge64k;
      case BPF_JSLT:
        return Op::jslt64k;
      default:
        return Op::jsle64k;
    }
  };
  if (code_op(insn.code) == BPF_JA) return Op::jump;
  return form(family(), code_class(insn.code) == BPF_JMP32, from_register(insn.code));
}

Op load_op(const bpf_insn& insn) {
  const bool stack = insn.src_reg == kFramePointer;
  const bool extends = code_mode(insn.code) == kModeSignExtend;
  switch (access_bytes(insn.code)) {
    case 1:
      return extends ? (stack ? Op::loads8_stack : Op::loads8) : (stack ? Op::load8_stack : Op::load8);
    case 2:
      return extends ? (stack ? Op::loads16_stack : Op::loads16) : (stack ? Op::load16_stack : Op::load16);
    case 4:
      return extends ? (stack ? Op::loads32_stack : Op::loads32) : (stack ? Op::load32_stack : Op::load32);
    default:
      return stack ? Op::load64_stack : Op::load64;
  }
}

// Names stand in the order k, x, k_stack, x_stack.
Op store_op(const bpf_insn& insn) {
  const auto family = [&] {
    switch (access_bytes(insn.code)) {
      case 1:
        return Op::store8k;
      case 2:
        return Op::store16k;
      case 4:
        return Op::store32k;
      default:
        return Op::store64k;
    }
  };
  return form(family(), insn.dst_reg == kFramePointer, code_class(insn.code) == BPF_STX);
}

class Decoder {
 public:
  Decoder(std::span<const bpf_insn> code, std::span<const BoundMap* const> bound) : code_(code), bound_(bound) {}

  Result<DecodedCode> run() {
    number();
    out_.ops.reserve(out_.origin.size());
    for (const auto index : out_.origin)
      if (auto status = one(index); !status) return status.error();
    std::ranges::sort(out_.callbacks);
    return std::move(out_);
  }

 private:
  // Entry of each instruction slot, and the slot of each entry.
  void number() {
    entry_.resize(code_.size());
    for (size_t i = 0; i < code_.size(); ++i) {
      entry_[i] = static_cast<int32_t>(out_.origin.size());
      out_.origin.push_back(static_cast<uint32_t>(i));
      if (is_wide(code_[i])) ++i;
    }
  }

  // A distance in slots as one in entries.
  [[nodiscard]] int32_t distance(size_t index, int64_t slots) const {
    const auto target = static_cast<size_t>(static_cast<int64_t>(index) + 1 + slots);
    return entry_[target] - (entry_[index] + 1);
  }

  Status one(size_t index) {
    const auto& insn = code_[index];
    Decoded op{.op = Op::nothing,
               .dst = insn.dst_reg,
               .src = insn.src_reg,
               .off = insn.off,
               .imm = static_cast<uint64_t>(int64_t{insn.imm})};
    Status status;
    switch (code_class(insn.code)) {
      case BPF_LD:
        status = wide(op, index);
        break;
      case BPF_ALU:
      case BPF_ALU64:
        op.op = alu_op(insn);
        break;
      case BPF_JMP:
      case BPF_JMP32:
        status = jump(op, index);
        break;
      case BPF_LDX:
        op.op = load_op(insn);
        break;
      default:
        store(op, insn);
    }
    out_.ops.push_back(op);
    return status;
  }

  static void store(Decoded& op, const bpf_insn& insn) {
    if (code_class(insn.code) == BPF_ST || code_mode(insn.code) == BPF_MEM) {
      op.op = store_op(insn);
      return;
    }
    const auto bytes = static_cast<uint64_t>(access_bytes(insn.code));
    if (insn.imm == BPF_ADD)
      op.op = bytes == 8 ? Op::atomic_add64 : Op::atomic_add32;
    else
      op.op = Op::atomic;
    op.imm = static_cast<uint32_t>(insn.imm) | bytes << kAtomicBytesShift;
  }

  Status jump(Decoded& op, size_t index) {
    const auto& insn = code_[index];
    if (code_op(insn.code) == BPF_EXIT) {
      op.op = Op::leave;
    } else if (is_local_call(insn)) {
      op.op = Op::call;
      op.off = distance(index, insn.imm);
    } else if (code_op(insn.code) == BPF_CALL) {
      return helper(op, index);
    } else {
      op.op = jump_op(insn);
      op.off = distance(index, jump_distance(insn));
    }
    return {};
  }

  Status helper(Decoded& op, size_t index) {
    const auto number = static_cast<uint32_t>(code_[index].imm);
    const auto name = helper_name(number);
    const auto call = find_helper(number);
    if (!call && name.empty()) return at(index, fmt::format("there is no helper number {}", number));
    if (!call) return at(index, fmt::format("helper {} is not supported by this version", name), ENOTSUP);
    // The one helper that nearly all programs call for each packet: for arrays it is part of the interpreter
    op.op = number == BPF_FUNC_map_lookup_elem ? Op::map_lookup
            : number == BPF_FUNC_tail_call     ? Op::tail_call
            : helper_calls_back(number)        ? Op::callback_helper
                                               : Op::helper;
    out_.tail_calls = out_.tail_calls || number == BPF_FUNC_tail_call;
    op.imm = reinterpret_cast<uintptr_t>(call);
    out_.traces = out_.traces || helper_traces(number);
    return {};
  }

  Status wide(Decoded& op, size_t index) {
    const auto& insn = code_[index];
    const auto high = static_cast<uint32_t>(code_[index + 1].imm);
    op.op = Op::mov64k;
    op.src = 0;
    if (insn.src_reg == 0) {
      op.imm = uint64_t{high} << 32 | static_cast<uint32_t>(insn.imm);
      return {};
    }
    if (insn.src_reg == BPF_PSEUDO_FUNC) {
      const auto entry = static_cast<uint32_t>(entry_[static_cast<size_t>(static_cast<int64_t>(index) + 1 + insn.imm)]);
      out_.callbacks.push_back(entry);
      op.imm = reinterpret_cast<uintptr_t>(out_.ops.data() + entry);  // reserved: it stays where it is
      return {};
    }
    const auto number = static_cast<uint32_t>(insn.imm);
    if (number >= bound_.size() || !bound_[number]) return at(index, fmt::format("there is no map number {}", number));
    const auto& map = *bound_[number];
    if (insn.src_reg == BPF_PSEUDO_MAP_IDX) {
      op.imm = reinterpret_cast<uintptr_t>(&map);
      return {};
    }
    if (map.kind != MapKind::array || map.max_entries != 1)
      return at(index, "a direct reference to a value needs an array of one value");
    if (high >= map.value_size)
      return at(index, fmt::format("reference behind the {} bytes of a value", map.value_size));
    op.imm = reinterpret_cast<uintptr_t>(map.base) + high;
    return {};
  }

  std::span<const bpf_insn> code_;
  std::span<const BoundMap* const> bound_;
  std::vector<int32_t> entry_;
  DecodedCode out_;
};

}  // namespace

Result<DecodedCode> decode(std::span<const bpf_insn> code, std::span<const BoundMap* const> bound) {
  return Decoder(code, bound).run();
}

}  // namespace xbond::bpf
