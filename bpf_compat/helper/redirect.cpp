// Where a frame is to go. The helpers only say it; who runs the program reads it from the frame afterwards.
#include <linux/bpf.h>

#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"
#include "bpf_compat/map/devmap_hash.hpp"
#include "bpf_compat/map/target_array.hpp"

namespace xbond::bpf {
namespace {

constexpr uint64_t kActions = XDP_ABORTED | XDP_DROP | XDP_PASS | XDP_TX;

// The flags of a map's kind, beside the action for a key that is not there. False: not a map of targets.
bool redirect_flags(uint32_t type, uint64_t& flags) {
  const bool devices = type == BPF_MAP_TYPE_DEVMAP || type == BPF_MAP_TYPE_DEVMAP_HASH;
  flags = devices ? BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS : 0;
  return devices || type == BPF_MAP_TYPE_CPUMAP || type == BPF_MAP_TYPE_XSKMAP;
}

Destination find(Map& map, uint32_t key, uint32_t cpu) {
  if (map.spec().type == BPF_MAP_TYPE_DEVMAP_HASH) return static_cast<DevmapHash&>(map).destination(key, cpu);
  return static_cast<const TargetArrayMap&>(map).destination(key);
}

}  // namespace

uint64_t redirect(Run& run, const uint64_t* r) {
  if (r[2] != 0) return XDP_ABORTED;
  run.frame->redirect = {
      .map = nullptr, .program = nullptr, .key = 0, .ifindex = static_cast<uint32_t>(r[1]), .flags = 0};
  return XDP_REDIRECT;
}

// __bpf_xdp_redirect_map in include/linux/filter.h
uint64_t redirect_map(Run& run, const uint64_t* r) {
  const auto* map = run.map(r[1]);
  uint64_t allowed = 0;
  if (!map || !redirect_flags(map->map->spec().type, allowed)) return run.fail(Fault::helper_map);
  const auto key = static_cast<uint32_t>(r[2]);
  const auto flags = r[3];
  if ((flags & ~(kActions | allowed)) != 0) return XDP_ABORTED;
  const auto target = find(*map->map, key, run.cpu);
  const bool all = (flags & BPF_F_BROADCAST) != 0;
  if (target.number == 0 && !all) {
    run.frame->redirect = {};
    return flags & kActions;
  }
  run.frame->redirect = {.map = map->map,
                         .program = target.program,
                         .key = key,
                         .ifindex = target.number,
                         .flags = all ? static_cast<uint32_t>(flags) : 0};
  return XDP_REDIRECT;
}

}  // namespace xbond::bpf
