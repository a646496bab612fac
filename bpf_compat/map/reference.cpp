#include "bpf_compat/map/reference.hpp"

#include <linux/bpf.h>

#include "bpf_compat/engine/bound_map.hpp"
#include "bpf_compat/engine/program.hpp"

namespace xbond::bpf {
namespace {

struct InnerMap {
  std::shared_ptr<Map> map;
  BoundMap bound;
};

bool is_map_of_maps(uint32_t type) {
  return type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS;
}

// bpf_map_meta_equal and array_map_meta_equal: only arrays must have the same length, and not those made as inner maps.
bool same_shape(const MapSpec& wanted, const MapSpec& given) {
  const bool length_matters = wanted.type == BPF_MAP_TYPE_ARRAY && (wanted.flags & BPF_F_INNER_MAP) == 0;
  return wanted.type == given.type && wanted.key_size == given.key_size && wanted.value_size == given.value_size &&
         wanted.flags == given.flags && (!length_matters || wanted.max_entries == given.max_entries);
}

}  // namespace

int make_reference(const Map& outer, uint32_t id, Reference& reference) {
  if (!is_map_of_maps(outer.spec().type)) {
    const auto program = Program::find(id);
    if (!program) return -EBADF;
    reference = {program.get(), id, program};
    return 0;
  }
  const auto map = Map::find(id);
  if (!map) return -EBADF;
  if (!outer.spec().inner || !same_shape(*outer.spec().inner, map->spec()) || map->cpus() != outer.cpus())
    return -EINVAL;
  const auto inner = std::make_shared<const InnerMap>(InnerMap{map, bind_map(*map)});
  reference = {&inner->bound, id, inner};
  return 0;
}

Status check_inner(const MapSpec& spec) {
  if (!spec.inner) return fail(EINVAL, "it does not say what maps it holds");
  if (is_map_of_maps(spec.inner->type)) return fail(EINVAL, "maps of maps can't hold maps of maps");
  if (spec.inner->type == BPF_MAP_TYPE_PROG_ARRAY) return fail(kNotSupported, "maps of maps can't hold prog arrays");
  return {};
}

}  // namespace xbond::bpf
