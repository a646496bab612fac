// What is known of a program's registers, stack frames, references and lock at one point of one way through it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpf_compat/verifier/nodes.hpp"
#include "bpf_compat/verifier/number.hpp"

namespace xbond::bpf::verifier {

enum class Kind : uint8_t {
  none,  // never written
  scalar,
  context,
  stack,
  packet,
  metadata,
  packet_end,
  map,  // a map itself
  map_value,
  map_key,
  record,    // ring buffer
  memory,    // what a global function got: `size` bytes
  function,  // of the program, for callbacks
};

// What comparisons told of a packet pointer beyond its range
inline constexpr int32_t kAtPacketEnd = -1;
inline constexpr int32_t kBeyondPacketEnd = -2;

struct Reg {
  Kind kind = Kind::none;
  bool maybe_null = false;
  bool inner = false;      // map, map_value: of the map's inner shape
  uint8_t frame = 0;       // stack: whose
  Number number;           // scalar: its value; pointers: the variable part of their position
  int32_t offset = 0;      // pointers: the constant part
  int32_t range = 0;       // packet, metadata: bytes from the pointer's base that are there; or one of the above
  uint32_t id = 0;         // scalars: equal ones; packet: pointers of one base; maybe null, map values: of one look-up
  uint32_t reference = 0;  // record: to give back
  uint32_t index = 0;      // map, map_value, map_key: the object's map index; function: its first instruction
  uint32_t size = 0;       // record, memory: bytes
  NodeId node = 0;

  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_pointer() const { return kind > Kind::scalar; }
  [[nodiscard]] bool is_packet() const { return kind == Kind::packet || kind == Kind::metadata; }
  [[nodiscard]] bool is_constant() const { return is_scalar() && number.is_constant(); }
  [[nodiscard]] bool is_null() const { return is_scalar() && number.is(0); }

  static Reg unknown(NodeId node = 0) {
    Reg reg;
    reg.kind = Kind::scalar;
    reg.node = node;
    return reg;
  }
  static Reg scalar(const Number& number, NodeId node = 0) {
    Reg reg = unknown(node);
    reg.number = number;
    return reg;
  }
  static Reg pointer(Kind kind) {
    Reg reg;
    reg.kind = kind;
    reg.number = Number::constant(0);
    return reg;
  }
};

// What one byte of the stack holds
enum class Byte : uint8_t { none, any, zero, spill };

// Eight bytes of a frame. A spilled register lies in the first `spilled` of them.
struct Slot {
  std::array<Byte, 8> bytes{};
  uint8_t spilled = 0;
  NodeId node = 0;  // of the slot as a place: live where it was read
  Reg reg;
};

struct Frame {
  std::array<Reg, 11> regs;
  std::vector<Slot> stack;  // from the frame's end downwards: [i] holds the bytes -8 * (i + 1) …
  uint32_t function = 0;    // its first instruction
  uint32_t return_to = 0;   // of a callback: the call of the helper, which comes again
  bool callback = false;
  uint32_t references = 0;  // of a callback: how many there were when it began
};

struct Lock {
  bool held = false;
  uint32_t index = 0;
  uint32_t id = 0;
  friend bool operator==(const Lock&, const Lock&) = default;
};

struct State {
  std::vector<Frame> frames;
  std::vector<uint32_t> references;
  Lock lock;

  Frame& frame() { return frames.back(); }
  [[nodiscard]] const Frame& frame() const { return frames.back(); }
  Reg& reg(unsigned number) { return frames.back().regs[number]; }

  // Calls `action` with each register, and with each register that lies on a stack.
  template <class Action>
  void each(Action&& action) {
    for (auto& frame : frames) {
      for (auto& reg : frame.regs)
        if (reg.kind != Kind::none) action(reg);
      for (auto& slot : frame.stack)
        if (slot.spilled != 0) action(slot.reg);
    }
  }
  [[nodiscard]] size_t bytes() const {
    size_t sum = sizeof(State) + frames.size() * sizeof(Frame);
    for (const auto& f : frames) sum += f.stack.capacity() * sizeof(Slot);
    return sum;
  }
};

// "R1=pkt(off=14,r=34) R10=fp0 fp-8=mmmm0000": all that is known. `nodes` tells precise scalars ("P12"); null: not
// told.
std::string to_text(const State& state, const Nodes* nodes = nullptr);
std::string to_text(const Reg& reg);

}  // namespace xbond::bpf::verifier
