#include <fmt/format.h>

#include "app/xbpf/arguments.hpp"
#include "app/xbpf/command.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/json.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::xbpf {
namespace po = boost::program_options;

namespace {

// What stands behind "accepted"
constexpr std::string_view kProof = "proven safe";

struct Outcome {
  const bpf::ProgramSpec* program;
  std::string error;  // empty: accepted
  bpf::verifier::Report report;
};

// The one that was named, or all XDP programs of the object, as a loader would take them.
Result<std::vector<const bpf::ProgramSpec*>> chosen(const bpf::Object& object, const std::string& name) {
  if (!name.empty()) {
    if (const auto* program = object.find(name)) return std::vector{program};
    const auto selected = object.select(name);
    return selected ? std::vector{*selected} : Result<std::vector<const bpf::ProgramSpec*>>(selected.error());
  }
  if (object.programs().empty()) {
    const auto none = object.select("");
    return none ? std::vector{*none} : Result<std::vector<const bpf::ProgramSpec*>>(none.error());
  }
  std::vector<const bpf::ProgramSpec*> all;
  for (const auto& program : object.programs()) all.push_back(&program);
  return all;
}

// What the verifier says, and where it accepts, whether maps and helpers are there.
Outcome judge(const bpf::Object& object, const bpf::ProgramSpec& spec, bool log) {
  Outcome outcome{.program = &spec, .error = spec.refused, .report = {}};
  if (!outcome.error.empty()) return outcome;
  outcome.report = bpf::verifier::verify(object, spec, {.log = log});
  if (outcome.report.refusal) {
    outcome.error = outcome.report.refusal->line();
    return outcome;
  }
  if (const auto program = bpf::Program::load(object, spec, {}); !program) outcome.error = program.error().text;
  return outcome;
}

std::string as_json(const bpf::Object& object, std::span<const Outcome> outcomes) {
  json::Writer w;
  w.begin_object().member("object", object.name()).member("proof", "static").key("programs").begin_array();
  for (const auto& outcome : outcomes) {
    w.begin_object().member("name", outcome.program->name).member("section", outcome.program->section);
    w.member("accepted", outcome.error.empty()).key("error");
    if (outcome.error.empty())
      w.null();
    else
      w.value(outcome.error);
    w.member("walked", outcome.report.statistics.walked).member("states", outcome.report.statistics.states);
    w.end_object();
  }
  return w.end_array().end_object().take();
}

// Those that are refused come last, so that the last line says why.
void print_text(std::span<const Outcome> outcomes, bool log) {
  for (const auto& outcome : outcomes) {
    if (!outcome.error.empty()) continue;
    const auto& statistics = outcome.report.statistics;
    if (log) {
      fmt::print("{}", outcome.report.log);
      fmt::print("processed {} insns (limit 1000000) total_states {} stack depth {}\n", statistics.walked,
                 statistics.states, outcome.report.facts.stack_bytes);
    }
    fmt::print("{}: accepted ({})\n", outcome.program->name, kProof);
  }
  for (const auto& outcome : outcomes) {
    if (outcome.error.empty()) continue;
    if (log) fmt::print("{}", outcome.report.log);
    if (outcome.report.refusal) fmt::print("{}\n", outcome.report.refusal->state);
    fmt::print("{}: refused: {}\n", outcome.program->name, outcome.error);
  }
}

}  // namespace

int verify(const Words& words) {
  po::options_description options;
  options.add_options()("prog", po::value<std::string>()->default_value(""));
  options.add_options()("json", po::bool_switch())("log", po::bool_switch());
  const auto values = parse_words(words, options, {"OBJ"});
  if (!values) return complain(values.error(), kUsage);
  const auto object = bpf::Object::open((*values)["OBJ"].as<std::string>());
  if (!object) return complain(object.error(), kUsage);
  const auto programs = chosen(*object, (*values)["prog"].as<std::string>());
  if (!programs) return complain(programs.error(), kUsage);

  std::vector<Outcome> outcomes;
  bool refused = false;
  for (const auto* program : *programs) {
    outcomes.push_back(judge(*object, *program, (*values)["log"].as<bool>()));
    refused = refused || !outcomes.back().error.empty();
  }
  if ((*values)["json"].as<bool>())
    fmt::print("{}\n", as_json(*object, outcomes));
  else
    print_text(outcomes, (*values)["log"].as<bool>());
  return refused ? kFailed : kDone;
}

}  // namespace xbond::xbpf
