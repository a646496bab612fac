// The programs of P4 in the host compiler's hands, all inlined: the limit for an engine. Thread: any.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/map/map.hpp"

namespace xbond::perf {

struct P4Maps {
  bpf::Map* flows;     // a hash map
  bpf::Map* counters;  // a per-CPU array
};

// Runs the program over the burst, as Program::run_burst does. Null: there is none of that name.
using P4Native = void (*)(const P4Maps& maps, std::span<bpf::XdpFrame> frames, uint32_t* verdicts);
P4Native p4_native(std::string_view program);

}  // namespace xbond::perf
