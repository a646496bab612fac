// Parts that call helpers, and functions of the program.
#include "tests/made/maker.hpp"

namespace xbond::bpf::test {

// Calls leave nothing in r1 to r5.
void Maker::after_call() {
  if (choose_.below(2))
    emit(movr(5, 9));
  else
    emit(mov(5, static_cast<int32_t>(choose_.edge())));
}

// A key of so many bytes in words, of a few values; r2 points at it.
void Maker::key(int bytes) {
  const bool whole = bytes == 8 && choose_.below(2);
  for (int at = 0; at < bytes; at += whole ? 8 : 4)
    emit(store_imm(whole ? BPF_DW : BPF_W, 10, kKey + at, choose_.below(3)));
  if (choose_.one_in(3)) {
    emit(movr(1, number()));
    emit(alu(BPF_AND, 1, 3));
    emit(store(BPF_W, 10, kKey, 1));
  }
  emit(movr(2, 10));
  emit(alu(BPF_ADD, 2, kKey + (mistake() ? 512 : 0)));
}

namespace {
constexpr int kKeyBytes[] = {4, 4, 4, 4, 4, 12, 8};
}

void Maker::look_up(int map) {
  key(kKeyBytes[map]);
  emit(map_pointer(1, static_cast<uint32_t>(map)));
  emit(call(BPF_FUNC_map_lookup_elem));
  emit(movr(5, 9));
}

void Maker::change_map() {
  const int map = choose_.of({0, 1, 2, 5, 6});
  key(kKeyBytes[map]);
  emit(map_pointer(1, static_cast<uint32_t>(map)));
  if (choose_.one_in(3)) {
    emit(call(BPF_FUNC_map_delete_elem));
  } else {
    // Values are up to 64 bytes; the written words have 72
    emit(movr(3, 10));
    emit(alu(BPF_ADD, 3, kWords + (mistake() ? 40 : 0)));
    emit(mov(4, choose_.below(4)));
    emit(call(BPF_FUNC_map_update_elem));
  }
  after_call();
}

void Maker::clocks() {
  static constexpr int kRepeatable[] = {BPF_FUNC_get_smp_processor_id};
  static constexpr int kAny[] = {BPF_FUNC_ktime_get_ns, BPF_FUNC_get_prandom_u32, BPF_FUNC_get_prandom_u32,
                                 BPF_FUNC_get_smp_processor_id};
  emit(call(making_.repeatable ? choose_.of(kRepeatable) : choose_.of(kAny)));
  if (choose_.below(2)) emit(movr(9, 0));
  emit(movr(5, 9));
}

void Maker::move_frame() {
  emit(movr(1, 6));
  if (choose_.below(2)) {
    emit(mov(2, int64_t{choose_.below(32)} - 16));
  } else {
    emit(movr(2, number()));
    emit(alu(BPF_AND, 2, 31));
    emit(alu(BPF_SUB, 2, 16));
  }
  emit(call(choose_.of({BPF_FUNC_xdp_adjust_head, BPF_FUNC_xdp_adjust_tail, BPF_FUNC_xdp_adjust_meta})));
  after_call();
  if (!mistake()) load_packet();
}

void Maker::checksum() {
  emit(movr(1, 10));
  emit(alu(BPF_ADD, 1, kWords));
  emit(mov(2, 4 * choose_.below(mistake() ? 40 : 17)));
  const bool from_packet = choose_.below(2);
  emit(movr(3, from_packet ? 7 : 10));
  if (!from_packet) emit(alu(BPF_ADD, 3, kWords));
  emit(movr(4, 9));
  emit(alu(BPF_AND, 4, from_packet ? 4 : 60));
  emit(mov(5, choose_.byte()));
  emit(call(BPF_FUNC_csum_diff));
  after_call();
}

void Maker::copy_bytes() {
  emit(movr(1, 6));
  emit(mov(2, choose_.below(64)));
  emit(movr(3, 10));
  emit(alu(BPF_ADD, 3, kWords));
  if (choose_.below(2)) {
    emit(mov(4, 1 + choose_.below(mistake() ? 100 : 72)));
  } else {
    emit(movr(4, number()));
    emit(alu(BPF_AND, 4, 63));
    emit(alu(BPF_ADD, 4, mistake() ? 0 : 1));
  }
  emit(call(choose_.below(2) ? BPF_FUNC_xdp_load_bytes : BPF_FUNC_xdp_store_bytes));
  after_call();
}

void Maker::call_function() {
  emit(movr(1, number()));
  emit(movr(2, 9));
  emit(movr(3, 10));
  emit(alu(BPF_ADD, 3, kWords + 8 * static_cast<int>(choose_.below(8))));
  calls_.push_back(code_.size());
  emit(call_local(0));
  after_call();
}

void Maker::call_back() {
  emit(movr(1, number()));
  emit(alu(BPF_AND, 1, 15));
  callbacks_.push_back(code_.size());
  emit(wide(2, 0, BPF_PSEUDO_FUNC));
  emit(movr(3, 10));
  emit(alu(BPF_ADD, 3, kWords + 8 * static_cast<int>(choose_.below(8))));
  emit(mov(4, 0));
  emit(call(BPF_FUNC_loop));
  after_call();
}

// Numbers alone, and the word that r6 points at
void Maker::function_body() {
  static constexpr Part kParts[] = {&Maker::arithmetic, &Maker::unary, &Maker::copy,
                                    &Maker::probe,      &Maker::spill, &Maker::global};
  emit(store_imm(BPF_DW, 10, kSum, 0));
  write_words();
  const unsigned parts = 1 + choose_.below(4);
  for (unsigned i = 0; i < parts; ++i) {
    (this->*choose_.of(kParts))();
    if (!choose_.one_in(3)) continue;
    size();
    touch(6, static_cast<int>(choose_.below(8U / static_cast<unsigned>(width_))) * width_);
  }
  sum_up(number());
  emit(load(BPF_DW, 0, 10, kSum));
}

void Maker::functions() {
  in_function_ = true;
  const auto begin = [&](const std::vector<size_t>& from) {
    for (const auto at : from) code_[at].imm = static_cast<int32_t>(code_.size() - at - 1);
  };
  if (!calls_.empty()) {
    begin(calls_);
    emit(Code{movr(0, 1), movr(9, 2), movr(6, 3)});
    emit(movr(5, 9));
    function_body();
    emit(leave());
  }
  if (!callbacks_.empty()) {
    begin(callbacks_);
    emit(Code{movr(9, 1), movr(6, 2), movr(0, 1)});
    emit(movr(5, 9));
    function_body();
    emit(alu(BPF_AND, 0, mistake() ? 2 : 1));
    if (choose_.below(2)) emit(mov(0, 0));
    emit(leave());
  }
}

}  // namespace xbond::bpf::test
