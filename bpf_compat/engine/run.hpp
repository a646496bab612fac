// One program run on one frame, and the memory that it may touch: its stack, the packet, map values. Helpers get this.
// Lives on the worker's stack.
#pragma once

#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bpf_compat/engine/bound_map.hpp"
#include "bpf_compat/engine/cpu_state.hpp"
#include "bpf_compat/engine/program.hpp"

namespace xbond::bpf {

// Bytes that a program may touch, as numbers: what a program computes is no pointer until it has been checked.
struct Region {
  uintptr_t low = 0;
  size_t size = 0;

  [[nodiscard]] bool holds(uint64_t address, size_t bytes) const {
    const uint64_t offset = address - low;
    return offset < size && bytes <= size - offset;
  }
};

struct Decoded;

// A program's code as engines run it, and the maps that it may name. Owned by the Program.
struct Unit {
  const Decoded* code = nullptr;
  std::span<const BoundMap> maps;
  std::span<const uint32_t> origin;     // the instruction of each entry
  std::span<const uint32_t> callbacks;  // entries that a program may give as functions, ascending
  uint32_t frames = 1;                  // most stack frames in use at once
  const void* native = nullptr;         // where a tail call enters its machine code; null: it has none
};

class Run {
 public:
  Run(std::span<const BoundMap> maps, CpuState& cpu_state, uint32_t on_cpu)
      : state(cpu_state), cpu(on_cpu), maps_(maps) {}

  // Before each frame of a program, and when another program's code runs on in its place.
  void begin(const Unit& from) {
    tail_calls = 0;
    inner_count_ = 0;
    use(&from);
  }
  [[nodiscard]] std::span<const BoundMap> maps() const { return maps_; }
  void use(const Unit* of) {
    if (!of) return;
    unit = of;
    maps_ = of->maps;
  }

  // Takes the frame's bounds anew: at the start, and after a helper moved them.
  void set_frame(XdpFrame& to) {
    frame = &to;
    packet = {reinterpret_cast<uintptr_t>(to.data_meta), static_cast<size_t>(to.data_end - to.data_meta)};
    packet_inner_ = packet.size < kWidest ? 0 : packet.size - (kWidest - 1);
  }

  // The number that stands for the context in a program; nothing is ever read there.
  [[nodiscard]] uint64_t context() const { return reinterpret_cast<uintptr_t>(&context_); }
  [[nodiscard]] bool in_context(uint64_t address) const { return address - context() < sizeof(xdp_md); }

  // Null where not all of the bytes may be read (written) by the program; `fault` then says why. `bytes` > 0.
  const std::byte* readable(uint64_t address, size_t bytes) {
    if (in_packet_inner(address, bytes) || value_read_.holds(address, bytes) || stack.holds(address, bytes) ||
        packet.holds(address, bytes))
      return pointer(address);
    return find_value(address, bytes, false) ? pointer(address) : nullptr;
  }
  std::byte* writable(uint64_t address, size_t bytes) {
    if (in_packet_inner(address, bytes) || value_write_.holds(address, bytes) || stack.holds(address, bytes) ||
        packet.holds(address, bytes))
      return pointer(address);
    return find_value(address, bytes, true) ? pointer(address) : nullptr;
  }
  // As writable(), without the packet, which the kernel does not allow atomics on.
  std::byte* atomic(uint64_t address, size_t bytes) {
    if (address % bytes != 0 || packet.holds(address, 1)) {
      fault = Fault::atomic;
      return nullptr;
    }
    return writable(address, bytes);
  }

  // The map that `address` stands for; null when it is none.
  [[nodiscard]] const BoundMap* map(uint64_t address) const {
    const uint64_t offset = address - reinterpret_cast<uintptr_t>(maps_.data());
    if (offset < maps_.size_bytes() && offset % sizeof(BoundMap) == 0) return &maps_[offset / sizeof(BoundMap)];
    return inner_count_ == 0 ? nullptr : inner_map(address);
  }

  // A map that the program found in a map of maps: a map pointer as any other from now on. Of more than kInner of them
  // the last ones are known.
  uint64_t found_map(const BoundMap& map) {
    const auto address = reinterpret_cast<uintptr_t>(&map);
    if (!inner_map(address)) inner_[inner_count_++ % kInner] = &map;
    return address;
  }

  // A look-up's result is what the program touches next: remembers it, so that checking that access is one comparison.
  uint64_t found(const BoundMap& map, std::byte* value) {
    const Region region{reinterpret_cast<uintptr_t>(value), map.value_size};
    value_read_ = map.readable ? region : Region{};
    value_write_ = map.writable ? region : Region{};
    return region.low;
  }

  uint64_t fail(Fault why) {
    fault = why;
    return 0;
  }

  // --- records that the program has reserved in ring buffers and not handed over yet
  [[nodiscard]] bool records_full() const { return record_count_ == records_.size(); }
  uint64_t begin_record(std::byte* record, uint32_t bytes) {
    records_[record_count_++] = {reinterpret_cast<uintptr_t>(record), bytes};
    return reinterpret_cast<uintptr_t>(record);
  }
  // False: `address` is none of them.
  bool end_record(uint64_t address, bool discard);
  // After a run: takes back what it left, or control would wait for it for ever. False: it left something.
  bool end_all() { return record_count_ == 0 && held_lock_ == 0 ? true : end_left(); }

  // --- the one spin lock that a program may hold. False: it holds one already, or another.
  bool lock(uint64_t address);
  bool unlock(uint64_t address);

  // A function of the program with these arguments, on a stack frame of its own, from within a helper that Decoder
  // knows as one that calls back. Returns its r0; false in `ok` when it broke a rule (`fault` says which).
  uint64_t call_back(uint64_t function, std::array<uint64_t, 4> arguments, bool& ok);

  // The program that a tail call goes on with; null: the call does nothing (bpf_tail_call in kernel/bpf/core.c).
  const Unit* tail_target(const BoundMap& map, uint64_t index);

  CpuState& state;
  uint32_t cpu;
  XdpFrame* frame = nullptr;
  Region stack;   // the frames in use
  Region packet;  // metadata included
  Region key;     // of the entry that a callback is called with
  Fault fault = Fault::none;
  const Unit* unit = nullptr;  // whose code runs; null outside a Program
  uint32_t tail_calls = 0;
  // Calls a function of machine code, while such code runs: what call_back() does then. Null: the interpreter runs.
  uint64_t (*native_call)(void* native, uint64_t function, const std::array<uint64_t, 4>& arguments) = nullptr;
  void* native = nullptr;
  // Where the interpreter stands while a helper calls back
  struct {
    const Decoded* code = nullptr;
    std::span<std::byte> stack;  // below the caller's frame
    int64_t executed = 0;
    uint32_t fault_at = 0;
    size_t frames = 0;  // that lie in `stack`
  } nested;

 private:
  static std::byte* pointer(uint64_t address) {
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): checked to be in a region
  }

  // One comparison for nearly all packet accesses: those that would fit whatever their width.
  [[nodiscard]] bool in_packet_inner(uint64_t address, size_t bytes) const {
    return bytes <= kWidest && address - packet.low < packet_inner_;
  }

  [[nodiscard]] const BoundMap* inner_map(uint64_t address) const {
    for (size_t i = 0; i < std::min<size_t>(inner_count_, kInner); ++i)
      if (reinterpret_cast<uintptr_t>(inner_[i]) == address) return inner_[i];
    return nullptr;
  }
  bool end_left();
  bool find_value_in(const BoundMap& map, uint64_t address, size_t bytes, bool write, bool& allowed);

  // The slow way: looks through the maps. Sets `fault` when it fails.
  bool find_value(uint64_t address, size_t bytes, bool write);

  static constexpr size_t kWidest = 8;  // bytes of the widest instruction

  static constexpr size_t kInner = 16;

  std::span<const BoundMap> maps_;
  std::array<const BoundMap*, kInner> inner_;
  size_t inner_count_ = 0;
  std::array<Region, 8> records_;  // the first record_count_
  size_t record_count_ = 0;
  uint64_t held_lock_ = 0;
  size_t packet_inner_ = 0;
  Region value_read_;
  Region value_write_;
  // Nothing of a program's lies beside it, so that an access out by a little falls in neither
  [[maybe_unused]] std::array<std::byte, 64> guard_before_{};
  xdp_md context_{};
  [[maybe_unused]] std::array<std::byte, 64> guard_behind_{};
};

}  // namespace xbond::bpf
