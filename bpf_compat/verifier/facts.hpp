// What a proof teaches engines. All of it holds for every run of the program. Thread: any; the program's owner keeps
// it.
#pragma once

#include <cstdint>
#include <vector>

namespace xbond::bpf::verifier {

enum class Memory : uint8_t {
  none,       // the instruction touches no memory, or is never reached
  context,    // a field of struct xdp_md
  packet,     // from `data` on
  metadata,   // from `data_meta` on
  stack,      // offsets count from the frame's end (r10), and are below 0
  map_value,  // a value of `map`
  map_key,    // the key that a callback got
  record,     // a reserved ring buffer record
  mixed,      // several of these, or several maps, by the way that a run takes
};

// One load, store or atomic instruction, or the key that a helper gets. `low` and `high` bound where it begins, in
// bytes from the start of what it points at (packet, metadata: from the pointer's base, of which a variable part may be
// left out: see `fixed`).
struct Access {
  Memory memory = Memory::none;
  bool fixed = true;      // low and high are exact bounds from the start
  bool own_frame = true;  // stack: of the function's own frame, not of a caller's
  uint32_t map = 0;       // the object's map index
  int64_t low = 0;
  int64_t high = 0;
};

// The map that a helper's call is about: the object's map index, or one of these.
inline constexpr int64_t kNoMap = -1;   // none, or never called
inline constexpr int64_t kAnyMap = -2;  // one or another, by the way that a run takes; or one found in another

struct Facts {
  std::vector<Access> access;     // by instruction slot
  std::vector<int64_t> call_map;  // by instruction slot
  std::vector<bool> reached;      // by instruction slot; an instruction that is not is dead
  // By instruction slot, of conditional jumps: whether a run can take it, and can go past it.
  std::vector<bool> jumps;
  std::vector<bool> passes;
  uint32_t stack_bytes = 0;  // the deepest call chain's, each frame rounded up to 16
};

}  // namespace xbond::bpf::verifier
