// bpf map list|dump|lookup|update|delete
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "app/xbond/commands.hpp"
#include "app/xbond/map_words.hpp"
#include "bpf_compat/json.hpp"

namespace xbond::app {
namespace {

using MapRef = std::shared_ptr<bpf::Map>;

struct Named {
  std::string target;
  MapRef map;
};

std::vector<Named> all_maps(Appliance& appliance) {
  std::vector<Named> out;
  for (const Device& device : appliance.devices()) {
    if (const auto program = appliance.program(device); program != nullptr) {
      for (const MapRef& map : program->maps()) {
        out.push_back({device.name, map});
      }
    }
  }
  return out;
}

// `word` is TARGET:MAP or an id.
Result<MapRef> find_map(Appliance& appliance, const std::string& word) {
  const std::vector<Named> maps = all_maps(appliance);
  uint32_t id = 0;
  if (const auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), id);
      ec == std::errc() && end == word.data() + word.size()) {
    for (const Named& named : maps) {
      if (named.map->id() == id) {
        return named.map;
      }
    }
    return fail(ENOENT, fmt::format("no map with id {}; \"bpf map list\" shows those there are", id));
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
  for (const Named& named : maps) {
    if (named.target != target.value()->name) {
      continue;
    }
    if (named.map->spec().name == word.substr(colon + 1)) {
      return named.map;
    }
    names.push_back(named.map->spec().name);
  }
  if (names.empty()) {
    return fail(ENOENT, fmt::format("{}: no maps (no program attached, or it has none)", target.value()->name));
  }
  return fail(ENOENT, fmt::format("{}: no map \"{}\"; there are: {}", target.value()->name, word.substr(colon + 1),
                                  fmt::join(names, ", ")));
}

const char* type_name(const bpf::Map& map) {
  const char* name = libbpf_bpf_map_type_str(static_cast<bpf_map_type>(map.spec().type));
  return name == nullptr ? "unknown" : name;
}

size_t stride(const bpf::Map& map) {
  return (map.spec().value_size + 7) / 8 * 8;
}

// The value of each CPU, or the one value.
std::vector<std::span<const std::byte>> slots(const bpf::Map& map, std::span<const std::byte> value) {
  if (!map.per_cpu()) {
    return {value};
  }
  std::vector<std::span<const std::byte>> out;
  for (uint32_t cpu = 0; cpu < map.cpus(); ++cpu) {
    out.push_back(value.subspan(cpu * stride(map), map.spec().value_size));
  }
  return out;
}

void entry_text(const bpf::Map& map, std::span<const std::byte> key, std::span<const std::byte> value,
                std::string& out) {
  if (!map.per_cpu()) {
    out += fmt::format("key: {}  value: {}\n", bytes_text(key), bytes_text(value));
    return;
  }
  out += fmt::format("key: {}\n", bytes_text(key));
  uint32_t cpu = 0;
  for (const auto& slot : slots(map, value)) {
    out += fmt::format("value (CPU {:02}): {}\n", cpu++, bytes_text(slot));
  }
}

void entry_json(const bpf::Map& map, std::span<const std::byte> key, std::span<const std::byte> value,
                json::Writer& w) {
  w.begin_object().member("key", bytes_hex(key));
  if (!map.per_cpu()) {
    w.member("value", bytes_hex(value)).end_object();
    return;
  }
  w.key("values").begin_array();
  uint32_t cpu = 0;
  for (const auto& slot : slots(map, value)) {
    w.begin_object().member("cpu", cpu++).member("value", bytes_hex(slot)).end_object();
  }
  w.end_array().end_object();
}

Error map_error(int rc, const bpf::Map& map, const char* action) {
  return fail(-rc, fmt::format("map {}: {}: {}", map.spec().name, action, std::strerror(-rc)));
}

Status list(Appliance& appliance, const control::Args& args, std::string& out) {
  json::Writer w;
  w.begin_array();
  for (const Named& named : all_maps(appliance)) {
    const bpf::MapSpec& spec = named.map->spec();
    if (args.has("json")) {
      w.begin_object().member("id", named.map->id()).member("target", named.target).member("name", spec.name);
      w.member("type", type_name(*named.map)).member("key_size", spec.key_size).member("value_size", spec.value_size);
      w.member("max_entries", spec.max_entries).member("flags", spec.flags).end_object();
    } else {
      out += fmt::format("{}: {}  name {}  target {}  flags 0x{:x}\n    key {}B  value {}B  max_entries {}\n",
                         named.map->id(), type_name(*named.map), spec.name, named.target, spec.flags, spec.key_size,
                         spec.value_size, spec.max_entries);
    }
  }
  w.end_array();
  if (args.has("json")) {
    out += w.take() + "\n";
  }
  return {};
}

Status dump(Appliance& appliance, const control::Args& args, std::string& out) {
  auto map = find_map(appliance, args.get("MAP"));
  if (!map) {
    return map.error();
  }
  bpf::Map& m = **map;
  const bool nonzero = args.has("nonzero");
  std::vector<std::byte> key, next(m.spec().key_size), value(m.control_value_size());
  json::Writer w;
  w.begin_array();
  size_t elements = 0;
  while (m.next_key(key, next) == 0) {
    key = next;
    if (m.copy_lookup(key, value) != 0) {
      continue;  // deleted between the two calls
    }
    if (nonzero && std::all_of(value.begin(), value.end(), [](std::byte b) { return b == std::byte{0}; })) {
      continue;
    }
    ++elements;
    if (args.has("json")) {
      entry_json(m, key, value, w);
    } else {
      entry_text(m, key, value, out);
    }
  }
  w.end_array();
  out += args.has("json") ? w.take() + "\n" : fmt::format("Found {} element{}\n", elements, elements == 1 ? "" : "s");
  return {};
}

Status lookup(Appliance& appliance, const control::Args& args, std::string& out) {
  auto map = find_map(appliance, args.get("MAP"));
  if (!map) {
    return map.error();
  }
  bpf::Map& m = **map;
  auto key = parse_bytes(args.rest("WORD"), m.spec().key_size, "key");
  if (!key) {
    return key.error();
  }
  std::vector<std::byte> value(m.control_value_size());
  if (const int rc = m.copy_lookup(*key, value); rc != 0) {
    return map_error(rc, m, "lookup");
  }
  entry_text(m, *key, value, out);
  return {};
}

// What a per-CPU map takes: the one value given goes to every CPU, as with bpftool.
std::vector<std::byte> for_all_cpus(const bpf::Map& map, const std::vector<std::byte>& value) {
  if (!map.per_cpu()) {
    return value;
  }
  std::vector<std::byte> out(map.control_value_size());
  for (uint32_t cpu = 0; cpu < map.cpus(); ++cpu) {
    std::copy(value.begin(), value.end(), out.begin() + static_cast<ptrdiff_t>(cpu * stride(map)));
  }
  return out;
}

Status update(Appliance& appliance, const control::Args& args) {
  auto map = find_map(appliance, args.get("MAP"));
  if (!map) {
    return map.error();
  }
  bpf::Map& m = **map;
  std::span<const std::string> words = args.rest("WORD");
  const auto split = std::find(words.begin(), words.end(), "value");
  if (split == words.end()) {
    return fail(EINVAL, "no \"value\": bpf map update MAP key WORD... value WORD... [any|exist|noexist]");
  }
  const auto at = static_cast<size_t>(split - words.begin());
  std::span<const std::string> value_words = words.subspan(at + 1);
  uint64_t flags = BPF_ANY;
  if (!value_words.empty()) {
    constexpr std::array<std::pair<std::string_view, uint64_t>, 3> kFlags = {
        {{"any", BPF_ANY}, {"exist", BPF_EXIST}, {"noexist", BPF_NOEXIST}}};
    for (const auto& [name, flag] : kFlags) {
      if (value_words.back() == name) {
        flags = flag;
        value_words = value_words.first(value_words.size() - 1);
        break;
      }
    }
  }
  auto key = parse_bytes(words.first(at), m.spec().key_size, "key");
  if (!key) {
    return key.error();
  }
  auto value = parse_bytes(value_words, m.spec().value_size, "value");
  if (!value) {
    return value.error();
  }
  if (m.spec().frozen) {
    return fail(EPERM, fmt::format("map {}: read-only data of the object", m.spec().name));
  }
  const int rc = m.copy_update(*key, for_all_cpus(m, *value), flags);
  return rc == 0 ? Status() : map_error(rc, m, "update");
}

Status erase(Appliance& appliance, const control::Args& args) {
  auto map = find_map(appliance, args.get("MAP"));
  if (!map) {
    return map.error();
  }
  auto key = parse_bytes(args.rest("WORD"), (*map)->spec().key_size, "key");
  if (!key) {
    return key.error();
  }
  const int rc = (*map)->copy_erase(*key);
  return rc == 0 ? Status() : map_error(rc, **map, "delete");
}

}  // namespace

void add_map_commands(control::CommandTable& table, Appliance& appliance) {
  table.completer("MAP", [&](const control::Args&) {
    std::vector<std::string> names;
    for (const Named& named : all_maps(appliance)) {
      names.push_back(named.target + ":" + named.map->spec().name);
    }
    return names;
  });
  table.add({"bpf map list [json]", "maps of all attached programs",
             [&](const control::Args& args, std::string& out) { return list(appliance, args, out); }});
  table.add({"bpf map dump MAP [nonzero] [json]",
             "every entry of a map (TARGET:MAP or id); nonzero leaves empty ones out",
             [&](const control::Args& args, std::string& out) { return dump(appliance, args, out); }});
  table.add({"bpf map lookup MAP key WORD...",
             "one entry; bytes as bpftool takes them, or u32 N, be16 N, ip A.B.C.D ...",
             [&](const control::Args& args, std::string& out) { return lookup(appliance, args, out); }});
  table.add({"bpf map update MAP key WORD...", "... value WORD... [any|exist|noexist]: sets an entry (on every CPU)",
             [&](const control::Args& args, std::string&) { return update(appliance, args); }});
  table.add({"bpf map delete MAP key WORD...", "deletes an entry",
             [&](const control::Args& args, std::string&) { return erase(appliance, args); }});
}

}  // namespace xbond::app
