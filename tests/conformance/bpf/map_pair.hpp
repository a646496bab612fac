// A map of ours and the kernel's that stands for the same map of an object. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "bpf_compat/map/map.hpp"

namespace xbond::bpf::conformance {

// Puts the same entries into both, by control's calls. Gives what differed.
std::optional<std::string> fill_both(int kernel, Map& ours);

// Gives what differs in their contents.
std::optional<std::string> compare_both(int kernel, Map& ours);

}  // namespace xbond::bpf::conformance
