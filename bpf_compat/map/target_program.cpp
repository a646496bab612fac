#include "bpf_compat/map/target_program.hpp"

#include <linux/bpf.h>

#include <string_view>

#include "bpf_compat/engine/program.hpp"

namespace xbond::bpf {

int take_program(Target& target, uint32_t map_type, std::shared_ptr<const Program>& program) {
  if (static_cast<int32_t>(target.program) <= 0) {
    target.program = 0;
    return 0;
  }
  const bool cpumap = map_type == BPF_MAP_TYPE_CPUMAP;
  const auto found = Program::find(target.program);
  // "xdp/devmap", "xdp.frags/devmap": libbpf's names for the attach types that the kernel asks for
  if (!found || !found->section().ends_with(cpumap ? "cpumap" : "devmap")) return cpumap ? -ENOMEM : -EINVAL;
  program = found;
  return 0;
}

}  // namespace xbond::bpf
