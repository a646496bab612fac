// Keys and values of a map as a console line gives them: names of interfaces, programs and maps, values of single
// CPUs. Thread: control.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/xbond/appliance.hpp"
#include "app/xbond/map_words.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::app {

// A map and where it was found.
struct NamedMap {
  std::string target;  // device whose program has it; empty: only held by another map
  std::shared_ptr<bpf::Map> map;
};

// Of all attached programs.
std::vector<NamedMap> all_maps(Appliance& appliance);

// `word` is TARGET:MAP or an id. Errors list what there is.
Result<NamedMap> find_map(Appliance& appliance, const std::string& word);

// The line for what an operation on a map gave: the kernel's words, and what they mean for this map.
Error map_error(int rc, const bpf::Map& map, const char* action);

// Reads the words of one update. What they name lives as long as this does, so that a program stays until the map has
// taken it.
class MapValues {
 public:
  MapValues(Appliance& appliance, const NamedMap& named);
  MapValues(const MapValues&) = delete;
  MapValues& operator=(const MapValues&) = delete;

  Result<std::vector<std::byte>> key(std::span<const std::string> words) const;
  // As control gives it to the map. A per-CPU map's value is every CPU's, or "cpu N WORD... [cpu M WORD...]..." those
  // CPUs' only, while the others keep theirs. Targets may leave the program out.
  Result<std::vector<std::byte>> value(std::span<const std::byte> key, std::span<const std::string> words) const;

 private:
  [[nodiscard]] Result<uint32_t> program(const std::string& name) const;
  [[nodiscard]] Result<std::vector<std::byte>> per_cpu(std::span<const std::byte> key,
                                                       std::span<const std::string> words) const;
  [[nodiscard]] Result<std::vector<std::byte>> target(std::span<const std::byte> key,
                                                      std::span<const std::string> words) const;

  Appliance& appliance_;
  const NamedMap& named_;
  WordNames names_;
  mutable std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace xbond::app
