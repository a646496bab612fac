// The maker's insides. program_maker.cpp: the program's frame, numbers and branches; maker_memory.cpp: packet, stack
// and map values; maker_calls.cpp: helpers and functions of the program.
//
// Registers: r6 the context (in a function: a pointer that it got), r7 data, with `checked_` bytes there; r8 data_end;
// r0, r5 and r9 numbers. Stack: fp-8 the sum of all that was computed; fp-16 to fp-80 eight written words; from fp-88
// on counters of loops; fp-128 to fp-113 a key; fp-136 a pointer.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tests/made/choices.hpp"
#include "tests/made/instructions.hpp"
#include "tests/made/program_maker.hpp"

namespace xbond::bpf::test {

class Maker {
 public:
  Maker(std::span<const uint8_t> bytes, const Making& making) : choose_(bytes), making_(making) {}

  Code make();
  static std::vector<MapSpec> maps();

 private:
  static constexpr int kSum = -8, kWords = -80, kCounters = -88, kKey = -128, kPointer = -136;

  using Part = void (Maker::*)();

  // --- common
  bool mistake() { return choose_.below(251) == 1; }
  void emit(const bpf_insn& one) { code_.push_back(one); }
  void emit(const Code& many) { code_.insert(code_.end(), many.begin(), many.end()); }
  size_t forward(const bpf_insn& jump) {  // its target comes with land()
    emit(jump);
    return code_.size() - 1;
  }
  void land(size_t jump) { code_[jump].off = static_cast<int16_t>(code_.size() - jump - 1); }
  void leave_when(const bpf_insn& jump) { to_end_.push_back(forward(jump)); }
  int number() { return choose_.of({0, 5, 9}); }
  int size() {
    width_ = 1 << choose_.below(4);
    return size_code();
  }
  [[nodiscard]] int size_code() const {
    return width_ == 1 ? BPF_B : width_ == 2 ? BPF_H : width_ == 4 ? BPF_W : BPF_DW;
  }
  // An offset at which `width_` bytes fit into `bytes`, or, by mistake, one beyond
  int fitting(int bytes) {
    return mistake() ? bytes - width_ + 1 : static_cast<int>(choose_.below(static_cast<unsigned>(bytes - width_ + 1)));
  }
  void sum_up(int reg);
  void part(unsigned depth);

  // --- numbers and branches
  void arithmetic();
  void unary();
  void copy();
  void probe();
  bpf_insn comparison(int a);
  void bound(int limit);
  void either(unsigned depth);
  void loop(unsigned depth);
  void loop_to_variable(unsigned depth);

  // --- memory
  void touch(int base, int off);
  void load_packet();
  void packet();
  void packet_at_variable();
  void packet_spilled();
  void metadata();
  void spill();
  void stack_at_variable();
  void write_words();
  void map_value();
  void global();
  void constant();
  void value(int bytes);
  void record();
  void lock();
  void atomics();

  // --- calls
  void look_up(int map);
  void key(int bytes);
  void change_map();
  void after_call();
  void clocks();
  void move_frame();
  void checksum();
  void copy_bytes();
  void call_function();
  void call_back();
  void functions();
  void function_body();

  Choices choose_;
  Making making_;
  Code code_;
  std::vector<size_t> to_end_;
  std::vector<size_t> calls_;      // of the function
  std::vector<size_t> callbacks_;  // constants that are the function for bpf_loop
  bool in_function_ = false;
  int checked_ = 0;
  int width_ = 1;
};

}  // namespace xbond::bpf::test
