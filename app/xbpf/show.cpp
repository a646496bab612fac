#include <fmt/format.h>

#include "app/xbpf/arguments.hpp"
#include "app/xbpf/command.hpp"
#include "bpf_compat/json.hpp"
#include "bpf_compat/map/names.hpp"
#include "bpf_compat/object/object.hpp"

namespace xbond::xbpf {
namespace po = boost::program_options;

namespace {

void map_json(json::Writer& w, const bpf::MapSpec& map) {
  w.begin_object().member("name", map.name).member("type", bpf::map_type_name(map.type));
  w.member("key_size", map.key_size).member("value_size", map.value_size).member("max_entries", map.max_entries);
  w.member("flags", map.flags).member("pinned", map.pinned).member("frozen", map.frozen);
  if (map.inner) map_json(w.key("inner"), *map.inner);
  if (!map.initial_refs.empty()) {
    w.key("values").begin_array();
    for (const auto& ref : map.initial_refs)
      w.begin_object().member("key", ref.key).member("value", ref.target).end_object();
    w.end_array();
  }
  w.end_object();
}

struct Kind {
  std::span<const bpf::ProgramSpec> programs;
  std::string_view type;
};

std::array<Kind, 3> kinds(const bpf::Object& object) {
  return {Kind{object.programs(), "xdp"}, Kind{object.untyped(), "unknown"}, Kind{object.foreign(), "other"}};
}

std::string as_json(const bpf::Object& object) {
  json::Writer w;
  w.begin_object().member("object", object.name()).key("maps").begin_array();
  for (const auto& map : object.maps()) map_json(w, map);
  w.end_array().key("programs").begin_array();
  for (const auto& [programs, type] : kinds(object)) {
    for (const auto& program : programs) {
      w.begin_object().member("name", program.name).member("section", program.section).member("type", type);
      w.member("instructions", program.insns.size());
      if (!program.refused.empty()) w.member("refused", program.refused);
      w.end_object();
    }
  }
  return w.end_array().end_object().take();
}

std::string map_text(const bpf::MapSpec& map) {
  auto text = fmt::format("{}  {}  key {}B  value {}B  max_entries {}  flags {:#x}", map.name,
                          bpf::map_type_name(map.type), map.key_size, map.value_size, map.max_entries, map.flags);
  if (map.pinned) text += "  pinned by name";
  if (map.frozen) text += "  frozen";
  text += '\n';
  if (map.inner) text += "    of " + map_text(*map.inner);
  for (const auto& ref : map.initial_refs) text += fmt::format("    {} = {}\n", ref.key, ref.target);
  return text;
}

std::string as_text(const bpf::Object& object) {
  std::string text;
  for (const auto& map : object.maps()) text += "map " + map_text(map);
  for (const auto& [programs, type] : kinds(object)) {
    for (const auto& program : programs) {
      text += fmt::format("program {}  section {}  type {}", program.name, program.section, type);
      // Programs of other types are not relocated: how many instructions they would have is not known
      if (!program.insns.empty()) text += fmt::format("  {} instructions", program.insns.size());
      if (!program.refused.empty()) text += fmt::format("\n    can't run: {}", program.refused);
      text += '\n';
    }
  }
  return text;
}

}  // namespace

int show(const Words& words) {
  po::options_description options;
  options.add_options()("json", po::bool_switch());
  const auto values = parse_words(words, options, {"OBJ"});
  if (!values) return complain(values.error(), kUsage);
  const auto object = bpf::Object::open((*values)["OBJ"].as<std::string>());
  if (!object) return complain(object.error());
  if ((*values)["json"].as<bool>())
    fmt::print("{}\n", as_json(*object));
  else
    fmt::print("{}", as_text(*object));
  return kDone;
}

}  // namespace xbond::xbpf
