// Maps of a loaded program, filled from the command line and printed. Thread: main.
#pragma once

#include "app/xbpf/run_options.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/json.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::xbpf {

// Errors: ENOENT no such map, else what the kernel's update would give.
Status fill(const bpf::Program& program, const MapEntry& entry);

// {"NAME":[{"key":"<hex>","value":"<hex>"}]} with every map of the program, entries in the map's own order. Values of
// per-CPU maps are those of the one CPU that there is.
void write_maps(json::Writer& w, const bpf::Program& program);

}  // namespace xbond::xbpf
