#include "bpf_compat/engine/bound_map.hpp"

#include <linux/bpf.h>

#include "bpf_compat/map/array.hpp"
#include "bpf_compat/map/hash.hpp"
#include "bpf_compat/map/lpm_trie.hpp"
#include "bpf_compat/map/percpu_array.hpp"
#include "bpf_compat/map/target_array.hpp"

namespace xbond::bpf {

BoundMap bind_map(Map& map) {
  const auto& spec = map.spec();
  BoundMap bound{.map = &map,
                 .value_size = spec.value_size,
                 .max_entries = spec.max_entries,
                 .key_size = spec.key_size,
                 .readable = (spec.flags & BPF_F_WRONLY_PROG) == 0,
                 .writable = !spec.frozen && (spec.flags & BPF_F_RDONLY_PROG) == 0};
  switch (spec.type) {
    case BPF_MAP_TYPE_ARRAY:
      bound.kind = MapKind::array;
      bound.stride = static_cast<const ArrayMap&>(map).stride();
      bound.bytes = bound.stride * spec.max_entries;
      break;
    case BPF_MAP_TYPE_PERCPU_ARRAY:
      bound.kind = MapKind::percpu_array;
      bound.plane = static_cast<const PercpuArrayMap&>(map).plane();
      bound.stride = static_cast<const PercpuArrayMap&>(map).stride();
      bound.bytes = bound.stride * spec.max_entries;
      break;
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_LRU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH: {
      const auto& hash = static_cast<const HashMap&>(map);
      bound.kind = MapKind::hash;
      bound.plane = hash.plane();
      bound.stride = hash.stride();
      bound.bytes = bound.stride * hash.places();
      break;
    }
    case BPF_MAP_TYPE_LPM_TRIE:
      bound.kind = MapKind::other;
      bound.stride = static_cast<const LpmTrieMap&>(map).stride();
      bound.bytes = bound.stride * static_cast<const LpmTrieMap&>(map).places();
      break;
    case BPF_MAP_TYPE_DEVMAP_HASH: {
      const auto& hash = static_cast<const HashMap&>(map);
      bound.kind = MapKind::hash;
      bound.stride = hash.stride();
      bound.bytes = bound.stride * hash.places();
      bound.writable = false;
      break;
    }
    case BPF_MAP_TYPE_DEVMAP:
    case BPF_MAP_TYPE_CPUMAP:
    case BPF_MAP_TYPE_XSKMAP:
      bound.kind = MapKind::other;
      bound.stride = TargetArrayMap::kStride;
      bound.bytes = bound.stride * spec.max_entries;
      bound.writable = false;
      break;
    case BPF_MAP_TYPE_ARRAY_OF_MAPS:
    case BPF_MAP_TYPE_HASH_OF_MAPS:
      bound.kind = MapKind::maps;
      bound.writable = false;
      break;
    case BPF_MAP_TYPE_PROG_ARRAY:
      bound.kind = MapKind::other;
      bound.writable = false;
      break;
    default:
      bound.kind = MapKind::other;
  }
  if (bound.bytes != 0) bound.base = map.values_range().data();
  return bound;
}

}  // namespace xbond::bpf
