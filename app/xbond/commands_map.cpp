// bpf map list|dump|lookup|getnext|update|delete
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/xbond/commands.hpp"
#include "app/xbond/map_values.hpp"
#include "bpf_compat/hex.hpp"
#include "bpf_compat/json.hpp"

namespace xbond::app {
namespace {

const char* type_name(const bpf::Map& map) {
  const char* name = libbpf_bpf_map_type_str(static_cast<bpf_map_type>(map.spec().type));
  return name == nullptr ? "unknown" : name;
}

// The value of each CPU, or the one value.
std::vector<std::span<const std::byte>> slots(const bpf::Map& map, std::span<const std::byte> value) {
  if (!map.per_cpu()) {
    return {value};
  }
  std::vector<std::span<const std::byte>> out;
  for (uint32_t cpu = 0; cpu < map.cpus(); ++cpu) {
    out.push_back(value.subspan(cpu * map.control_stride(), map.spec().value_size));
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
  w.begin_object().member("key", to_hex(key));
  if (!map.per_cpu()) {
    w.member("value", to_hex(value)).end_object();
    return;
  }
  w.key("values").begin_array();
  uint32_t cpu = 0;
  for (const auto& slot : slots(map, value)) {
    w.begin_object().member("cpu", cpu++).member("value", to_hex(slot)).end_object();
  }
  w.end_array().end_object();
}

// Keys that are always there, while what they lead to may not be.
bool has_empty_slots(const bpf::Map& map) {
  switch (map.spec().type) {
    case BPF_MAP_TYPE_ARRAY_OF_MAPS:
    case BPF_MAP_TYPE_PROG_ARRAY:
    case BPF_MAP_TYPE_DEVMAP:
    case BPF_MAP_TYPE_CPUMAP:
      return true;
    default:
      return false;
  }
}

Status list(Appliance& appliance, const control::Args& args, std::string& out) {
  json::Writer w;
  w.begin_array();
  for (const NamedMap& named : all_maps(appliance)) {
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

// Every entry; arrays of maps, programs and targets have keys without one, which the text shows as bpftool does.
Status dump(Appliance& appliance, const control::Args& args, std::string& out) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  bpf::Map& m = *named->map;
  const bool nonzero = args.has("nonzero");
  std::vector<std::byte> key, next(m.spec().key_size), value(m.control_value_size());
  json::Writer w;
  w.begin_array();
  size_t elements = 0;
  while (m.next_key(key, next) == 0) {
    key = next;
    if (const int rc = m.copy_lookup(key, value); rc != 0) {
      if (rc != -ENOENT) {
        return map_error(rc, m, "lookup");
      }
      if (!args.has("json") && !nonzero && has_empty_slots(m)) {
        out += fmt::format("key: {}  value: <no entry>\n", bytes_text(key));
      }
      continue;  // or deleted between the two calls
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

// The words of a list, without "json" at its end; whether it was there.
bool take_json(std::span<const std::string>& words) {
  const bool json = !words.empty() && words.back() == "json";
  if (json) {
    words = words.first(words.size() - 1);
  }
  return json;
}

Status lookup(Appliance& appliance, const control::Args& args, std::string& out) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  bpf::Map& m = *named->map;
  std::span<const std::string> words = args.rest("WORD");
  const bool as_json = take_json(words);
  auto key = MapValues(appliance, *named).key(words);
  if (!key) {
    return key.error();
  }
  std::vector<std::byte> value(m.control_value_size());
  if (const int rc = m.copy_lookup(*key, value); rc != 0) {
    return map_error(rc, m, "lookup");
  }
  if (as_json) {
    json::Writer w;
    entry_json(m, *key, value, w);
    out += w.take() + "\n";
  } else {
    entry_text(m, *key, value, out);
  }
  return {};
}

Status next_key(Appliance& appliance, const control::Args& args, std::string& out) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  bpf::Map& m = *named->map;
  std::span<const std::string> words = args.rest("WORD");
  const bool as_json = take_json(words);
  std::vector<std::byte> key;
  if (args.has("key")) {
    auto parsed = MapValues(appliance, *named).key(words);
    if (!parsed) {
      return parsed.error();
    }
    key = std::move(*parsed);
  }
  std::vector<std::byte> next(m.spec().key_size);
  if (const int rc = m.next_key(key, next); rc != 0) {
    return map_error(rc, m, "next key");
  }
  if (as_json || args.has("json")) {
    json::Writer w;
    w.begin_object().key("key");
    key.empty() ? w.null() : w.value(to_hex(key));
    out += w.member("next_key", to_hex(next)).end_object().take() + "\n";
  } else {
    out += fmt::format("key: {}\nnext key: {}\n", key.empty() ? "None" : bytes_text(key), bytes_text(next));
  }
  return {};
}

// The flag that ends an update's words, taken off them.
uint64_t take_flag(std::span<const std::string>& words) {
  constexpr std::array<std::pair<std::string_view, uint64_t>, 3> kFlags = {
      {{"any", BPF_ANY}, {"exist", BPF_EXIST}, {"noexist", BPF_NOEXIST}}};
  for (const auto& [name, flag] : kFlags) {
    if (!words.empty() && words.back() == name) {
      words = words.first(words.size() - 1);
      return flag;
    }
  }
  return BPF_ANY;
}

Status update(Appliance& appliance, const control::Args& args) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  bpf::Map& m = *named->map;
  std::span<const std::string> words = args.rest("WORD");
  const auto split = std::find(words.begin(), words.end(), "value");
  if (split == words.end()) {
    return fail(EINVAL, "no \"value\": bpf map update MAP key WORD... value WORD... [any|exist|noexist]");
  }
  const auto at = static_cast<size_t>(split - words.begin());
  std::span<const std::string> value_words = words.subspan(at + 1);
  const uint64_t flags = take_flag(value_words);
  const MapValues values(appliance, *named);
  auto key = values.key(words.first(at));
  if (!key) {
    return key.error();
  }
  auto value = values.value(*key, value_words);
  if (!value) {
    return value.error();
  }
  if (m.spec().frozen) {
    return fail(EPERM, fmt::format("map {}: read-only data of the object", m.spec().name));
  }
  const int rc = m.copy_update(*key, *value, flags);
  return rc == 0 ? Status() : map_error(rc, m, "update");
}

Status erase(Appliance& appliance, const control::Args& args) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  auto key = MapValues(appliance, *named).key(args.rest("WORD"));
  if (!key) {
    return key.error();
  }
  const int rc = named->map->copy_erase(*key);
  return rc == 0 ? Status() : map_error(rc, *named->map, "delete");
}

}  // namespace

void add_map_commands(control::CommandTable& table, Appliance& appliance) {
  table.completer("MAP", [&](const control::Args&) {
    std::vector<std::string> names;
    for (const NamedMap& named : all_maps(appliance)) {
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
             "one entry; bytes as bpftool takes them, or u32 N, be16 N, ip A.B.C.D ... [json]",
             [&](const control::Args& args, std::string& out) { return lookup(appliance, args, out); }});
  table.add({"bpf map getnext MAP [json]", "the first key of a map",
             [&](const control::Args& args, std::string& out) { return next_key(appliance, args, out); }});
  table.add({"bpf map getnext MAP key WORD...", "the key behind another one [json]",
             [&](const control::Args& args, std::string& out) { return next_key(appliance, args, out); }});
  table.add({"bpf map update MAP key WORD...",
             "... value WORD...|if NAME [prog P]|prog P|map M|cpu N qsize Q [prog P]|cpu N WORD... (per-CPU maps: that "
             "CPU's only) [any|exist|noexist]: sets an entry",
             [&](const control::Args& args, std::string&) { return update(appliance, args); }});
  table.add({"bpf map delete MAP key WORD...", "deletes an entry",
             [&](const control::Args& args, std::string&) { return erase(appliance, args); }});
  add_map_stream_commands(table, appliance);
}

}  // namespace xbond::app
