#include "bpf_compat/engine/bound_map.hpp"

#include <linux/bpf.h>

#include "bpf_compat/map/array.hpp"
#include "bpf_compat/map/percpu_array.hpp"

namespace xbond::bpf {

BoundMap bind_map(Map& map) {
  const auto& spec = map.spec();
  BoundMap bound{.map = &map,
                 .value_size = spec.value_size,
                 .max_entries = spec.max_entries,
                 .key_size = spec.key_size,
                 .readable = (spec.flags & BPF_F_WRONLY_PROG) == 0,
                 .writable = !spec.frozen && (spec.flags & BPF_F_RDONLY_PROG) == 0};
  bound.base = map.values_range().data();
  if (spec.type == BPF_MAP_TYPE_PERCPU_ARRAY) {
    const auto& array = static_cast<const PercpuArrayMap&>(map);
    bound.kind = MapKind::percpu_array;
    bound.plane = array.plane();
    bound.stride = array.stride();
  } else {
    bound.kind = MapKind::array;
    bound.stride = static_cast<const ArrayMap&>(map).stride();
  }
  bound.bytes = bound.stride * spec.max_entries;
  return bound;
}

}  // namespace xbond::bpf
