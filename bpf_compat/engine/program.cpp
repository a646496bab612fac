#include "bpf_compat/engine/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/llvm/code.hpp"
#include "bpf_compat/engine/loading.hpp"
#include "bpf_compat/map/names.hpp"

namespace xbond::bpf {
namespace {

struct EngineName {
  EngineKind kind;
  std::string_view name;
};

constexpr std::array kEngines = {
    EngineName{EngineKind::automatic, "auto"},
    EngineName{EngineKind::rte_bpf, "rte_bpf"},
    EngineName{EngineKind::llvm, "llvm"},
    EngineName{EngineKind::interpreter, "interpreter"},
};

bool same_shape(const MapSpec& a, const MapSpec& b) {
  return a.name == b.name && a.type == b.type && a.key_size == b.key_size && a.value_size == b.value_size &&
         a.max_entries == b.max_entries && a.flags == b.flags;
}

// Data sections hold what the code was compiled with: a new program brings its own.
std::shared_ptr<Map> reusable(const MapSpec& spec, const LoadOptions& options) {
  if (!spec.initial.empty()) return nullptr;
  const auto it = std::ranges::find_if(options.reuse, [&](const std::shared_ptr<Map>& map) {
    return map && same_shape(map->spec(), spec) && (!map->per_cpu() || map->cpus() == options.cpus);
  });
  return it == options.reuse.end() ? nullptr : *it;
}

// The map that stands for a pinned one: null where none of that name is pinned yet.
Result<std::shared_ptr<Map>> pinned(const MapSpec& spec, const LoadOptions& options) {
  if (!spec.pinned) return std::shared_ptr<Map>();
  const auto it = std::ranges::find_if(options.pinned, [&](const auto& map) { return map->spec().name == spec.name; });
  if (it == options.pinned.end()) return std::shared_ptr<Map>();
  const auto& there = (*it)->spec();
  if (same_shape(there, spec)) return *it;
  return fail(EINVAL, fmt::format("map {}: pinned by another program with another shape (type {}, key {}, value {}, "
                                  "max_entries {}, flags {:#x})",
                                  spec.name, map_type_name(there.type), there.key_size, there.value_size,
                                  there.max_entries, there.flags));
}

std::vector<bool> referenced_maps(const ProgramSpec& spec, size_t count) {
  std::vector<bool> used(count, false);
  for (size_t i = 0; i < spec.insns.size(); ++i) {
    const auto& insn = spec.insns[i];
    if (!isa::is_wide(insn)) continue;
    ++i;
    if (insn.src_reg != BPF_PSEUDO_MAP_IDX && insn.src_reg != BPF_PSEUDO_MAP_IDX_VALUE) continue;
    if (const auto index = static_cast<uint32_t>(insn.imm); index < count) used[index] = true;
  }
  return used;
}

// By the object's map index. A map of a type that this version lacks stays null where the program does not use it.
Result<std::vector<std::shared_ptr<Map>>> make_maps(const Object& object, const ProgramSpec& spec,
                                                    const LoadOptions& options) {
  const auto used = referenced_maps(spec, object.maps().size());
  std::vector<std::shared_ptr<Map>> maps;
  for (size_t i = 0; i < object.maps().size(); ++i) {
    const auto& map_spec = object.maps()[i];
    auto shared = pinned(map_spec, options);
    if (!shared) return shared.error();
    if (*shared) {
      maps.push_back(std::move(*shared));
      continue;
    }
    if (auto map = reusable(map_spec, options)) {
      maps.push_back(std::move(map));
      continue;
    }
    auto map = Map::create(map_spec, options.cpus, options.grace ? *options.grace : BurstGrace::instance());
    if (!map && (used[i] || map.error().code != ENOTSUP)) return map.error();
    maps.push_back(map ? std::move(*map) : nullptr);
  }
  return maps;
}

}  // namespace

Result<EngineKind> parse_engine(std::string_view name) {
  const auto it = std::ranges::find(kEngines, name, &EngineName::name);
  if (it != kEngines.end()) return it->kind;
  return fail(EINVAL, fmt::format("unknown engine {}: auto, rte_bpf, llvm or interpreter", name));
}

std::string_view engine_name(EngineKind kind) {
  const auto it = std::ranges::find(kEngines, kind, &EngineName::kind);
  return it == kEngines.end() ? "unknown" : it->name;
}

Status engine_available(EngineKind kind) {
  if (kind == EngineKind::automatic || kind == EngineKind::interpreter) return {};
  const bool native = llvm::Code::available();
  if (kind == EngineKind::llvm && native) return {};
  return fail(ENOTSUP, fmt::format("engine {} is not in this build; there is {}interpreter", engine_name(kind),
                                   native ? "llvm and " : ""));
}

Result<std::shared_ptr<Program>> Program::load(const Object& object, const ProgramSpec& spec,
                                               const LoadOptions& options) {
  const auto refused = [&](const Error& error) {
    return fail(error.code, fmt::format("object {}: program {}: {}", object.name(), spec.name, error.text));
  };
  if (auto status = engine_available(options.engine); !status) return refused(status.error());
  if (!spec.refused.empty()) return refused(fail(ENOTSUP, spec.refused));
  if (options.cpus == 0) return refused(fail(EINVAL, "no CPU to run on"));
  // Before maps are made for it
  if (const auto shape = check_code(spec.insns); !shape) return refused(shape.error());
  auto maps = make_maps(object, spec, options);
  if (!maps) return refused(maps.error());
  const auto loading = std::make_shared<Loading>(object, std::move(*maps), options);
  auto program = loading->make(spec, true);
  if (!program) return refused(program.error());
  if (auto status = loading->fill(); !status) return refused(status.error());
  return program;
}

}  // namespace xbond::bpf
