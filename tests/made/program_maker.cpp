#include "tests/made/program_maker.hpp"

#include <fmt/format.h>

#include "bpf_compat/engine/disassemble.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "tests/made/maker.hpp"

namespace xbond::bpf::test {

Object make_program(std::span<const uint8_t> bytes, const Making& making) {
  return Object::of("made", Maker::maps(), {{.name = "made", .section = "xdp", .insns = Maker(bytes, making).make()}});
}

std::string listing(const Object& object) {
  const auto& code = object.programs().front().insns;
  std::string text;
  for (size_t i = 0; i < code.size(); i += isa::is_wide(code[i]) ? 2 : 1)
    text += fmt::format("{}: {}\n", i, disassemble(code, i, [](uint32_t map) { return fmt::format("map{}", map); }));
  return text;
}

Code Maker::make() {
  emit(movr(6, 1));
  emit(store_imm(BPF_DW, 10, kSum, 0));
  write_words();
  emit(wide(9, choose_.number64()));
  emit(mov(0, choose_.byte()));
  emit(mov(5, choose_.byte()));
  load_packet();
  emit(load(BPF_DW, 9, 7, choose_.below(static_cast<unsigned>(checked_ - 7))));
  const unsigned parts = 3 + choose_.below(14);
  for (unsigned i = 0; i < parts; ++i) part(0);
  sum_up(0);
  sum_up(9);
  for (const auto jump : to_end_) land(jump);
  emit(load(BPF_DW, 0, 10, kSum));
  emit(leave());
  functions();
  return code_;
}

// The sum depends on the number and on all before it.
void Maker::sum_up(int reg) {
  const int free = reg == 1 ? 2 : 1;
  emit(load(BPF_DW, free, 10, kSum));
  emit(alu(BPF_MUL, free, 33));
  emit(alur(BPF_XOR, free, reg));
  emit(store(BPF_DW, 10, kSum, free));
}

void Maker::part(unsigned depth) {
  static constexpr Part kNumbers[] = {&Maker::arithmetic, &Maker::arithmetic, &Maker::unary, &Maker::copy,
                                      &Maker::probe,      &Maker::probe,      &Maker::spill};
  static constexpr Part kOthers[] = {&Maker::packet,
                                     &Maker::packet_at_variable,
                                     &Maker::packet_spilled,
                                     &Maker::metadata,
                                     &Maker::stack_at_variable,
                                     &Maker::map_value,
                                     &Maker::map_value,
                                     &Maker::global,
                                     &Maker::constant,
                                     &Maker::record,
                                     &Maker::lock,
                                     &Maker::atomics,
                                     &Maker::change_map,
                                     &Maker::clocks,
                                     &Maker::move_frame,
                                     &Maker::checksum,
                                     &Maker::copy_bytes,
                                     &Maker::call_function,
                                     &Maker::call_back};
  const auto kind = choose_.below(depth < 3 ? 16 : 13);
  if (kind < 7) return (this->*choose_.of(kNumbers))();
  if (kind < 13) return (this->*choose_.of(kOthers))();
  if (kind == 13) return loop(depth);
  if (kind == 14) return choose_.one_in(2) ? loop_to_variable(depth) : either(depth);
  either(depth);
}

void Maker::arithmetic() {
  const int op = choose_.of({BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR,
                             BPF_ARSH, BPF_AND, BPF_RSH, BPF_ADD});
  const bool is_wide = choose_.below(3) != 0;
  const int base = is_wide ? BPF_ALU64 : BPF_ALU;
  const bool divides = op == BPF_DIV || op == BPF_MOD;
  const int is_signed = divides && making_.newest && choose_.one_in(3) ? 1 : 0;
  const int dst = number();
  if (choose_.below(3) == 0) return emit(insn(base | op | BPF_X, dst, number(), is_signed, 0));
  auto imm = static_cast<int32_t>(choose_.edge());
  if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) imm &= is_wide ? 63 : 31;
  if (divides && imm == 0) imm = 3;
  emit(insn(base | op | BPF_K, dst, 0, is_signed, imm));
}

void Maker::unary() {
  const int dst = number();
  const int bits = 16 << choose_.below(3);
  switch (choose_.below(4)) {
    case 0:
      return emit(insn((choose_.below(2) ? BPF_ALU64 : BPF_ALU) | BPF_NEG, dst, 0, 0, 0));
    case 1:
      return emit(insn(BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, bits));
    case 2:
      return emit(insn(BPF_ALU | BPF_END | BPF_TO_LE, dst, 0, 0, bits));
    default:
      emit(insn((making_.newest ? BPF_ALU64 : BPF_ALU) | BPF_END, dst, 0, 0, bits));
  }
}

void Maker::copy() {
  const int dst = number();
  const int src = number();
  const bool is_wide = choose_.below(3) != 0;
  const int extend = making_.newest && choose_.one_in(3) ? 8 << choose_.below(is_wide ? 3 : 2) : 0;
  if (choose_.one_in(4)) return emit(wide(dst, static_cast<uint64_t>(choose_.edge())));
  emit(insn((is_wide ? BPF_ALU64 : BPF_ALU) | BPF_MOV | BPF_X, dst, src, extend, 0));
}

bpf_insn Maker::comparison(int a) {
  const int op = choose_.of(
      {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE});
  const int kind = choose_.below(2) ? BPF_JMP : BPF_JMP32;
  if (choose_.below(3) == 0) return insn(kind | op | BPF_X, a, number(), 0, 0);
  return insn(kind | op | BPF_K, a, 0, 0, static_cast<int32_t>(choose_.edge()));
}

// Which way a comparison goes is part of the sum; each way has an instruction of its own.
void Maker::probe() {
  const auto taken = forward(comparison(number()));
  emit(mov(1, choose_.byte()));
  const auto on = forward(go(0));
  land(taken);
  emit(mov(1, choose_.byte()));
  land(on);
  sum_up(1);
}

// r9 is below `limit` (a power of two) afterwards; by mistake, not quite.
void Maker::bound(int limit) {
  if (mistake()) limit *= 2;
  switch (choose_.below(5)) {
    case 0:
      return emit(alu(BPF_AND, 9, limit - 1));
    case 1:
      return emit(insn(BPF_ALU | BPF_AND | BPF_K, 9, 0, 0, limit - 1));
    case 2:
      emit(alu(BPF_RSH, 9, choose_.below(8)));
      return emit(alu(BPF_MOD, 9, limit));
    case 3:
      if (in_function_) return emit(alu(BPF_AND, 9, limit - 1));
      emit(alu(BPF_AND, 9, limit * 4 - 1));
      return leave_when(jump(BPF_JGT, 9, limit - 1, 0));
    default:
      if (in_function_) return emit(alu(BPF_AND, 9, limit - 1));
      emit(alu(BPF_ARSH, 9, 50));
      leave_when(jump(BPF_JSLT, 9, mistake() ? -1 : 0, 0));
      leave_when(jump(BPF_JSGE, 9, limit, 0));
  }
}

void Maker::either(unsigned depth) {
  const auto skip = forward(comparison(number()));
  const auto before = checked_;
  part(depth + 1);
  checked_ = std::min(before, checked_);
  if (!choose_.one_in(2)) return land(skip);
  const auto on = forward(go(0));
  land(skip);
  const auto after = checked_;
  checked_ = before;
  part(depth + 1);
  checked_ = std::min(after, checked_);
  land(on);
}

void Maker::loop(unsigned depth) {
  const int counter = kCounters - 8 * static_cast<int>(depth);
  emit(store_imm(BPF_DW, 10, counter, 0));
  const auto start = code_.size();
  part(depth + 1);
  emit(load(BPF_DW, 1, 10, counter));
  emit(alu(BPF_ADD, 1, 1));
  emit(store(BPF_DW, 10, counter, 1));
  emit(jump(BPF_JLT, 1, 1 + choose_.below(8), static_cast<int>(start) - static_cast<int>(code_.size()) - 1));
}

// As many turns as a number says, which is below 8
void Maker::loop_to_variable(unsigned depth) {
  if (depth != 0) return loop(depth);
  emit(movr(1, number()));
  emit(alu(BPF_AND, 1, 7));
  emit(store(BPF_DW, 10, kCounters - 32, 1));
  emit(store_imm(BPF_DW, 10, kCounters, 0));
  const auto start = code_.size();
  emit(load(BPF_DW, 1, 10, kCounters));
  emit(load(BPF_DW, 2, 10, kCounters - 32));
  const auto out = forward(jumpr(BPF_JGE, 1, 2, 0));
  emit(alu(BPF_ADD, 1, 1));
  emit(store(BPF_DW, 10, kCounters, 1));
  part(2);
  emit(go(static_cast<int>(start) - static_cast<int>(code_.size()) - 1));
  land(out);
}

}  // namespace xbond::bpf::test
