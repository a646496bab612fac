// Helpers that call functions of the program: bpf_loop and bpf_for_each_map_elem. And the tail call, which the
// interpreter itself makes.
#include <linux/bpf.h>

#include <cerrno>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"
#include "bpf_compat/map/hash.hpp"

namespace xbond::bpf {
namespace {

constexpr uint64_t kMaxLoops = 1 << 23;  // BPF_MAX_LOOPS

uint64_t error(int code) {
  return static_cast<uint64_t>(int64_t{-code});
}

// Calls back for one entry; false ends the walk.
bool visit(Run& run, const uint64_t* r, const BoundMap& map, const void* key, std::byte* value) {
  bool ok = false;
  run.key = {reinterpret_cast<uintptr_t>(key), map.key_size};
  const auto stop = run.call_back(r[2], {r[1], run.key.low, run.found(map, value), r[3]}, ok);
  run.key = {};
  return ok && stop == 0;
}

}  // namespace

uint64_t loop(Run& run, const uint64_t* r) {
  const auto count = static_cast<uint32_t>(r[1]);
  run.nested.fault_at = ~uint32_t{0};
  if (r[4] != 0) return error(EINVAL);
  if (count > kMaxLoops) return error(E2BIG);
  for (uint32_t i = 0; i < count; ++i) {
    bool ok = false;
    const auto stop = run.call_back(r[2], {i, r[3], 0, 0}, ok);
    if (!ok) return 0;
    if (stop != 0) return i + 1;
  }
  return count;
}

uint64_t for_each_map_elem(Run& run, const uint64_t* r) {
  const auto* map = run.map(r[1]);
  run.nested.fault_at = ~uint32_t{0};
  if (!map || (!map->is_array() && map->kind != MapKind::hash)) return run.fail(Fault::helper_map);
  if (r[4] != 0) return error(EINVAL);
  uint64_t visited = 0;
  if (map->is_array()) {
    for (uint32_t index = 0; index < map->max_entries; ++index) {
      ++visited;
      if (!visit(run, r, *map, &index, map->value(index, run.cpu))) break;
    }
    return visited;
  }
  auto& hash = static_cast<HashMap&>(*map->map);
  hash.each([&](uint32_t slot) {
    ++visited;
    return visit(run, r, *map, hash.key(slot), map->value(slot, run.cpu));
  });
  return visited;
}

uint64_t tail_call(Run& run, const uint64_t* /*r*/) {
  return run.fail(Fault::helper_map);
}

}  // namespace xbond::bpf
