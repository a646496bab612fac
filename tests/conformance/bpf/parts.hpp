// The parts of the comparison with the running kernel. Each adds lines to the table.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/bpf/kernel.hpp"

namespace xbond::bpf::conformance {

// Random operation sequences on maps of many shapes: equal results, errno and contents.
void compare_maps(std::vector<Tally>& table);

// Likewise on maps whose values stand for other maps, interfaces or CPUs.
void compare_map_refs(std::vector<Tally>& table);

// Object files over packets: equal verdicts, output packets and map contents. Prints a table of programs.
void compare_objects(std::vector<Tally>& table, const std::vector<std::string>& paths, uint32_t cpu);

// Each instruction over edge values, and random straight-line programs.
void compare_instructions(std::vector<Tally>& table, uint32_t cpu);

// fib_lookup and check_mtu over the tables of a network namespace of its own, which the calling process then stays in:
// the last part.
void compare_host(std::vector<Tally>& table, uint32_t cpu);

}  // namespace xbond::bpf::conformance
