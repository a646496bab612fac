#include "bpf_compat/engine/run.hpp"

#include <atomic>

#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/map/event_ring.hpp"
#include "bpf_compat/map/ref_array.hpp"
#include "bpf_compat/map/spin.hpp"

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

const Unit* Run::tail_target(const BoundMap& map, uint64_t index) {
  const auto* program = static_cast<const RefArrayMap*>(map.map)->at(static_cast<uint32_t>(index));
  if (!program || tail_calls >= isa::kMaxTailCalls) return nullptr;
  ++tail_calls;
  return &static_cast<const InterpreterProgram*>(static_cast<const Program*>(program))->unit();
}

bool Run::end_record(uint64_t address, bool discard) {
  for (size_t i = 0; i < record_count_; ++i) {
    if (records_[i].low != address) continue;
    EventRing::commit(pointer(address), discard);
    records_[i] = records_[--record_count_];
    return true;
  }
  return false;
}

bool Run::lock(uint64_t address) {
  if (held_lock_ != 0) return false;
  const std::atomic_ref word(*reinterpret_cast<uint32_t*>(pointer(address)));
  // Whatever stands there is the program's: a lock that nobody gives back must not keep the worker
  constexpr uint32_t kPatience = 1 << 20;
  uint32_t turns = 0;
  for (uint32_t free = 0; !word.compare_exchange_weak(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
       free = 0) {
    if (turns == kPatience) return false;
    spin_wait(turns);
  }
  held_lock_ = address;
  return true;
}

bool Run::unlock(uint64_t address) {
  if (held_lock_ == 0 || held_lock_ != address) return false;
  std::atomic_ref(*reinterpret_cast<uint32_t*>(pointer(address))).store(0, std::memory_order_release);
  held_lock_ = 0;
  return true;
}

bool Run::end_left() {
  if (held_lock_ != 0) unlock(held_lock_);
  while (record_count_ != 0) end_record(records_[0].low, true);
  return false;
}

bool Run::find_value(uint64_t address, size_t bytes, bool write) {
  for (size_t i = 0; i < record_count_; ++i)
    if (records_[i].holds(address, bytes)) return true;
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
