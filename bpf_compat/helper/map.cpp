// Look-up, update and delete.
#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"
#include "bpf_compat/map/hash.hpp"

namespace xbond::bpf {
namespace {

struct Target {
  const BoundMap* map = nullptr;
  const std::byte* key = nullptr;
};

// The map in r1 and its key in r2. A null map when one of them is not what it has to be.
Target target(Run& run, const uint64_t* r) {
  const auto* map = run.map(r[1]);
  if (!map) {
    run.fail(Fault::helper_map);
    return {};
  }
  const auto* key = run.readable(r[2], map->key_size);
  if (!key) {
    run.fail(Fault::helper_read);
    return {};
  }
  return {map, key};
}

// Calls the kinds that programs look up most without the detour of a virtual function.
std::byte* find(const BoundMap& map, const std::byte* key, uint32_t cpu) {
  if (map.is_array()) {
    uint32_t index;
    std::memcpy(&index, key, sizeof(index));
    return index < map.max_entries ? map.value(index, cpu) : nullptr;
  }
  if (map.kind == MapKind::hash) {
    const auto slot = static_cast<HashMap*>(map.map)->find_slot(key, cpu);
    return slot == kNoSlot ? nullptr : map.value(slot, cpu);
  }
  return static_cast<std::byte*>(map.map->lookup(key, cpu));
}

}  // namespace

uint64_t map_lookup_elem(Run& run, const uint64_t* r) {
  const auto [map, key] = target(run, r);
  if (!map) return 0;
  if (map->kind == MapKind::maps) {
    const auto* inner = static_cast<const BoundMap*>(map->map->lookup(key, run.cpu));
    return inner ? run.found_map(*inner) : 0;
  }
  auto* value = find(*map, key, run.cpu);
  return value ? run.found(*map, value) : 0;
}

uint64_t map_update_elem(Run& run, const uint64_t* r) {
  const auto [map, key] = target(run, r);
  if (!map) return 0;
  if (!map->writable) return run.fail(Fault::map_write);
  const auto* value = run.readable(r[3], map->value_size);
  if (!value) return run.fail(Fault::helper_read);
  return static_cast<uint64_t>(int64_t{map->map->update(key, value, r[4], run.cpu)});
}

uint64_t map_delete_elem(Run& run, const uint64_t* r) {
  const auto [map, key] = target(run, r);
  if (!map) return 0;
  if (!map->writable) return run.fail(Fault::map_write);
  return static_cast<uint64_t>(int64_t{map->map->erase(key, run.cpu)});
}

uint64_t map_lookup_percpu_elem(Run& run, const uint64_t* r) {
  const auto [map, key] = target(run, r);
  if (!map) return 0;
  const auto cpu = static_cast<uint32_t>(r[3]);
  if (!map->map->per_cpu()) return run.fail(Fault::helper_map);
  if (cpu >= map->map->cpus()) return 0;
  auto* value = find(*map, key, cpu);
  return value ? run.found(*map, value) : 0;
}

}  // namespace xbond::bpf
