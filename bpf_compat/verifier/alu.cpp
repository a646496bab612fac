// Arithmetic, moves and constants.
#include <fmt/format.h>

#include <array>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

namespace {

Alu operation(const bpf_insn& insn) {
  const bool is_signed = insn.off == 1;
  switch (code_op(insn.code)) {
    case BPF_ADD:
      return Alu::add;
    case BPF_SUB:
      return Alu::sub;
    case BPF_MUL:
      return Alu::mul;
    case BPF_DIV:
      return is_signed ? Alu::sdiv : Alu::div;
    case BPF_MOD:
      return is_signed ? Alu::smod : Alu::mod;
    case BPF_OR:
      return Alu::bit_or;
    case BPF_AND:
      return Alu::bit_and;
    case BPF_XOR:
      return Alu::bit_xor;
    case BPF_LSH:
      return Alu::lsh;
    case BPF_RSH:
      return Alu::rsh;
    default:
      return Alu::arsh;
  }
}

constexpr std::string_view kPointerAdvice =
    "only numbers can be added to and subtracted from a pointer, in 64 bits; compute the offset first";

}  // namespace

bool Walk::wide_constant() {
  const auto& first = insn();
  const auto dst = first.dst_reg;
  const auto low = static_cast<uint32_t>(first.imm);
  const auto high = static_cast<uint32_t>(code_[at_ + 1].imm);
  switch (first.src_reg) {
    case 0:
      set_number(dst, Number::constant(uint64_t{high} << 32 | low), nodes_.made_of(0));
      return true;
    case BPF_PSEUDO_FUNC: {
      Reg function = Reg::pointer(Kind::function);
      function.index = call_target(at_, first);
      reg(dst) = function;
      break;
    }
    case BPF_PSEUDO_MAP_IDX:
    case BPF_PSEUDO_MAP_IDX_VALUE: {
      if (low >= maps_.size()) return refuse(fmt::format("there is no map number {}", low));
      const bool value = first.src_reg == BPF_PSEUDO_MAP_IDX_VALUE;
      if (!value && high != 0) return refuse("unrecognized bpf_ld_imm64 insn");
      const auto& spec = maps_[low];
      if (value && (spec.type != BPF_MAP_TYPE_ARRAY || spec.max_entries != 1))
        return refuse("a direct reference to a value needs an array of one value");
      if (value && high >= spec.value_size)
        return refuse(fmt::format("direct value offset of {} is not allowed", high));
      Reg pointer = Reg::pointer(value ? Kind::map_value : Kind::map);
      pointer.index = low;
      pointer.offset = value ? static_cast<int32_t>(high) : 0;
      reg(dst) = pointer;
      break;
    }
    default:
      return refuse(fmt::format("invalid src_reg {} in a 64-bit constant", first.src_reg));
  }
  reg(dst).node = nodes_.made_of(0);
  return true;
}

bool Walk::alu() {
  const bool wide = code_class(insn().code) == BPF_ALU64;
  const auto op = code_op(insn().code);
  if (op == BPF_NEG || op == BPF_END) return unary(wide);
  if (op == BPF_MOV) return move(wide);
  return two_operands(wide);
}

bool Walk::unary(bool wide) {
  const auto dst = insn().dst_reg;
  if (!read(dst)) return false;
  auto& r = reg(dst);
  if (r.is_pointer()) return refuse(fmt::format("R{} pointer arithmetic prohibited", dst), kPointerAdvice);
  const auto node = nodes_.made_of(r.node);
  if (code_op(insn().code) == BPF_NEG) {
    set_number(dst, negated(r.number, wide), node);
  } else {
    const bool swap = wide || from_register(insn().code);
    set_number(dst, swapped(r.number, static_cast<unsigned>(insn().imm), swap), node);
  }
  return true;
}

bool Walk::move(bool wide) {
  const auto dst = insn().dst_reg;
  if (!from_register(insn().code)) {
    const auto value = static_cast<uint64_t>(int64_t{insn().imm});
    set_number(dst, Number::constant(wide ? value : static_cast<uint32_t>(value)), nodes_.made_of(0));
    return true;
  }
  const auto src = insn().src_reg;
  if (!read(src)) return false;
  auto& from = reg(src);
  const auto bits = static_cast<unsigned>(insn().off);
  if (from.is_pointer()) {
    if (wide && bits == 0) {
      reg(dst) = from;
      return true;
    }
    if (bits != 0) return refuse(fmt::format("R{} sign-extension part of pointer", src), kPointerAdvice);
    reg(dst) = Reg::scalar(lower_half(Number{}), nodes_.made_of(0));  // half of an address
    return true;
  }
  const bool same = bits != 0 ? (wide && from.number.r64.smin >= -(int64_t{1} << (bits - 1)) &&
                                 from.number.r64.smax < (int64_t{1} << (bits - 1)))
                              : wide || from.number.r64.umax <= UINT32_MAX;
  if (same) {
    // What is learned of one is learned of the other
    if (from.id == 0 && !from.number.is_constant()) from.id = new_id();
    reg(dst) = from;
    return true;
  }
  const auto number = bits != 0 ? sign_extended(from.number, bits, wide) : lower_half(from.number);
  set_number(dst, number, nodes_.made_of(from.node));
  return true;
}

bool Walk::two_operands(bool wide) {
  const auto& i = insn();
  const auto op = operation(i);
  const auto dst = i.dst_reg;
  if (!read(dst)) return false;
  Reg right = Reg::scalar(Number::constant(static_cast<uint64_t>(int64_t{i.imm})));
  if (from_register(i.code)) {
    if (!read(i.src_reg)) return false;
    right = reg(i.src_reg);
  }
  auto& left = reg(dst);
  if (left.is_pointer() || right.is_pointer()) {
    const bool both = left.is_pointer() && right.is_pointer();
    if (op == Alu::sub && (both || !wide)) {  // a distance
      if (!both && right.is_pointer()) return refuse(fmt::format("R{} tried to subtract pointer from scalar", dst));
      reg(dst) = Reg::scalar(wide ? Number{} : lower_half(Number{}), nodes_.made_of(0));
      return true;
    }
    if (both) return refuse(fmt::format("R{} pointer {} pointer prohibited", dst, "arithmetic with"), kPointerAdvice);
    if (!wide) return refuse(fmt::format("R{} 32-bit pointer arithmetic prohibited", dst), kPointerAdvice);
    if (op != Alu::add && op != Alu::sub)
      return refuse(fmt::format("R{} pointer arithmetic with this operator prohibited", dst), kPointerAdvice);
    if (op == Alu::sub && right.is_pointer())
      return refuse(fmt::format("R{} tried to subtract pointer from scalar", dst), kPointerAdvice);
    const bool pointer_left = left.is_pointer();
    Reg pointer = pointer_left ? left : right;
    const Reg scalar = pointer_left ? right : left;
    return pointer_alu(pointer, scalar, dst, op == Alu::sub);
  }
  const bool itself = from_register(i.code) && i.src_reg == dst && (op == Alu::sub || op == Alu::bit_xor);
  if (itself) {
    set_number(dst, Number::constant(0), nodes_.made_of(0));
    return true;
  }
  set_number(dst, arithmetic(op, wide, left.number, right.number), nodes_.made_of(left.node, right.node));
  return true;
}

bool Walk::pointer_alu(Reg& pointer, const Reg& scalar, unsigned dst, bool subtract) {
  if (pointer.maybe_null)
    return refuse(fmt::format("R{} pointer arithmetic on {} prohibited, null-check it first", dst, to_text(pointer)),
                  "compare the result of the look-up with NULL before using it");
  const auto& by = scalar.number;
  const bool fixed = pointer.kind == Kind::map || pointer.kind == Kind::packet_end || pointer.kind == Kind::function;
  if (fixed && !(pointer.kind == Kind::map && by.is(0)))
    return refuse(fmt::format("R{} pointer arithmetic on {} prohibited", dst, to_text(pointer)), kPointerAdvice);
  if (pointer.kind == Kind::stack && subtract)
    return refuse(fmt::format("R{} subtraction from stack pointer prohibited", dst), kPointerAdvice);
  // Where an address lies decides what is safe: the number matters
  precise(scalar);
  const auto small = [](int64_t low, int64_t high) { return low > -kMaxVariable && high < kMaxVariable; };
  if (by.r64.smin > by.r64.smax || !small(by.r64.smin, by.r64.smax))
    return refuse(
        fmt::format("math between {} pointer and register with unbounded min value is not allowed", to_text(pointer)),
        "bound the number first, on both sides: 'if (x > MAX) return', or 'x &= MASK', with x unsigned");
  if (by.is_constant()) {
    const auto value = static_cast<int64_t>(by.value());
    const int64_t offset = pointer.offset + (subtract ? -value : value);
    if (!small(offset, offset))
      return refuse(fmt::format("value {} makes {} pointer be out of bounds", offset, to_text(pointer)));
    pointer.offset = static_cast<int32_t>(offset);
    // What was known of the bytes behind the base holds on, but not that the pointer lies beyond the end
    if (pointer.range < 0) pointer.range = 0;
  } else {
    pointer.number = arithmetic(subtract ? Alu::sub : Alu::add, true, pointer.number, by);
    if (!small(pointer.number.r64.smin, pointer.number.r64.smax))
      return refuse(fmt::format("{} pointer offset is not bounded", to_text(pointer)));
    if (pointer.is_packet()) {
      pointer.id = new_id();
      pointer.range = 0;
    }
  }
  pointer.node = nodes_.made_of(0);
  reg(dst) = pointer;
  return true;
}

}  // namespace xbond::bpf::verifier
