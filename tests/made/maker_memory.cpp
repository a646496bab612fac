// Parts that use the packet, the stack and values of maps.
#include "tests/made/maker.hpp"

namespace xbond::bpf::test {

namespace {

enum Map : uint8_t { kArray, kPerCpuArray, kHash, kGlobals, kConstants, kLruHash, kPerCpuHash, kRing, kLocked };

constexpr int kValueBytes[] = {64, 24, 40, 128, 32, 16, 16, 0, 16};

}  // namespace

std::vector<MapSpec> Maker::maps() {
  const auto map = [](const char* name, uint32_t type, uint32_t key, uint32_t value, uint32_t entries) {
    return MapSpec{.name = name, .type = type, .key_size = key, .value_size = value, .max_entries = entries};
  };
  auto constants = map(".rodata", BPF_MAP_TYPE_ARRAY, 4, 32, 1);
  constants.flags = BPF_F_RDONLY_PROG;
  constants.frozen = true;
  for (int i = 0; i < 32; ++i) constants.initial.push_back(static_cast<std::byte>(i * i * 37 >> 2));
  auto locked = map("locked", BPF_MAP_TYPE_ARRAY, 4, 16, 1);
  locked.spin_lock = 0;
  return {map("array", BPF_MAP_TYPE_ARRAY, 4, 64, 4),
          map("cpu_array", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 24, 2),
          map("hash", BPF_MAP_TYPE_HASH, 4, 40, 8),
          map("globals", BPF_MAP_TYPE_ARRAY, 4, 128, 1),
          std::move(constants),
          map("lru", BPF_MAP_TYPE_LRU_HASH, 12, 16, 8),
          map("cpu_hash", BPF_MAP_TYPE_PERCPU_HASH, 8, 16, 4),
          map("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096),
          std::move(locked)};
}

void Maker::write_words() {
  for (int at = kWords; at < kSum; at += 8)
    if (!mistake()) emit(store_imm(BPF_DW, 10, at, choose_.byte() - 32));
}

void Maker::touch(int base, int off) {
  const int bytes = size_code();
  switch (choose_.below(4)) {
    case 0:
      emit(store(bytes, base, off, number()));
      break;
    case 1:
      emit(store_imm(bytes, base, off, static_cast<int32_t>(choose_.edge())));
      break;
    case 2:
      if (making_.newest && width_ < 8) {
        emit(insn(BPF_LDX | bytes | 0x80, number(), base, off, 0));
        break;
      }
      [[fallthrough]];
    default:
      emit(load(bytes, number(), base, off));
  }
}

// Each form of the comparison, with the checked bytes on the way that goes on
void Maker::load_packet() {
  if (in_function_) return;
  emit(load(BPF_W, 7, 6, 0));
  emit(load(BPF_W, 8, 6, 4));
  checked_ = 8 + static_cast<int>(choose_.below(44));
  emit(movr(1, 7));
  emit(alu(BPF_ADD, 1, checked_));
  const auto leave_unless = [&](const bpf_insn& holds) {
    const auto on = forward(holds);
    leave_when(go(0));
    land(on);
  };
  switch (choose_.below(8)) {
    case 0:
      leave_when(jumpr(BPF_JGT, 1, 8, 0));
      break;
    case 1:
      leave_when(jumpr(BPF_JGE, 1, 8, 0));
      ++checked_;
      break;
    case 2:
      leave_when(jumpr(BPF_JLT, 8, 1, 0));
      break;
    case 3:
      leave_when(jumpr(BPF_JLE, 8, 1, 0));
      ++checked_;
      break;
    case 4:
      leave_unless(jumpr(BPF_JLE, 1, 8, 0));
      break;
    case 5:
      leave_unless(jumpr(BPF_JLT, 1, 8, 0));
      ++checked_;
      break;
    case 6:
      leave_unless(jumpr(BPF_JGE, 8, 1, 0));
      break;
    default:
      leave_unless(jumpr(BPF_JGT, 8, 1, 0));
      ++checked_;
  }
}

void Maker::packet() {
  size();
  touch(7, fitting(checked_));
}

void Maker::packet_at_variable() {
  bound(1 << choose_.below(6));
  emit(movr(2, 7));
  emit(alur(BPF_ADD, 2, 9));
  if (choose_.one_in(3)) emit(alu(BPF_ADD, 2, choose_.below(4)));
  size();
  const int bytes = width_ + static_cast<int>(choose_.below(8));
  emit(movr(3, 2));
  emit(alu(BPF_ADD, 3, bytes));
  const auto skip = forward(jumpr(BPF_JGT, 3, 8, 0));
  touch(2, fitting(bytes));
  if (choose_.one_in(2)) touch(2, fitting(bytes));
  land(skip);
}

void Maker::packet_spilled() {
  emit(store(BPF_DW, 10, kPointer, 7));
  if (choose_.one_in(2)) emit(movr(7, number()));
  if (mistake()) emit(store_imm(BPF_B, 10, kPointer, 1));
  part(3);
  // What a part that moves the frame left in r7 stays
  emit(load(BPF_DW, 4, 10, kPointer));
  emit(load(BPF_W, 7, 6, 0));
  emit(load(BPF_W, 8, 6, 4));
  emit(movr(1, 7));
  emit(alu(BPF_ADD, 1, checked_));
  leave_when(jumpr(BPF_JGT, 1, 8, 0));
}

void Maker::metadata() {
  emit(load(BPF_W, 1, 6, 8));
  emit(load(BPF_W, 2, 6, 0));
  emit(movr(3, 1));
  emit(alu(BPF_ADD, 3, 8));
  const auto skip = forward(jumpr(BPF_JGT, 3, 2, 0));
  size();
  touch(1, fitting(8));
  land(skip);
}

// Numbers that pass through the stack, whole and in parts
void Maker::spill() {
  const int word = kWords + 8 * static_cast<int>(choose_.below(9));
  const auto inside = [this] { return static_cast<int>(choose_.below(8U / static_cast<unsigned>(width_))) * width_; };
  int size_of = size();
  emit(store(size_of, 10, word + inside(), number()));
  if (choose_.one_in(3)) {
    size_of = size();
    emit(store_imm(size_of, 10, word + inside(), choose_.byte() & 1 ? 0 : static_cast<int32_t>(choose_.edge())));
  }
  if (choose_.below(2)) size();
  const bool sign = making_.newest && width_ < 8 && choose_.one_in(3);
  emit(
      insn(BPF_LDX | size_code() | (sign ? 0x80 : BPF_MEM), number(), 10, word + (choose_.below(2) ? inside() : 0), 0));
}

void Maker::stack_at_variable() {
  bound(64);
  emit(movr(2, 10));
  emit(alur(BPF_ADD, 2, 9));
  width_ = 1;
  touch(2, kWords - (mistake() ? 16 : 0));
}

void Maker::map_value() {
  const int map = choose_.of({kArray, kPerCpuArray, kHash, kLruHash, kPerCpuHash});
  look_up(map);
  emit(movr(3, 0));
  emit(mov(0, choose_.byte()));
  if (mistake()) return value(kValueBytes[map]);
  const bool stays = choose_.below(2);
  const auto null = stays ? forward(jump(BPF_JNE, 3, 0, 0)) : forward(jump(BPF_JEQ, 3, 0, 0));
  if (stays) {
    leave_when(go(0));
    land(null);
  }
  if (choose_.one_in(3)) {  // through the stack, over a call
    emit(store(BPF_DW, 10, kPointer, 3));
    clocks();
    emit(load(BPF_DW, 3, 10, kPointer));
  }
  value(kValueBytes[map]);
  if (!stays) land(null);
}

void Maker::global() {
  const unsigned at = choose_.below(64);
  emit(test::map_value(3, kGlobals, at));
  value(kValueBytes[kGlobals] - static_cast<int>(at));
}

void Maker::constant() {
  emit(test::map_value(3, kConstants, 0));
  size();
  if (mistake()) return touch(3, 0);
  emit(load(size_code(), number(), 3, fitting(kValueBytes[kConstants])));
}

// r3 points at so many bytes
void Maker::value(int bytes) {
  size();
  touch(3, fitting(bytes));
  if (bytes < 16 + 8 || choose_.below(2) == 0) return;
  bound(16);
  if (choose_.one_in(4)) {
    emit(alu(BPF_ADD, 3, 15));
    emit(alur(BPF_SUB, 3, 9));
  } else {
    emit(alur(BPF_ADD, 3, 9));
  }
  size();
  touch(3, fitting(bytes - 15));
}

void Maker::record() {
  emit(map_pointer(1, kRing));
  emit(mov(2, 24));
  emit(mov(3, 0));
  emit(call(BPF_FUNC_ringbuf_reserve));
  const auto null = forward(jump(BPF_JEQ, 0, 0, 0));
  emit(movr(1, 0));
  size();
  emit(store_imm(size_code(), 1, fitting(24), choose_.byte()));
  emit(mov(2, BPF_RB_NO_WAKEUP));
  if (!mistake()) emit(call(choose_.below(2) ? BPF_FUNC_ringbuf_submit : BPF_FUNC_ringbuf_discard));
  land(null);
  emit(mov(0, 0));
  emit(movr(5, 9));
}

void Maker::lock() {
  key(4);
  emit(store_imm(BPF_W, 10, kKey, 0));
  emit(map_pointer(1, kLocked));
  emit(call(BPF_FUNC_map_lookup_elem));
  const auto null = forward(jump(BPF_JEQ, 0, 0, 0));
  emit(store(BPF_DW, 10, kPointer, 0));
  emit(movr(1, 0));
  emit(call(BPF_FUNC_spin_lock));
  emit(load(BPF_DW, 3, 10, kPointer));
  emit(load(BPF_W, 4, 3, 8));
  emit(alu(BPF_ADD, 4, 1));
  emit(store(BPF_W, 3, mistake() ? 2 : 8, 4));
  emit(movr(1, 3));
  emit(call(BPF_FUNC_spin_unlock));
  land(null);
  emit(mov(0, 0));
  emit(movr(5, 9));
}

void Maker::atomics() {
  static constexpr int kPlain[] = {BPF_ADD, BPF_OR, BPF_AND, BPF_XOR};
  const bool fetches = choose_.below(2);
  const int op = fetches && choose_.one_in(3) ? choose_.of({BPF_XCHG, BPF_CMPXCHG})
                                              : choose_.of(kPlain) | (fetches ? BPF_FETCH : 0);
  width_ = choose_.below(2) ? 8 : 4;
  const int word = choose_.below(64U / static_cast<unsigned>(width_)) * width_;
  if (choose_.below(2)) {
    emit(atomic(size_code(), 10, kWords + word - (mistake() ? 2 : 0), number(), op));
  } else {
    emit(test::map_value(3, kGlobals, 0));
    emit(atomic(size_code(), 3, word + (mistake() ? 2 : 0), number(), op));
  }
}

}  // namespace xbond::bpf::test
