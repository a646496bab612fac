#include "app/xbond/map_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/bpf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace xbond::app {
namespace {

std::optional<uint32_t> whole_number(const std::string& word) {
  uint32_t number = 0;
  const auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), number);
  return ec == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

bool holds_targets(const bpf::Map& map) {
  const auto type = map.spec().type;
  return type == BPF_MAP_TYPE_DEVMAP || type == BPF_MAP_TYPE_DEVMAP_HASH || type == BPF_MAP_TYPE_CPUMAP;
}

bool holds_programs(const bpf::Map& map) {
  return map.spec().type == BPF_MAP_TYPE_PROG_ARRAY || (holds_targets(map) && map.spec().value_size == 8);
}

// Keys are 0 … max_entries - 1
bool holds_index(uint32_t type) {
  switch (type) {
    case BPF_MAP_TYPE_ARRAY:
    case BPF_MAP_TYPE_PERCPU_ARRAY:
    case BPF_MAP_TYPE_ARRAY_OF_MAPS:
    case BPF_MAP_TYPE_PROG_ARRAY:
    case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
    case BPF_MAP_TYPE_DEVMAP:
    case BPF_MAP_TYPE_CPUMAP:
    case BPF_MAP_TYPE_XSKMAP:
      return true;
    default:
      return false;
  }
}

}  // namespace

Error map_error(int rc, const bpf::Map& map, const char* action) {
  const bpf::MapSpec& spec = map.spec();
  std::string meaning;
  switch (rc) {
    case -E2BIG:
    case -ENOSPC:
      meaning = spec.key_size == 4 && holds_index(spec.type) ? fmt::format("keys are 0 to {}", spec.max_entries - 1)
                                                             : fmt::format("it is full, {} entries", spec.max_entries);
      break;
    case -ENOENT:
      meaning = spec.key_size == 0 ? "it is empty" : "no such entry";
      break;
    case -EEXIST:
      meaning = "the entry is there";
      break;
    case -EBADF:
      meaning = "no map or program with that id";
      break;
    case -ENODEV:
      meaning = fmt::format("there are {} workers", map.cpus());
      break;
    case -bpf::kNotSupported:
      return fail(EOPNOTSUPP, fmt::format("map {}: {}: not for maps of this type", spec.name, action));
    default:
      return fail(-rc, fmt::format("map {}: {}: {}", spec.name, action, std::strerror(-rc)));
  }
  return fail(-rc, fmt::format("map {}: {}: {} ({})", spec.name, action, std::strerror(-rc), meaning));
}

std::vector<NamedMap> all_maps(Appliance& appliance) {
  std::vector<NamedMap> out;
  for (const Device& device : appliance.devices()) {
    if (const auto program = appliance.program(device); program != nullptr) {
      for (const auto& map : program->maps()) {
        out.push_back({device.name, map});
      }
    }
  }
  return out;
}

Result<NamedMap> find_map(Appliance& appliance, const std::string& word) {
  const std::vector<NamedMap> maps = all_maps(appliance);
  if (const auto id = whole_number(word)) {
    const auto it = std::find_if(maps.begin(), maps.end(), [&](const NamedMap& m) { return m.map->id() == *id; });
    if (it != maps.end()) {
      return *it;
    }
    if (auto inner = bpf::Map::find(*id); inner != nullptr) {
      return NamedMap{"", std::move(inner)};
    }
    return fail(ENOENT, fmt::format("no map with id {}; \"bpf map list\" shows those there are", *id));
  }
  const size_t colon = word.rfind(':');  // a PCI address has colons of its own
  if (colon == std::string::npos) {
    return fail(EINVAL, fmt::format("\"{}\" is neither TARGET:MAP nor a map id", word));
  }
  auto target = appliance.find(word.substr(0, colon));
  if (!target) {
    return target.error();
  }
  std::vector<std::string_view> names;
  for (const NamedMap& named : maps) {
    if (named.target != target.value()->name) {
      continue;
    }
    if (named.map->spec().name == word.substr(colon + 1)) {
      return named;
    }
    names.push_back(named.map->spec().name);
  }
  if (names.empty()) {
    return fail(ENOENT, fmt::format("{}: no maps (no program attached, or it has none)", target.value()->name));
  }
  return fail(ENOENT, fmt::format("{}: no map \"{}\"; there are: {}", target.value()->name, word.substr(colon + 1),
                                  fmt::join(names, ", ")));
}

MapValues::MapValues(Appliance& appliance, const NamedMap& named) : appliance_(appliance), named_(named) {
  names_.interface = [this](const std::string& name) -> Result<uint32_t> {
    const auto device = appliance_.find(name);
    return device ? Result<uint32_t>(device.value()->ifindex) : Result<uint32_t>(device.error());
  };
  names_.program = [this](const std::string& name) { return program(name); };
  // A map of the same program by its bare name, any other as the commands take it
  names_.map = [this](const std::string& name) -> Result<uint32_t> {
    const bool bare = !whole_number(name) && name.find(':') == std::string::npos;
    const auto map = find_map(appliance_, bare ? named_.target + ":" + name : name);
    return map ? Result<uint32_t>(map->map->id()) : Result<uint32_t>(map.error());
  };
}

Result<uint32_t> MapValues::program(const std::string& name) const {
  if (!holds_programs(*named_.map)) {
    return fail(EINVAL, fmt::format("map {} holds no programs", named_.map->spec().name));
  }
  const auto device = appliance_.find(named_.target);
  const auto program = device ? appliance_.program(*device.value()) : nullptr;
  if (program == nullptr) {
    return fail(ENOENT, fmt::format("map {} belongs to no attached program", named_.map->spec().name));
  }
  auto sibling = program->sibling(name);
  if (!sibling) {
    return sibling.error();
  }
  const uint32_t id = (*sibling)->id();
  kept_.push_back(std::move(*sibling));
  return id;
}

Result<std::vector<std::byte>> MapValues::key(std::span<const std::string> words) const {
  return parse_bytes(words, named_.map->spec().key_size, "key", names_);
}

Result<std::vector<std::byte>> MapValues::value(std::span<const std::byte> key,
                                                std::span<const std::string> words) const {
  const bpf::Map& map = *named_.map;
  if (map.per_cpu()) {
    return per_cpu(key, words);
  }
  if (holds_targets(map)) {
    return target(key, words);
  }
  return parse_bytes(words, map.spec().value_size, "value", names_);
}

Result<std::vector<std::byte>> MapValues::per_cpu(std::span<const std::byte> key,
                                                  std::span<const std::string> words) const {
  bpf::Map& map = *named_.map;
  std::vector<std::byte> all(map.control_value_size());
  const auto put = [&](uint32_t cpu, const std::vector<std::byte>& value) {
    std::copy(value.begin(), value.end(), all.begin() + static_cast<ptrdiff_t>(cpu * map.control_stride()));
  };
  if (words.empty() || words.front() != "cpu") {
    auto value = parse_bytes(words, map.spec().value_size, "value", names_);
    if (!value) {
      return value.error();
    }
    for (uint32_t cpu = 0; cpu < map.cpus(); ++cpu) {
      put(cpu, *value);
    }
    return all;
  }
  (void)map.copy_lookup(key, all);  // zeros where there is no entry yet
  while (!words.empty()) {
    const auto cpu = words.size() > 1 ? whole_number(words[1]) : std::nullopt;
    if (!cpu || *cpu >= map.cpus()) {
      return fail(EINVAL, fmt::format("value: \"cpu\" takes a number from 0 to {}", map.cpus() - 1));
    }
    words = words.subspan(2);
    const auto end = std::find(words.begin(), words.end(), "cpu");
    const auto count = static_cast<size_t>(end - words.begin());
    auto value = parse_bytes(words.first(count), map.spec().value_size, fmt::format("value of cpu {}", *cpu), names_);
    if (!value) {
      return value.error();
    }
    put(*cpu, *value);
    words = words.subspan(count);
  }
  return all;
}

Result<std::vector<std::byte>> MapValues::target(std::span<const std::byte> key,
                                                 std::span<const std::string> words) const {
  const bpf::MapSpec& spec = named_.map->spec();
  if (spec.type == BPF_MAP_TYPE_CPUMAP && words.size() >= 2 && words.front() == "cpu") {
    uint32_t cpu = 0;
    std::memcpy(&cpu, key.data(), std::min(key.size(), sizeof cpu));
    if (whole_number(words[1]) != cpu) {
      return fail(EINVAL, fmt::format("value: cpu {} is not the key's, {}", words[1], cpu));
    }
    words = words.subspan(2);
  }
  std::vector<std::string> whole(words.begin(), words.end());
  const bool typed = !words.empty() && (words.front() == "if" || words.front() == "qsize");
  if (spec.value_size == 8 && typed && words.size() == 2) {
    whole.insert(whole.end(), {"u32", "0"});  // no program
  }
  auto value = parse_bytes(whole, spec.value_size, "value", names_);
  if (!value || spec.type == BPF_MAP_TYPE_CPUMAP) {
    return value;
  }
  uint32_t ifindex = 0;
  std::memcpy(&ifindex, value->data(), sizeof ifindex);
  const auto& devices = appliance_.devices();
  const bool known = std::any_of(devices.begin(), devices.end(), [&](const Device& d) { return d.ifindex == ifindex; });
  if (ifindex != 0 && !known) {
    return fail(EINVAL, fmt::format("value: no interface has the number {}; \"if NAME\" takes a name", ifindex));
  }
  return value;
}

}  // namespace xbond::app
