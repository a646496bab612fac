// Maps without keys: queues, stacks and bloom filters.
#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

uint64_t result(int rc) {
  return static_cast<uint64_t>(int64_t{rc});
}

}  // namespace

uint64_t map_push_elem(Run& run, const uint64_t* r) {
  const auto* map = run.map(r[1]);
  if (!map) return run.fail(Fault::helper_map);
  if (!map->writable) return run.fail(Fault::map_write);
  const auto* value = run.readable(r[2], map->value_size);
  if (!value) return run.fail(Fault::helper_read);
  return result(map->map->push(value, r[3]));
}

uint64_t map_pop_elem(Run& run, const uint64_t* r) {
  const auto* map = run.map(r[1]);
  if (!map) return run.fail(Fault::helper_map);
  if (!map->writable) return run.fail(Fault::map_write);
  auto* value = run.writable(r[2], map->value_size);
  if (!value) return run.fail(Fault::helper_write);
  return result(map->map->pop(value));
}

uint64_t map_peek_elem(Run& run, const uint64_t* r) {
  const auto* map = run.map(r[1]);
  if (!map) return run.fail(Fault::helper_map);
  if (!map->readable) return run.fail(Fault::map_read);
  auto* value = run.writable(r[2], map->value_size);
  if (!value) return run.fail(Fault::helper_write);
  return result(map->map->peek(value));
}

}  // namespace xbond::bpf
