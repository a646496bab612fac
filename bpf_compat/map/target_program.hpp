// The program that runs on a frame where it was redirected to.
#pragma once

#include <memory>

#include "bpf_compat/map/target_array.hpp"

namespace xbond::bpf {

// Finds the program that target.program names by its id (-1 counts as none) for an entry of a map of that type, and
// keeps it. 0, or where there is none or one for something else ("xdp/devmap", "xdp/cpumap") what the kernel says then:
// -EINVAL, for CPU maps -ENOMEM.
int take_program(Target& target, uint32_t map_type, std::shared_ptr<const Program>& program);

}  // namespace xbond::bpf
