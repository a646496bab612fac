// Rules that a run can break. A frame whose run does gets XDP_ABORTED; the reason is kept for the console.
#pragma once

#include <cstdint>
#include <string_view>

namespace xbond::bpf {

enum class Fault : uint8_t {
  none,
  read,             // address outside stack, packet and map values
  write,            // likewise
  context,          // struct xdp_md: only aligned 32-bit reads of its fields
  context_write,    //
  map_read,         // map with BPF_F_WRONLY_PROG
  map_write,        // map with BPF_F_RDONLY_PROG, or .rodata
  atomic,           // atomic access outside stack and map values, or not aligned
  budget,           // too many instructions
  helper_context,   // a helper's argument is not the context
  helper_map,       // … not a map
  helper_read,      // … memory that can't be read
  helper_write,     // … memory that can't be written
  helper_size,      // … a size that the helper does not take
  helper_function,  // … not a function of the program
  helper_record,    // … not a record that the program has reserved
  lock,             // a spin lock taken twice, never given back, or given back without having been taken
  unfinished,       // the end, with a reserved record or a spin lock in hand
  frames,           // more stack frames than a program may have, by a tail call or a callback
  unresolved,       // a field or kernel function that this machine does not have
};

constexpr std::string_view fault_text(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "no fault";
    case Fault::read:
      return "read outside stack, packet and map values";
    case Fault::write:
      return "write outside stack, packet and map values";
    case Fault::context:
      return "context access that is not an aligned 32-bit read of a field";
    case Fault::context_write:
      return "write to the context";
    case Fault::map_read:
      return "read from a map that programs may only write";
    case Fault::map_write:
      return "write to a map that programs may only read";
    case Fault::atomic:
      return "atomic access that is unaligned or outside stack and map values";
    case Fault::budget:
      return "instruction budget used up";
    case Fault::helper_context:
      return "helper called with an argument that is not the context";
    case Fault::helper_map:
      return "helper called with an argument that is not a map";
    case Fault::helper_read:
      return "helper called with memory that can't be read";
    case Fault::helper_write:
      return "helper called with memory that can't be written";
    case Fault::helper_size:
      return "helper called with a size that it does not take";
    case Fault::helper_function:
      return "helper called with an argument that is not a function of the program";
    case Fault::helper_record:
      return "helper called with an argument that is not a reserved record";
    case Fault::lock:
      return "spin lock taken twice, held for ever, or given back without having been taken";
    case Fault::unfinished:
      return "end of the program with a reserved record or a spin lock in hand";
    case Fault::frames:
      return "functions called more than 8 deep";
    case Fault::unresolved:
      return "use of a field or kernel function that is not there (CO-RE relocation without a match)";
  }
  return "unknown fault";
}

}  // namespace xbond::bpf
