#include "bpf_compat/engine/run.hpp"

namespace xbond::bpf {

// True when the address lies in the map's values; `allowed` then says whether the access may be.
bool Run::find_value_in(const BoundMap& map, uint64_t address, size_t bytes, bool write, bool& allowed) {
  const Region values{reinterpret_cast<uintptr_t>(map.values(cpu)), map.bytes};
  if (!values.holds(address, 1)) return false;
  // Inside one value: neither into the next nor into the padding behind it
  const size_t within = (address - values.low) % map.stride;
  allowed = within < map.value_size && bytes <= map.value_size - within;
  if (!allowed) {
    fault = write ? Fault::write : Fault::read;
  } else if (write ? !map.writable : !map.readable) {
    allowed = false;
    fault = write ? Fault::map_write : Fault::map_read;
  } else {
    found(map, pointer(address - within));
  }
  return true;
}

bool Run::find_value(uint64_t address, size_t bytes, bool write) {
  // In a hash map a key lies among its values: before them
  if (!write && key.holds(address, bytes)) return true;
  bool allowed = false;
  for (const auto& map : maps_)
    if (find_value_in(map, address, bytes, write, allowed)) return allowed;
  for (size_t i = 0; i < std::min(inner_count_, kInner); ++i)
    if (find_value_in(*inner_[i], address, bytes, write, allowed)) return allowed;
  if (in_context(address))
    fault = write ? Fault::context_write : Fault::context;
  else
    fault = write ? Fault::write : Fault::read;
  return false;
}

}  // namespace xbond::bpf
