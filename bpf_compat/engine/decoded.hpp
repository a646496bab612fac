// The interpreter's form of a program: one entry an instruction, what can be known before a run already done. Opcodes
// are dense numbers for the jump table; offsets of jumps count entries; stack accesses by r10 are checked here for
// good.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bpf_compat/engine/bound_map.hpp"
#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// Two operands, in the forms K (constant) and X (register), 64 and 32 bits wide.
#define XBOND_BPF_ALU(X) \
  X(add)                 \
  X(sub)                 \
  X(mul)                 \
  X(div)                 \
  X(mod)                 \
  X(sdiv)                \
  X(smod)                \
  X(bit_or)              \
  X(bit_and)             \
  X(bit_xor)             \
  X(lsh)                 \
  X(rsh)                 \
  X(arsh)                \
  X(mov)

// Comparisons, likewise.
#define XBOND_BPF_JUMPS(X) \
  X(jeq)                   \
  X(jne)                   \
  X(jgt)                   \
  X(jge)                   \
  X(jlt)                   \
  X(jle)                   \
  X(jset)                  \
  X(jsgt)                  \
  X(jsge)                  \
  X(jslt)                  \
  X(jsle)

// Loads: name, type in memory, type whose conversion to 64 bits extends it. `_stack` forms have r10 as their base.
#define XBOND_BPF_LOADS(X) \
  X(load8, uint8_t)        \
  X(load16, uint16_t)      \
  X(load64, uint64_t)      \
  X(loads8, int8_t)        \
  X(loads16, int16_t)      \
  X(loads32, int32_t)
// A 32-bit load may also be one of the context.
#define XBOND_BPF_STACK_LOADS(X) XBOND_BPF_LOADS(X) X(load32, uint32_t)
#define XBOND_BPF_STORES(X) \
  X(store8, uint8_t)        \
  X(store16, uint16_t)      \
  X(store32, uint32_t)      \
  X(store64, uint64_t)

#define XBOND_BPF_OTHERS(X) \
  X(neg64)                  \
  X(neg32)                  \
  X(extend64_8)             \
  X(extend64_16)            \
  X(extend64_32)            \
  X(extend32_8)             \
  X(extend32_16)            \
  X(cut16)                  \
  X(cut32)                  \
  X(nothing)                \
  X(swap16)                 \
  X(swap32)                 \
  X(swap64)                 \
  X(load32)                 \
  X(atomic_add64)           \
  X(atomic_add32)           \
  X(atomic)                 \
  X(jump)                   \
  X(call)                   \
  X(helper)                 \
  X(map_lookup)             \
  X(tail_call)              \
  X(callback_helper)        \
  X(leave)

enum class Op : uint16_t {
#define XBOND_BPF_ENUM(name) name##64k, name##64x, name##32k, name##32x,
  XBOND_BPF_ALU(XBOND_BPF_ENUM) XBOND_BPF_JUMPS(XBOND_BPF_ENUM)
#undef XBOND_BPF_ENUM
#define XBOND_BPF_ENUM(name, type) name,
      XBOND_BPF_LOADS(XBOND_BPF_ENUM)
#undef XBOND_BPF_ENUM
#define XBOND_BPF_ENUM(name, type) name##_stack,
          XBOND_BPF_STACK_LOADS(XBOND_BPF_ENUM)
#undef XBOND_BPF_ENUM
#define XBOND_BPF_ENUM(name, type) name##k, name##x, name##k_stack, name##x_stack,
              XBOND_BPF_STORES(XBOND_BPF_ENUM)
#undef XBOND_BPF_ENUM
#define XBOND_BPF_ENUM(name) name,
                  XBOND_BPF_OTHERS(XBOND_BPF_ENUM)
#undef XBOND_BPF_ENUM
};

struct Decoded {
  Op op;
  uint8_t dst;
  uint8_t src;
  int32_t off;   // bytes for memory, entries for jumps and calls
  uint64_t imm;  // constant, sign-extended; map, value or helper address; atomic operation
};
static_assert(sizeof(Decoded) == 16);

// Marks 64-bit atomics in Decoded::imm, beside the operation.
inline constexpr uint64_t kAtomicBytesShift = 32;

struct DecodedCode {
  std::vector<Decoded> ops;
  std::vector<uint32_t> origin;     // the instruction that each entry was made of
  std::vector<uint32_t> callbacks;  // entries whose address the program takes, ascending
  bool traces = false;              // calls trace_printk
  bool tail_calls = false;          // other programs may run on in its place, on its stack
};

// `bound` by the object's map index, with null for maps that were not made. Precondition: check_code accepted `code`.
// Errors: ENOTSUP, EINVAL, beginning "instruction N: ".
Result<DecodedCode> decode(std::span<const bpf_insn> code, std::span<const BoundMap* const> bound);

}  // namespace xbond::bpf
