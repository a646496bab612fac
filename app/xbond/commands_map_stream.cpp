// bpf map push|enqueue|pop|dequeue|peek|event_pipe: maps without keys, and the records that programs write.
#include <fmt/format.h>

#include <algorithm>

#include "app/xbond/commands.hpp"
#include "app/xbond/map_values.hpp"
#include "bpf_compat/hex.hpp"
#include "bpf_compat/json.hpp"

namespace xbond::app {
namespace {

Status push(Appliance& appliance, const control::Args& args) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  if (named->map->spec().key_size != 0) {
    return fail(EINVAL, fmt::format("map {} has keys: use bpf map update", named->map->spec().name));
  }
  auto value = MapValues(appliance, *named).value({}, args.rest("WORD"));
  if (!value) {
    return value.error();
  }
  const int rc = named->map->copy_update({}, *value, BPF_ANY);
  return rc == 0 ? Status() : map_error(rc, *named->map, "push");
}

Status take(Appliance& appliance, const control::Args& args, bool remove, std::string& out) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  bpf::Map& map = *named->map;
  if (map.spec().key_size != 0) {
    return fail(EINVAL, fmt::format("map {} has keys: use bpf map lookup", map.spec().name));
  }
  std::vector<std::byte> value(map.control_value_size());
  if (const int rc = remove ? map.copy_take({}, value) : map.copy_lookup({}, value); rc != 0) {
    return map_error(rc, map, remove ? "pop" : "peek");
  }
  if (args.has("json")) {
    out += json::Writer().begin_object().member("value", to_hex(value)).end_object().take() + "\n";
  } else {
    out += fmt::format("value: {}\n", bytes_text(value));
  }
  return {};
}

void event_text(const bpf::Event& event, bool perf, std::string& out) {
  constexpr uint64_t kSecond = 1'000'000'000;
  constexpr size_t kPerLine = 16;
  if (perf) {
    out += fmt::format("== @{}.{:09} CPU: {} index: {} =====\n", event.time_ns / kSecond, event.time_ns % kSecond,
                       event.cpu, event.index);
  } else {
    out += fmt::format("== {} bytes =====\n", event.data.size());
  }
  for (size_t at = 0; at < event.data.size(); at += kPerLine) {
    out += bytes_text(event.data.subspan(at, std::min(kPerLine, event.data.size() - at))) + "\n";
  }
}

// An answer holds no more records than this; the rest waits for the next one
constexpr size_t kMaxRecords = 256;

// What the programs have written since the last time: unlike bpftool's, it does not wait.
Status event_pipe(Appliance& appliance, const control::Args& args, std::string& out) {
  auto named = find_map(appliance, args.get("MAP"));
  if (!named) {
    return named.error();
  }
  const bool perf = named->map->spec().type == BPF_MAP_TYPE_PERF_EVENT_ARRAY;
  json::Writer w;
  w.begin_array();
  size_t records = 0;
  const int rc = named->map->drain([&](const bpf::Event& event) {
    const bool more = ++records < kMaxRecords;
    if (!args.has("json")) {
      event_text(event, perf, out);
      return more;
    }
    w.begin_object();
    if (perf) {
      w.member("cpu", event.cpu).member("index", event.index).member("timestamp", event.time_ns);
    }
    w.member("data", to_hex(event.data)).end_object();
    return more;
  });
  w.end_array();
  if (rc != 0) {
    return fail(EINVAL, fmt::format("map {} is no perf event array and no ring buffer", named->map->spec().name));
  }
  if (args.has("json")) {
    out += w.take() + "\n";
  }
  return {};
}

}  // namespace

void add_map_stream_commands(control::CommandTable& table, Appliance& appliance) {
  table.add({"bpf map push|enqueue MAP value WORD...", "adds a value to a stack, queue or bloom filter",
             [&](const control::Args& args, std::string&) { return push(appliance, args); }});
  table.add({"bpf map peek MAP [json]", "the next value of a stack or queue",
             [&](const control::Args& args, std::string& out) { return take(appliance, args, false, out); }});
  table.add({"bpf map pop|dequeue MAP [json]", "takes the next value off a stack or queue",
             [&](const control::Args& args, std::string& out) { return take(appliance, args, true, out); }});
  table.add({"bpf map event_pipe MAP [json]",
             "records of a perf event array or ring buffer since the last time, 256 at most",
             [&](const control::Args& args, std::string& out) { return event_pipe(appliance, args, out); }});
}

}  // namespace xbond::app
