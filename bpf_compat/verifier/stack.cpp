// The stack: eight-byte slots that remember spilled registers, and bytes of which is known that they were written.
#include <fmt/format.h>

#include <algorithm>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

namespace {

constexpr std::string_view kStackAdvice = "a frame has 512 bytes, below r10; an index into it has to be bounded";
constexpr std::string_view kUnwrittenAdvice =
    "write the whole variable first, padding included ('= {0}' leaves padding; use memset)";

// A byte's place: [slot][byte] of the offset from the frame's end, which is below 0
size_t slot_of(int64_t offset) {
  return static_cast<size_t>((-offset - 1) / 8);
}
size_t byte_of(int64_t offset) {
  return static_cast<size_t>(7 - (-offset - 1) % 8);
}

// What of a slot was a spilled register is bytes from now on.
void forget_spill(Slot& slot) {
  if (slot.spilled == 0) return;
  for (auto& byte : slot.bytes)
    if (byte == Byte::spill) byte = Byte::any;
  slot.spilled = 0;
}

}  // namespace

Slot& Walk::slot(Frame& frame, int64_t offset) {
  const auto index = slot_of(offset);
  if (frame.stack.size() <= index) frame.stack.resize(index + 1);
  return frame.stack[index];
}

// Where an access to a stack begins. False: refused.
bool Walk::stack_place(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool aligned, int64_t& low,
                       int64_t& high) {
  low = reg.number.r64.smin + reg.offset + offset;
  high = reg.number.r64.smax + reg.offset + offset;
  if (low < -kFrameBytes || high + bytes > 0)
    return refuse(reg.number.is_constant()
                      ? fmt::format("invalid access to stack R{} off={} size={}", number, low, bytes)
                      : fmt::format("invalid variable-offset access to stack R{} min_off={} max_off={} size={}", number,
                                    low, high, bytes),
                  kStackAdvice);
  const auto place = reg.number.bits + Tnum::constant(static_cast<uint64_t>(int64_t{reg.offset} + offset));
  if (aligned && !place.is_aligned(bytes))
    return refuse(fmt::format("misaligned stack access off {} size {}", low, bytes),
                  "a stack access has to be aligned to its size");
  auto& frame = state_.frames[reg.frame];
  auto& depth = depth_[flow_.function_of[frame.function]];
  depth = std::max(depth, static_cast<uint16_t>(-low));
  return true;
}

// That all of [low, high) was written. Marks it as read.
bool Walk::readable(Frame& frame, int64_t low, int64_t high, unsigned number) {
  for (auto at = low; at < high; ++at) {
    const auto index = slot_of(at);
    if (index >= frame.stack.size() || frame.stack[index].bytes[byte_of(at)] == Byte::none)
      return refuse(fmt::format("invalid read from stack R{} off {}+{} size {}", number, low, at - low, high - low),
                    kUnwrittenAdvice);
    nodes_.mark_live(frame.stack[index].node);
  }
  return true;
}

bool Walk::load_stack(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool sign, Reg& out) {
  int64_t low = 0;
  int64_t high = 0;
  if (!stack_place(reg, number, offset, bytes, true, low, high)) return false;
  auto& frame = state_.frames[reg.frame];
  const unsigned bits = bytes * 8;
  const auto extended = [&](const Number& n) { return sign ? sign_extended(n, bits, true) : zero_extended(n, bits); };
  if (!readable(frame, low, high + bytes, number)) return false;
  out = Reg::scalar(extended(Number{}), nodes_.made_of(0));
  if (low != high) return true;
  auto& from = slot(frame, low);
  const auto first = byte_of(low);
  const auto all = [&](Byte kind) {
    return std::all_of(from.bytes.begin() + first, from.bytes.begin() + first + bytes,
                       [&](Byte b) { return b == kind; });
  };
  if (from.spilled != 0) nodes_.mark_live(from.reg.node);
  if (from.spilled != 0 && from.reg.is_pointer() && all(Byte::spill)) {
    if (bytes != 8 || sign) return refuse("corrupted spill memory", "a spilled pointer has to be read whole");
    out = from.reg;
  } else if (from.spilled != 0 && first == 0 && bytes <= from.spilled) {
    out = from.reg;
    const auto number_read = extended(from.reg.number);
    if (!(number_read == from.reg.number)) {
      out = Reg::scalar(number_read, nodes_.made_of(from.reg.node));
    } else if (sign || bytes < from.spilled) {
      // All that is known says that the cut changes nothing
      out.id = from.reg.number.is_constant() ? 0 : from.reg.id;
      const bool fits = sign ? from.reg.number.r64.smin >= -(int64_t{1} << (bits - 1)) &&
                                   from.reg.number.r64.smax < (int64_t{1} << (bits - 1))
                             : bits == 64 || from.reg.number.r64.umax < (uint64_t{1} << bits);
      if (!fits) out = Reg::scalar(number_read, nodes_.made_of(from.reg.node));
    }
  } else if (all(Byte::zero)) {
    out = Reg::scalar(Number::constant(0), nodes_.made_of(0));
  }
  return true;
}

// `value` is what the bytes get.
bool Walk::store_stack(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, const Reg& value) {
  int64_t low = 0;
  int64_t high = 0;
  if (!stack_place(reg, number, offset, bytes, true, low, high)) return false;
  auto& frame = state_.frames[reg.frame];
  if (value.is_pointer() && bytes != 8)
    return refuse("attempt to corrupt spilled pointer on stack", "a pointer has to be spilled whole");
  // It would outlive its frame
  if (value.kind == Kind::stack && reg.frame + 1U != state_.frames.size())
    return refuse("cannot spill pointers to stack into stack frame of the caller");
  if (low != high) {
    if (value.is_pointer()) return refuse(fmt::format("R{} spill of a pointer at a variable offset", number));
    write_any(frame, low, high + bytes, true);
    return true;
  }
  auto& to = slot(frame, low);
  const auto first = byte_of(low);
  if (bytes == 8 || to.node == 0) to.node = nodes_.made_of(0);
  if (first == 0 && (bytes == 8 || bytes >= to.spilled)) {
    // A register of its own
    if (to.spilled != 0) forget_spill(to);
    std::fill_n(to.bytes.begin(), bytes, Byte::spill);
    to.spilled = static_cast<uint8_t>(bytes);
    to.reg = value;
    if (bytes < 8) {
      const auto cut = zero_extended(value.number, bytes * 8);
      if (!(cut == value.number)) to.reg = Reg::scalar(cut, nodes_.made_of(value.node));
    }
    return true;
  }
  forget_spill(to);
  const bool zero = value.is_null();
  if (zero) precise(value);
  std::fill_n(to.bytes.begin() + static_cast<ptrdiff_t>(first), bytes, zero ? Byte::zero : Byte::any);
  return true;
}

// Some of [low, high) is written with what is not known.
void Walk::write_any(Frame& frame, int64_t low, int64_t high, bool keeps_value) {
  for (auto at = low; at < high; ++at) {
    auto& to = slot(frame, at);
    if (to.node == 0) to.node = nodes_.made_of(0);
    const auto byte = byte_of(at);
    // A byte that may or may not be written is still unwritten if it was
    const bool stays = keeps_value && to.bytes[byte] == Byte::none;
    forget_spill(to);
    if (!stays) to.bytes[byte] = Byte::any;
  }
}

// A helper reads or writes `bytes` from the pointer on.
bool Walk::read_stack(const Reg& reg, unsigned number, uint32_t bytes) {
  int64_t low = 0;
  int64_t high = 0;
  if (!stack_place(reg, number, 0, bytes, false, low, high)) return false;
  auto& frame = state_.frames[reg.frame];
  if (!readable(frame, low, high + bytes, number)) return false;
  for (auto at = low; at < high + bytes; ++at)
    if (auto& from = slot(frame, at); from.spilled != 0) {
      if (from.reg.is_pointer() && from.bytes[byte_of(at)] == Byte::spill)
        return refuse(fmt::format("R{} leaks addr: a pointer lies on the stack at off {}", number, at),
                      "a pointer can't be given to a helper as data");
      nodes_.mark_live(from.reg.node);
    }
  return true;
}

bool Walk::write_stack(const Reg& reg, unsigned number, uint32_t bytes) {
  int64_t low = 0;
  int64_t high = 0;
  if (!stack_place(reg, number, 0, bytes, false, low, high)) return false;
  write_any(state_.frames[reg.frame], low, high + bytes, low != high);
  return true;
}

}  // namespace xbond::bpf::verifier
