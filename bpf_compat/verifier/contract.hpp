// What helpers ask of their arguments and give back: the kernel's bpf_func_proto for XDP. Thread: any.
#pragma once

#include <array>
#include <cstdint>

namespace xbond::bpf::verifier {

enum class Argument : uint8_t {
  none,      // not looked at
  anything,  // any value
  context,
  map,        // a map; of which kinds, the helper says
  key,        // bytes of the map's key size, to read
  value,      // bytes of its value size, to read
  value_out,  // … to write
  memory,     // to read; the next argument is its size
  memory_or_null,
  memory_out,  // to write
  size,        // of the argument before: not 0
  size_or_zero,
  word_out,  // 4 aligned bytes, to read and write
  text,      // in a read-only map, ended by a zero
  function,
  stack_or_null,  // for a callback
  lock,
  record,       // given back by the call
  record_size,  // a constant
};

enum class Gives : uint8_t { nothing, number, value_or_null, record_or_null };

struct Contract {
  uint32_t helper;
  Gives gives;
  std::array<Argument, 5> arguments;
  bool packet = false;        // memory arguments may lie in the packet
  bool moves_packet = false;  // packet pointers are void afterwards
};

// Null: no XDP program may call it.
const Contract* find_contract(uint32_t helper);

// Whether the helper takes maps of that type (enum bpf_map_type).
bool takes_map(uint32_t helper, uint32_t map_type);

}  // namespace xbond::bpf::verifier
