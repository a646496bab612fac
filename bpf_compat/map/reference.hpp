// What an entry of a map of maps or of a prog array stands for. Control names it by its id.
#pragma once

#include <cstdint>
#include <memory>

#include "bpf_compat/map/map.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// `seen` is what workers get: the inner map as programs see it (BoundMap), or the program (Program). `owner` keeps it.
struct Reference {
  const void* seen = nullptr;
  uint32_t id = 0;
  std::shared_ptr<const void> owner;
};

// The inner map or program of that id for `outer`. -EBADF there is none; -EINVAL another shape than the outer map says.
int make_reference(const Map& outer, uint32_t id, Reference& reference);

// What maps of maps ask of their spec's inner shape. EINVAL.
Status check_inner(const MapSpec& spec);

}  // namespace xbond::bpf
