// The loop. Threaded code: each instruction jumps to the next one's label, so that the processor predicts each by what
// came before it.
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "bpf_compat/engine/arithmetic.hpp"
#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/helper.hpp"

// Labels as values are an extension of both compilers
#pragma GCC diagnostic ignored "-Wpedantic"

// A program's races on map values are its own, as in the kernel: the sanitizer is not to see them. What control does to
// the same values it does by relaxed atomics.
#define XBOND_NO_RACE_CHECK __attribute__((no_sanitize("thread")))

namespace xbond::bpf {
namespace {

using namespace arithmetic;  // NOLINT(google-build-using-namespace): the instructions' names

// A loaded value as a register holds it: signed ones (BPF_MEMSX) with their sign.
template <class T>
uint64_t extended(T value) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(int64_t{value});
  } else {
    return value;
  }
}

template <class T>
XBOND_NO_RACE_CHECK T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
XBOND_NO_RACE_CHECK void store(std::byte* to, uint64_t value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(to, &narrow, sizeof(T));
}

std::byte* bytes_at(uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): r10 and a checked offset
}

// A field of struct xdp_md as the kernel loads it: positions are pointers, 64 bits wide.
uint64_t context_field(const Run& run, uint64_t offset) {
  const auto& frame = *run.frame;
  switch (offset) {
    case offsetof(xdp_md, data):
      return reinterpret_cast<uintptr_t>(frame.data);
    case offsetof(xdp_md, data_end):
      return reinterpret_cast<uintptr_t>(frame.data_end);
    case offsetof(xdp_md, data_meta):
      return reinterpret_cast<uintptr_t>(frame.data_meta);
    case offsetof(xdp_md, ingress_ifindex):
      return frame.ingress_ifindex;
    case offsetof(xdp_md, rx_queue_index):
      return frame.rx_queue_index;
    default:
      return frame.egress_ifindex;
  }
}

constexpr uint32_t kNoEntry = ~uint32_t{0};

template <class T>
T* atomic_target(Run& run, uint64_t address) {
  return reinterpret_cast<T*>(run.atomic(address, sizeof(T)));
}

// All atomics but the plain additions. False when the access broke a rule.
template <class T>
bool atomic_operation(Run& run, const Decoded& op, uint64_t* r) {
  const auto operation = static_cast<uint32_t>(op.imm);
  const bool is_load = operation == isa::kLoadAcquire;
  auto* target = atomic_target<T>(run, r[is_load ? op.src : op.dst] + static_cast<int64_t>(op.off));
  if (!target) return false;
  const std::atomic_ref cell(*target);
  const T operand = static_cast<T>(r[op.src]);
  switch (operation) {
    case isa::kLoadAcquire:
      r[op.dst] = cell.load(std::memory_order_acquire);
      return true;
    case isa::kStoreRelease:
      cell.store(operand, std::memory_order_release);
      return true;
    case BPF_ADD | BPF_FETCH:
      r[op.src] = cell.fetch_add(operand);
      return true;
    case BPF_AND:
      cell.fetch_and(operand);
      return true;
    case BPF_AND | BPF_FETCH:
      r[op.src] = cell.fetch_and(operand);
      return true;
    case BPF_OR:
      cell.fetch_or(operand);
      return true;
    case BPF_OR | BPF_FETCH:
      r[op.src] = cell.fetch_or(operand);
      return true;
    case BPF_XOR:
      cell.fetch_xor(operand);
      return true;
    case BPF_XOR | BPF_FETCH:
      r[op.src] = cell.fetch_xor(operand);
      return true;
    case BPF_XCHG:
      r[op.src] = cell.exchange(operand);
      return true;
    default: {  // BPF_CMPXCHG: r0 gets what was there, whether it matched or not
      T expected = static_cast<T>(r[0]);
      cell.compare_exchange_strong(expected, operand);
      r[0] = expected;
      return true;
    }
  }
}

bool atomic_any(Run& run, const Decoded& op, uint64_t* r) {
  switch (op.imm >> kAtomicBytesShift) {
    case 1:
      return atomic_operation<uint8_t>(run, op, r);
    case 2:
      return atomic_operation<uint16_t>(run, op, r);
    case 4:
      return atomic_operation<uint32_t>(run, op, r);
    default:
      return atomic_operation<uint64_t>(run, op, r);
  }
}

// What a call keeps for its return.
struct Caller {
  std::array<uint64_t, 4> kept;  // r6 … r9
  const Decoded* next;
  const Decoded* code;  // of the caller, whose function may have made a tail call
  const Unit* unit;
};

// Where a run begins: a program with the context, or a function that a helper calls back.
struct Entry {
  const Decoded* code;
  const Decoded* first;
  std::array<uint64_t, 4> arguments;
  std::span<std::byte> stack;  // its frame at the end
  int64_t executed;
};

// NOLINTBEGIN(bugprone-macro-parentheses): names and types can't stand in parentheses
XBOND_NO_RACE_CHECK uint64_t interpret_from(const Entry& entry, Run& run, uint32_t& fault_at) noexcept {
  static constexpr auto kLabelCount = static_cast<size_t>(Op::leave) + 1;
  static const std::array<const void*, kLabelCount> kLabels = {
#define XBOND_LABEL(name) &&name##64k, &&name##64x, &&name##32k, &&name##32x,
      XBOND_BPF_ALU(XBOND_LABEL) XBOND_BPF_JUMPS(XBOND_LABEL)
#undef XBOND_LABEL
#define XBOND_LABEL(name, type) &&name,
          XBOND_BPF_LOADS(XBOND_LABEL)
#undef XBOND_LABEL
#define XBOND_LABEL(name, type) &&name##_stack,
              XBOND_BPF_STACK_LOADS(XBOND_LABEL)
#undef XBOND_LABEL
#define XBOND_LABEL(name, type) &&name##k, &&name##x, &&name##k_stack, &&name##x_stack,
                  XBOND_BPF_STORES(XBOND_LABEL)
#undef XBOND_LABEL
#define XBOND_LABEL(name) &&name,
                      XBOND_BPF_OTHERS(XBOND_LABEL)
#undef XBOND_LABEL
  };

  std::array<uint64_t, 11> registers{};
  uint64_t* const r = registers.data();
  std::array<Caller, isa::kMaxFrames> callers;
  size_t depth = 0;
  const auto stack_top = reinterpret_cast<uintptr_t>(entry.stack.data()) + entry.stack.size();
  const size_t frames = entry.stack.size() / isa::kFrameBytes;
  std::copy(entry.arguments.begin(), entry.arguments.end(), r + 1);
  r[10] = stack_top;

  // Executed so far = position - start - distance jumped, so that only jumps pay for counting. Jumps back and calls
  // compare; what goes forward ends by itself.
  const Decoded* code = entry.code;
  const Decoded* pc = entry.first;
  int64_t jumped = pc - code - entry.executed;

#define NEXT()                                  \
  do {                                          \
    ++pc;                                       \
    goto* kLabels[static_cast<size_t>(pc->op)]; \
  } while (false)
#define JUMP()                                                               \
  do {                                                                       \
    jumped += pc->off;                                                       \
    if (pc->off < 0 && pc - code - jumped > kInstructionBudget) [[unlikely]] \
      goto out_of_budget;                                                    \
    pc += pc->off;                                                           \
    NEXT();                                                                  \
  } while (false)
#define DST r[pc->dst]
#define SRC r[pc->src]
#define ADDRESS(base) (r[base] + static_cast<uint64_t>(static_cast<int64_t>(pc->off)))

  goto* kLabels[static_cast<size_t>(pc->op)];

#define XBOND_CODE(name)                                                                        \
  name##64k : DST = name<uint64_t>(DST, pc->imm);                                               \
  NEXT();                                                                                       \
  name##64x : DST = name<uint64_t>(DST, SRC);                                                   \
  NEXT();                                                                                       \
  name##32k : DST = name<uint32_t>(static_cast<uint32_t>(DST), static_cast<uint32_t>(pc->imm)); \
  NEXT();                                                                                       \
  name##32x : DST = name<uint32_t>(static_cast<uint32_t>(DST), static_cast<uint32_t>(SRC));     \
  NEXT();
  XBOND_BPF_ALU(XBOND_CODE)
#undef XBOND_CODE

#define XBOND_CODE(name)                                                                              \
  name##64k : if (name<uint64_t>(DST, pc->imm)) JUMP();                                               \
  NEXT();                                                                                             \
  name##64x : if (name<uint64_t>(DST, SRC)) JUMP();                                                   \
  NEXT();                                                                                             \
  name##32k : if (name<uint32_t>(static_cast<uint32_t>(DST), static_cast<uint32_t>(pc->imm))) JUMP(); \
  NEXT();                                                                                             \
  name##32x : if (name<uint32_t>(static_cast<uint32_t>(DST), static_cast<uint32_t>(SRC))) JUMP();     \
  NEXT();
  XBOND_BPF_JUMPS(XBOND_CODE)
#undef XBOND_CODE

#define XBOND_CODE(name, type)                                       \
  name : {                                                           \
    const auto* from = run.readable(ADDRESS(pc->src), sizeof(type)); \
    if (!from) [[unlikely]]                                          \
      goto broken;                                                   \
    DST = extended(load<type>(from));                                \
    NEXT();                                                          \
  }
  XBOND_BPF_LOADS(XBOND_CODE)
#undef XBOND_CODE

#define XBOND_CODE(name, type)                                      \
  name##_stack : DST = extended(load<type>(bytes_at(ADDRESS(10)))); \
  NEXT();
  XBOND_BPF_STACK_LOADS(XBOND_CODE)
#undef XBOND_CODE

#define XBOND_CODE(name, type)                                 \
  name##k : {                                                  \
    auto* to = run.writable(ADDRESS(pc->dst), sizeof(type));   \
    if (!to) [[unlikely]]                                      \
      goto broken;                                             \
    store<type>(to, pc->imm);                                  \
    NEXT();                                                    \
  }                                                            \
  name##x : {                                                  \
    auto* to = run.writable(ADDRESS(pc->dst), sizeof(type));   \
    if (!to) [[unlikely]]                                      \
      goto broken;                                             \
    store<type>(to, SRC);                                      \
    NEXT();                                                    \
  }                                                            \
  name##k_stack : store<type>(bytes_at(ADDRESS(10)), pc->imm); \
  NEXT();                                                      \
  name##x_stack : store<type>(bytes_at(ADDRESS(10)), SRC);     \
  NEXT();
  XBOND_BPF_STORES(XBOND_CODE)
#undef XBOND_CODE

load32 : {
  const auto address = ADDRESS(pc->src);
  if (run.in_context(address)) {
    const auto offset = address - run.context();
    if (offset % sizeof(uint32_t) != 0) {
      run.fail(Fault::context);
      goto broken;
    }
    DST = context_field(run, offset);
    NEXT();
  }
  const auto* from = run.readable(address, sizeof(uint32_t));
  if (!from) [[unlikely]]
    goto broken;
  DST = load<uint32_t>(from);
  NEXT();
}

neg64:
  DST = uint64_t{0} - DST;
  NEXT();
neg32:
  DST = static_cast<uint32_t>(0U - static_cast<uint32_t>(DST));
  NEXT();
extend64_8:
  DST = sign_extend<uint64_t, int8_t>(SRC);
  NEXT();
extend64_16:
  DST = sign_extend<uint64_t, int16_t>(SRC);
  NEXT();
extend64_32:
  DST = sign_extend<uint64_t, int32_t>(SRC);
  NEXT();
extend32_8:
  DST = sign_extend<uint32_t, int8_t>(static_cast<uint32_t>(SRC));
  NEXT();
extend32_16:
  DST = sign_extend<uint32_t, int16_t>(static_cast<uint32_t>(SRC));
  NEXT();
cut16:
  DST = static_cast<uint16_t>(DST);
  NEXT();
cut32:
  DST = static_cast<uint32_t>(DST);
  NEXT();
nothing:
  NEXT();
swap16:
  DST = __builtin_bswap16(static_cast<uint16_t>(DST));
  NEXT();
swap32:
  DST = __builtin_bswap32(static_cast<uint32_t>(DST));
  NEXT();
swap64:
  DST = __builtin_bswap64(DST);
  NEXT();

atomic_add64 : {
  auto* target = atomic_target<uint64_t>(run, ADDRESS(pc->dst));
  if (!target) goto broken;
  std::atomic_ref(*target).fetch_add(SRC);
  NEXT();
}
atomic_add32 : {
  auto* target = atomic_target<uint32_t>(run, ADDRESS(pc->dst));
  if (!target) goto broken;
  std::atomic_ref(*target).fetch_add(static_cast<uint32_t>(SRC));
  NEXT();
}
atomic:
  if (!atomic_any(run, *pc, r)) goto broken;
  NEXT();

jump:
  JUMP();

call : {
  // check_code has seen to it that no chain of calls is deeper than the stack
  auto& caller = callers[depth++];
  caller = {{r[6], r[7], r[8], r[9]}, pc + 1, code, run.unit};
  r[10] -= isa::kFrameBytes;
  run.stack.low -= isa::kFrameBytes;
  run.stack.size += isa::kFrameBytes;
  jumped += pc->off;
  if (pc - code - jumped > kInstructionBudget) [[unlikely]]
    goto out_of_budget;
  pc += pc->off;
  NEXT();
}

helper:
  r[0] = reinterpret_cast<HelperCall>(pc->imm)(run, r);  // NOLINT(performance-no-int-to-ptr): decode() put it there
  if (run.fault != Fault::none) [[unlikely]]
    goto broken;
  NEXT();

map_lookup : {
  const auto* map = run.map(r[1]);
  if (!map) [[unlikely]] {
    run.fail(Fault::helper_map);
    goto broken;
  }
  if (!map->is_array()) goto helper;
  const auto* key = run.readable(r[2], sizeof(uint32_t));
  if (!key) [[unlikely]] {
    run.fail(Fault::helper_read);
    goto broken;
  }
  const auto index = load<uint32_t>(key);
  r[0] = index < map->max_entries ? run.found(*map, map->value(index, run.cpu)) : 0;
  NEXT();
}

tail_call : {
  if (r[1] != run.context()) [[unlikely]] {
    run.fail(Fault::helper_context);
    goto broken;
  }
  const auto* map = run.map(r[2]);
  if (!map || map->map->spec().type != BPF_MAP_TYPE_PROG_ARRAY) [[unlikely]] {
    run.fail(Fault::helper_map);
    goto broken;
  }
  const auto* target = run.tail_target(*map, r[3]);
  if (!target) NEXT();
  if (depth + target->frames > frames) [[unlikely]] {
    run.fail(Fault::frames);
    goto broken;
  }
  const auto executed = pc - code - jumped;
  if (executed > kInstructionBudget) [[unlikely]]
    goto out_of_budget;
  run.use(target);
  code = pc = target->code;
  jumped = -executed;
  r[1] = run.context();
  goto* kLabels[static_cast<size_t>(pc->op)];
}

callback_helper : {
  // The frames that callbacks use lie below this one
  run.nested.code = code;
  run.nested.stack = entry.stack.first((frames - depth - 1) * isa::kFrameBytes);
  run.nested.executed = pc - code - jumped;
  r[0] = reinterpret_cast<HelperCall>(pc->imm)(run, r);  // NOLINT(performance-no-int-to-ptr): decode() put it there
  if (run.fault != Fault::none) [[unlikely]] {
    if (run.nested.fault_at == kNoEntry) goto broken;
    fault_at = run.nested.fault_at;
    return XDP_ABORTED;
  }
  jumped = pc - code - run.nested.executed;
  NEXT();
}

leave : {
  if (depth == 0) {
    run.nested.executed = pc - code - jumped;
    return r[0];
  }
  const auto& caller = callers[--depth];
  r[6] = caller.kept[0];
  r[7] = caller.kept[1];
  r[8] = caller.kept[2];
  r[9] = caller.kept[3];
  r[10] += isa::kFrameBytes;
  run.stack.low += isa::kFrameBytes;
  run.stack.size -= isa::kFrameBytes;
  // A return is a jump too
  jumped += caller.next - (pc + 1);
  pc = caller.next - 1;
  if (caller.code != code) [[unlikely]] {
    // The function ended in another program
    jumped += code - caller.code;
    code = caller.code;
    run.use(caller.unit);
  }
  NEXT();
}

out_of_budget:
  run.fail(Fault::budget);
broken:
  fault_at = static_cast<uint32_t>(pc - code);
  return XDP_ABORTED;

#undef NEXT
#undef JUMP
#undef DST
#undef SRC
#undef ADDRESS
}
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace

uint64_t interpret(const Decoded* code, Run& run, std::span<std::byte> stack, uint32_t& fault_at) noexcept {
  run.stack = {reinterpret_cast<uintptr_t>(stack.data()) + stack.size() - isa::kFrameBytes, isa::kFrameBytes};
  return interpret_from({code, code, {run.context(), 0, 0, 0}, stack, 0}, run, fault_at);
}

uint64_t Run::call_back(uint64_t function, std::array<uint64_t, 4> arguments, bool& ok) {
  if (native_call) {
    const auto r0 = native_call(native, function, arguments);
    ok = fault == Fault::none;
    return r0;
  }
  ok = false;
  const auto here = nested;
  nested.fault_at = kNoEntry;
  const uint64_t offset = function - reinterpret_cast<uintptr_t>(here.code);
  const auto index = static_cast<uint32_t>(offset / sizeof(Decoded));
  if (!unit || unit->code != here.code || offset % sizeof(Decoded) != 0 || offset / sizeof(Decoded) > UINT32_MAX ||
      !std::ranges::binary_search(unit->callbacks, index))
    return fail(Fault::helper_function);
  if (here.stack.size() < isa::kFrameBytes) return fail(Fault::frames);
  // A function without a jump back would never be asked
  if (here.executed > kInstructionBudget) return fail(Fault::budget);
  const auto* caller = unit;
  stack.low -= isa::kFrameBytes;
  stack.size += isa::kFrameBytes;
  uint32_t fault_entry = kNoEntry;
  const auto r0 =
      interpret_from({here.code, here.code + index, arguments, here.stack, here.executed}, *this, fault_entry);
  const auto executed = nested.executed;
  nested = here;
  if (fault != Fault::none) {
    nested.fault_at = fault_entry;
    return 0;
  }
  nested.fault_at = kNoEntry;
  nested.executed = executed;
  use(caller);
  stack.low += isa::kFrameBytes;
  stack.size -= isa::kFrameBytes;
  ok = true;
  return r0;
}

}  // namespace xbond::bpf
