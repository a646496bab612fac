// xdp attach|detach, show xdp
#include <fmt/format.h>

#include "app/xbond/commands.hpp"
#include "bpf_compat/json.hpp"

namespace xbond::app {
namespace {

xdp::PortCounters sum_since_attach(Appliance& appliance, const Device& device, const AttachedInfo& info) {
  xdp::PortCounters sum;
  for (const port::Port* port : appliance.ports_below(device)) {
    const xdp::PortCounters one = appliance.counters_since_attach(port->id(), info);
    sum.runs += one.runs;
    for (size_t i = 0; i < sum.verdicts.size(); ++i) {
      sum.verdicts[i] += one.verdicts[i];
    }
    const auto unknown = static_cast<size_t>(xdp::Drop::xdp_unknown);
    sum.drops[unknown] += one.drops[unknown];
  }
  return sum;
}

void show_text(const Device& device, const bpf::Program& program, const AttachedInfo& info,
               const xdp::PortCounters& sum, std::string& out) {
  out += fmt::format("{}: xdp id {} {} (section {}) of {}\n", device.name, program.id(), program.name(),
                     program.section(), info.object);
  out += fmt::format("    engine {}{}, {} instructions\n", bpf::engine_name(program.engine()),
                     program.why_engine().empty() ? "" : " (" + program.why_engine() + ")", program.instructions());
  out += fmt::format("    runs {}", sum.runs);
  for (size_t i = 0; i < sum.verdicts.size(); ++i) {
    out += fmt::format("  {} {}", xdp::kVerdictNames[i], sum.verdicts[i]);
  }
  const uint64_t unknown = sum.drops[static_cast<size_t>(xdp::Drop::xdp_unknown)];
  out += unknown != 0 ? fmt::format("  (of the aborted, unknown return values {})\n", unknown) : "\n";
  if (const auto faults = program.faults(); faults.count != 0) {
    out += fmt::format("    run-time faults {}, the last: {}\n", faults.count, faults.last);
  }
  for (const auto& map : program.maps()) {
    out += fmt::format("    map id {} {}\n", map->id(), map->spec().name);
  }
}

void show_json(const Device& device, const bpf::Program& program, const AttachedInfo& info,
               const xdp::PortCounters& sum, json::Writer& w) {
  w.begin_object().member("target", device.name).member("id", program.id()).member("program", program.name());
  w.member("section", program.section()).member("object", info.object);
  w.member("engine", bpf::engine_name(program.engine())).member("why_engine", program.why_engine());
  w.member("instructions", program.instructions()).member("runs", sum.runs).key("verdicts").begin_object();
  for (size_t i = 0; i < sum.verdicts.size(); ++i) {
    w.member(xdp::kVerdictNames[i], sum.verdicts[i]);
  }
  w.end_object().member("unknown", sum.drops[static_cast<size_t>(xdp::Drop::xdp_unknown)]);
  const auto faults = program.faults();
  w.key("faults")
      .begin_object()
      .member("count", faults.count)
      .member("last", faults.last)
      .end_object()
      .key("maps")
      .begin_array();
  for (const auto& map : program.maps()) {
    w.begin_object().member("id", map->id()).member("name", map->spec().name).end_object();
  }
  w.end_array().end_object();
}

Status show_xdp(Appliance& appliance, const control::Args& args, std::string& out) {
  const std::string& wanted = args.get("TARGET");
  if (!wanted.empty()) {
    if (auto device = appliance.find(wanted); !device) {
      return device.error();
    }
  }
  json::Writer w;
  w.begin_array();
  bool any = false;
  for (const Device& device : appliance.devices()) {
    const AttachedInfo* info = appliance.attached(device.name);
    const auto program = appliance.program(device);
    const bool asked = wanted.empty() || appliance.find(wanted).value() == &device;
    if (info == nullptr || program == nullptr || !asked) {
      continue;
    }
    any = true;
    const xdp::PortCounters sum = sum_since_attach(appliance, device, *info);
    if (args.has("json")) {
      show_json(device, *program, *info, sum, w);
    } else {
      show_text(device, *program, *info, sum, out);
    }
  }
  w.end_array();
  if (args.has("json")) {
    out += w.take() + "\n";
  } else if (!any) {
    out += wanted.empty() ? "no XDP program attached\n" : fmt::format("{}: no XDP program attached\n", wanted);
  }
  return {};
}

}  // namespace

void add_xdp_commands(control::CommandTable& table, Appliance& appliance) {
  table.add({"xdp attach TARGET OBJ [PROGRAM] [force]",
             "attach a program of an object file; force replaces without losing a frame",
             [&](const control::Args& args, std::string& out) -> Status {
               auto target = appliance.find(args.get("TARGET"));
               if (!target) {
                 return target.error();
               }
               Status ok = appliance.attach(*target.value(), args.get("OBJ"), args.get("PROGRAM"), args.has("force"));
               if (ok) {
                 const auto program = appliance.program(*target.value());
                 out += fmt::format("{}: attached {} (id {}), engine {}\n", target.value()->name, program->name(),
                                    program->id(), bpf::engine_name(program->engine()));
               }
               return ok;
             }});
  table.add({"xdp detach TARGET", "detach the program of a bond or port",
             [&](const control::Args& args, std::string&) -> Status {
               auto target = appliance.find(args.get("TARGET"));
               return target ? appliance.detach(*target.value()) : Status(target.error());
             }});
  table.add({"show xdp [TARGET] [json]", "attached programs: engine, runs, verdicts, maps",
             [&](const control::Args& args, std::string& out) { return show_xdp(appliance, args, out); }});
}

}  // namespace xbond::app
