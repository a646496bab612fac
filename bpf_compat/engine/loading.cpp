#include "bpf_compat/engine/loading.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstring>
#include <map>
#include <optional>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/decoded.hpp"
#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/llvm/program.hpp"
#include "bpf_compat/map/registry.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::bpf {
namespace {

Registry<const Program>& registry() {
  static Registry<const Program> programs;
  return programs;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

bool tries_llvm(EngineKind kind) {
  return kind == EngineKind::llvm || (kind == EngineKind::automatic && llvm::Code::available());
}

}  // namespace

std::shared_ptr<const Program> Program::find(uint32_t id) {
  return registry().find(id);
}

Result<std::shared_ptr<const Program>> Program::sibling(std::string_view name) const {
  if (!loading_) return fail(ENOTSUP, fmt::format("program {} runs in the place of another", name_));
  auto made = loading_->sibling(name);
  if (!made) return made.error();
  return std::shared_ptr<const Program>(std::move(*made));
}

Loading::Loading(const Object& object, std::vector<std::shared_ptr<Map>> maps, const LoadOptions& options)
    : object_(object),
      maps_(std::move(maps)),
      options_{.engine = options.engine, .proven = options.proven, .cpus = options.cpus, .grace = options.grace} {}

Result<std::shared_ptr<Program>> Loading::make(const ProgramSpec& spec, bool user) {
  if (!spec.refused.empty()) return fail(ENOTSUP, spec.refused);
  const auto shape = check_code(spec.insns);
  if (!shape) return shape.error();
  std::optional<verifier::Report> report;
  if (options_.proven || tries_llvm(options_.engine)) report = verifier::verify(object_, spec);
  if (options_.proven && report->refusal) return fail(EACCES, report->refusal->line());
  InterpreterProgram::Parts parts;
  parts.bound.reserve(maps_.size());
  std::vector<const BoundMap*> by_index;
  for (const auto& map : maps_) {
    if (map) parts.bound.push_back(bind_map(*map));
    by_index.push_back(map ? &parts.bound.back() : nullptr);
    if (map) parts.maps.push_back(map);
  }
  auto code = decode(spec.insns, by_index);
  if (!code) return code.error();
  parts.code = std::move(*code);
  parts.name = spec.name;
  parts.section = spec.section;
  parts.object_name = object_.name();
  if (options_.engine == EngineKind::automatic)
    parts.why = llvm::Code::available() ? "rte_bpf: not in this build" : "rte_bpf, llvm: not in this build";
  parts.instructions = spec.insns.size();
  parts.frames = shape->frames;
  parts.cpus = options_.cpus;
  parts.own_grace = options_.grace == nullptr;
  if (user) parts.loading = shared_from_this();
  auto program = make_by_engine(spec, std::move(parts), by_index, report ? &*report : nullptr);
  if (!program) return program.error();
  registry().add((*program)->id(), *program);
  return program;
}

Result<std::unique_ptr<llvm::Code>> Loading::compile(const ProgramSpec& spec, const verifier::Facts& facts,
                                                     std::span<const BoundMap* const> bound, bool entry) const {
  auto source = llvm::source_of(object_, spec, facts, bound);
  source.entry = entry;
  return llvm::Code::compile(source);
}

// What runs in another one's place is no reason to refuse that one: where llvm can't take it the interpreter does.
Result<std::shared_ptr<Program>> Loading::make_by_engine(const ProgramSpec& spec, InterpreterProgram::Parts parts,
                                                         std::span<const BoundMap* const> bound,
                                                         const verifier::Report* report) {
  if (tries_llvm(options_.engine)) {
    Result<std::unique_ptr<llvm::Code>> code = xbond::fail(EACCES, "");
    if (report->refusal)
      code.error().text = fmt::format("the verifier refuses it: {}", report->refusal->line());
    else
      code = compile(spec, report->facts, bound, !parts.loading);
    if (code) return llvm::make_program(std::move(parts), std::move(*code));
    const auto& [error, text] = code.error();
    if (parts.loading && options_.engine == EngineKind::llvm)
      return xbond::fail(error, fmt::format("engine llvm can't take it: {}", text));
    parts.why = fmt::format("{}{}llvm: {}", parts.why, parts.why.empty() ? "" : "; ", text);
  }
  return std::shared_ptr<Program>(std::make_shared<InterpreterProgram>(std::move(parts)));
}

Result<std::shared_ptr<Program>> Loading::sibling(std::string_view name) {
  const auto* spec = object_.find(name);
  if (!spec) return fail(ENOENT, fmt::format("object {}: no program {}", object_.name(), name));
  auto made = make(*spec, false);
  if (!made) return fail(made.error().code, fmt::format("program {}: {}", name, made.error().text));
  return made;
}

Result<uint32_t> Loading::map_id(const std::string& name) const {
  for (const auto& map : maps_)
    if (map && map->spec().name == name) return map->id();
  return fail(ENOENT, fmt::format("no map {}", name));
}

Status Loading::fill() {
  // By this object's specs: a map may be an older program's
  for (size_t i = 0; i < maps_.size(); ++i)
    if (maps_[i])
      if (auto status = fill(*maps_[i], object_.maps()[i].initial_refs); !status)
        return xbond::fail(status.error().code, fmt::format("map {}: {}", maps_[i]->spec().name, status.error().text));
  return {};
}

Status Loading::fill(Map& map, std::span<const MapSpec::Ref> refs) {
  const bool programs = map.spec().type == BPF_MAP_TYPE_PROG_ARRAY;
  std::map<std::string, std::shared_ptr<Program>> made;
  for (const auto& ref : refs) {
    uint32_t id = 0;
    if (programs) {
      auto& program = made[ref.target];
      if (!program) {
        auto sibling_made = sibling(ref.target);
        if (!sibling_made) return sibling_made.error();
        program = std::move(*sibling_made);
      }
      id = program->id();
    } else {
      // What control has put there since stays, when the map is an older program's
      if (map.copy_lookup(bytes_of(ref.key), std::as_writable_bytes(std::span(&id, 1))) == 0) continue;
      const auto found = map_id(ref.target);
      if (!found) return found.error();
      id = *found;
    }
    if (const int rc = map.copy_update(bytes_of(ref.key), bytes_of(id), BPF_ANY); rc != 0)
      return fail(-rc, fmt::format("{} at key {}: {}", ref.target, ref.key, std::strerror(-rc)));
  }
  return {};
}

}  // namespace xbond::bpf
