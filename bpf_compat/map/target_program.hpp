// The program that runs on a frame where it was redirected to.
#pragma once

#include <memory>

#include "bpf_compat/map/target_array.hpp"

namespace xbond::bpf {

// Finds the program that target.program names by its id (-1 counts as none) for an entry of a map of that type, and
// keeps it. 0, -EBADF no such program, -EINVAL one that is not for such entries ("xdp/devmap", "xdp/cpumap").
int take_program(Target& target, uint32_t map_type, std::shared_ptr<const void>& program);

}  // namespace xbond::bpf
