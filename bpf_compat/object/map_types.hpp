// Type information of the kind by which libbpf knows maps: a variable in section `.maps` whose type is a struct of
// pointers to arrays, whose lengths are the map's numbers. Thread: control.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <span>
#include <string>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// More than any program can use; what it is for is that no object makes us search for hours.
inline constexpr size_t kMaxMaps = 1024;

struct MapShape {
  uint32_t type = 0, key_size = 0, value_size = 0, max_entries = 0, flags = 0;
  bool pinned = false;
  const MapShape* inner = nullptr;  // maps of maps
};

// A variable of section `.maps`; offset and size in bytes.
struct MapVariable {
  uint32_t type = 0;  // number of the BTF_KIND_VAR
  uint32_t offset = 0;
  uint32_t size = 0;
};

// Adds the types of a map. Gives its variable, at no offset yet. Errors: ENOMEM.
Result<MapVariable> add_map_variable(btf* types, const std::string& name, const MapShape& shape);

// Adds variables to those of section `.maps`. Errors: ENOMEM.
Status add_to_maps_section(btf* types, std::span<const MapVariable> variables);

// A pointer to an array of `length`, which stands for the number. Negative errno when it can't be added.
int add_number(btf* types, uint32_t length);

// The type of section `.maps`; 0 where there is none.
uint32_t maps_section(const btf* types);

// The type of a section that the object no longer has: gives it a size, for which libbpf would look in the section.
void forget_section(btf* types, const std::string& name);

}  // namespace xbond::bpf
