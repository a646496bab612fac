#include "bpf_compat/map/map.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <atomic>

#include "bpf_compat/map/array.hpp"
#include "bpf_compat/map/bloom.hpp"
#include "bpf_compat/map/devmap_hash.hpp"
#include "bpf_compat/map/events.hpp"
#include "bpf_compat/map/hash.hpp"
#include "bpf_compat/map/hash_of_maps.hpp"
#include "bpf_compat/map/lpm_trie.hpp"
#include "bpf_compat/map/names.hpp"
#include "bpf_compat/map/percpu_array.hpp"
#include "bpf_compat/map/queue_stack.hpp"
#include "bpf_compat/map/ref_array.hpp"
#include "bpf_compat/map/registry.hpp"
#include "bpf_compat/map/shape.hpp"
#include "bpf_compat/map/target_array.hpp"

namespace xbond::bpf {
namespace {

Registry<Map>& registry() {
  static Registry<Map> maps;
  return maps;
}

uint32_t next_id() {
  static std::atomic<uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Result<std::shared_ptr<Map>> create_family(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  // The kernel asks for this before all that a family does
  if ((spec.flags & BPF_F_RDONLY) != 0 && (spec.flags & BPF_F_WRONLY) != 0) return wrong_flags(spec);
  switch (spec.type) {
    case BPF_MAP_TYPE_ARRAY:
      return ArrayMap::create(spec, cpus);
    case BPF_MAP_TYPE_PERCPU_ARRAY:
      return PercpuArrayMap::create(spec, cpus);
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_LRU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH:
      return HashMap::create(spec, cpus, grace);
    case BPF_MAP_TYPE_LPM_TRIE:
      return LpmTrieMap::create(spec, cpus, grace);
    case BPF_MAP_TYPE_QUEUE:
    case BPF_MAP_TYPE_STACK:
      return QueueStackMap::create(spec, cpus);
    case BPF_MAP_TYPE_BLOOM_FILTER:
      return BloomMap::create(spec, cpus);
    case BPF_MAP_TYPE_ARRAY_OF_MAPS:
    case BPF_MAP_TYPE_PROG_ARRAY:
      return RefArrayMap::create(spec, cpus, grace);
    case BPF_MAP_TYPE_HASH_OF_MAPS:
      return HashOfMaps::create(spec, cpus, grace);
    case BPF_MAP_TYPE_DEVMAP:
    case BPF_MAP_TYPE_CPUMAP:
    case BPF_MAP_TYPE_XSKMAP:
      return TargetArrayMap::create(spec, cpus, grace);
    case BPF_MAP_TYPE_DEVMAP_HASH:
      return DevmapHash::create(spec, cpus, grace);
    case BPF_MAP_TYPE_RINGBUF:
      return RingBufMap::create(spec, cpus);
    case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
      return PerfEventMap::create(spec, cpus);
    default:
      return fail(ENOTSUP, fmt::format("type {} is not supported by this version", map_type_name(spec.type)));
  }
}

}  // namespace

Map::Map(MapSpec spec, uint32_t cpus) : spec_(std::move(spec)), id_(next_id()), cpus_(cpus) {}

bool Map::per_cpu() const {
  return spec_.type == BPF_MAP_TYPE_PERCPU_ARRAY || spec_.type == BPF_MAP_TYPE_PERCPU_HASH ||
         spec_.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

int Map::copy_take(std::span<const std::byte> /*key*/, std::span<std::byte> /*value*/) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (const int rc = may_write(); rc != 0) return rc;
  return -kNotSupported;
}

int Map::drain(const std::function<bool(const Event&)>& /*sink*/) {
  return -kNotSupported;
}

int Map::push(const void* /*value*/, uint64_t /*flags*/) noexcept {
  return -EOPNOTSUPP;
}

int Map::pop(void* /*value*/) noexcept {
  return -EOPNOTSUPP;
}

int Map::peek(void* /*value*/) noexcept {
  return -EOPNOTSUPP;
}

int Map::may_read() const noexcept {
  return (spec_.flags & BPF_F_WRONLY) != 0 ? -EPERM : 0;
}

int Map::may_write() const noexcept {
  return spec_.frozen || (spec_.flags & BPF_F_RDONLY) != 0 ? -EPERM : 0;
}

size_t Map::control_stride() const {
  return round_up_8(spec_.value_size);
}

size_t Map::control_value_size() const {
  return per_cpu() ? control_stride() * cpus_ : spec_.value_size;
}

Result<std::shared_ptr<Map>> Map::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  if (cpus == 0) return fail(EINVAL, fmt::format("map {}: no CPU to hold values for", spec.name));
  auto map = create_family(spec, cpus, grace);
  if (!map) return fail(map.error().code, fmt::format("map {}: {}", spec.name, map.error().text));
  registry().add((*map)->id(), *map);
  return map;
}

std::shared_ptr<Map> Map::find(uint32_t id) {
  return registry().find(id);
}

}  // namespace xbond::bpf
