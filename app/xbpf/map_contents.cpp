#include "app/xbpf/map_contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bpf_compat/hex.hpp"

namespace xbond::xbpf {
namespace {

std::string names(const bpf::Program& program) {
  std::string text;
  for (const auto& map : program.maps()) text += (text.empty() ? "" : ", ") + map->spec().name;
  return text.empty() ? "it uses none" : "it has " + text;
}

}  // namespace

Status fill(const bpf::Program& program, const MapEntry& entry) {
  const auto refused = [&](int code, std::string_view why) {
    return fail(code, fmt::format("--map {}: key {}: {}", entry.map, to_hex(entry.key), why));
  };
  const auto maps = program.maps();
  const auto it = std::ranges::find(maps, entry.map, [](const auto& map) { return map->spec().name; });
  if (it == maps.end()) return fail(ENOENT, fmt::format("--map {}: no such map; {}", entry.map, names(program)));
  auto& map = **it;
  if (entry.key.size() != map.spec().key_size)
    return refused(EINVAL, fmt::format("{} bytes, the map's keys have {}", entry.key.size(), map.spec().key_size));
  if (entry.value.size() != map.spec().value_size)
    return refused(EINVAL,
                   fmt::format("the value has {} bytes, the map's have {}", entry.value.size(), map.spec().value_size));
  auto value = entry.value;
  value.resize(map.control_value_size());  // per-CPU values are padded
  if (const int rc = map.copy_update(entry.key, value, BPF_ANY); rc != 0) return refused(-rc, std::strerror(-rc));
  return {};
}

void write_maps(json::Writer& w, const bpf::Program& program) {
  w.begin_object();
  for (const auto& map : program.maps()) {
    w.key(map->spec().name).begin_array();
    std::vector<std::byte> key;
    std::vector<std::byte> next(map->spec().key_size);
    std::vector<std::byte> value(map->control_value_size());
    while (map->next_key(key, next) == 0) {
      key = next;
      // Slots that hold nothing (no program, no device) are left out
      if (map->copy_lookup(key, value) != 0) continue;
      w.begin_object().member("key", to_hex(key));
      w.member("value", to_hex(std::span(value).first(map->spec().value_size))).end_object();
    }
    w.end_array();
  }
  w.end_object();
}

}  // namespace xbond::xbpf
