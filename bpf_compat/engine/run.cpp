#include "bpf_compat/engine/run.hpp"

namespace xbond::bpf {

bool Run::find_value(uint64_t address, size_t bytes, bool write) {
  for (const auto& map : maps_) {
    const Region values{reinterpret_cast<uintptr_t>(map.values(cpu)), map.bytes};
    if (!values.holds(address, 1)) continue;
    // Inside one value: neither into the next nor into the padding behind it
    const size_t within = (address - values.low) % map.stride;
    if (within >= map.value_size || bytes > map.value_size - within) break;
    if (write ? !map.writable : !map.readable) {
      fault = write ? Fault::map_write : Fault::map_read;
      return false;
    }
    found(map, pointer(address - within));
    return true;
  }
  if (in_context(address))
    fault = write ? Fault::context_write : Fault::context;
  else
    fault = write ? Fault::write : Fault::read;
  return false;
}

}  // namespace xbond::bpf
