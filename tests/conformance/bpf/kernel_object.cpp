#include "tests/conformance/bpf/kernel_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bpf_compat/engine/isa.hpp"

namespace xbond::bpf::conformance {
namespace {

constexpr uint32_t kLoadersEntries = 64;

// Our name of a map of libbpf's: data sections go without the object's name.
std::string name_of(const bpf_map* map) {
  const std::string name = bpf_map__name(map);
  const auto dot = bpf_map__is_internal(map) ? name.find('.') : std::string::npos;
  return dot == std::string::npos ? name : name.substr(dot);
}

UniqueFd make_map(const MapSpec& spec, int& error) {
  if (!spec.inner) return create_map(spec, error);
  const auto inner = create_map(*spec.inner, error);
  if (!inner) return UniqueFd();
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = spec.flags;
  options.inner_map_fd = static_cast<uint32_t>(inner.get());
  const int fd = bpf_map_create(static_cast<bpf_map_type>(spec.type), "conformance", spec.key_size, spec.value_size,
                                spec.max_entries, &options);
  error = fd < 0 ? errno : 0;
  return UniqueFd(fd);
}

// First values, as the object wrote them.
bool fill(int fd, const MapSpec& spec, const std::map<std::string, int>& maps) {
  const uint32_t zero = 0;
  if (!spec.initial.empty() && bpf_map_update_elem(fd, &zero, spec.initial.data(), BPF_ANY) != 0) return false;
  if (spec.frozen && bpf_map_freeze(fd) != 0) return false;
  return std::ranges::all_of(spec.initial_refs, [&](const MapSpec::Ref& ref) {
    const auto target = maps.find(ref.target);
    return target != maps.end() && bpf_map_update_elem(fd, &ref.key, &target->second, BPF_ANY) == 0;
  });
}

// What a program is loaded for, by its section's name
bpf_attach_type attach_type(std::string_view section) {
  if (section.ends_with("/devmap")) return BPF_XDP_DEVMAP;
  return section.ends_with("/cpumap") ? BPF_XDP_CPUMAP : BPF_XDP;
}

}  // namespace

int KernelObject::map(const std::string& name) const {
  const auto it = maps_.find(name);
  return it == maps_.end() ? -1 : it->second;
}

Object sized_by_loader(Object object) {
  const auto without = [](const MapSpec& map) { return map.max_entries == 0; };
  if (std::ranges::none_of(object.maps(), without)) return object;
  std::vector<MapSpec> maps(object.maps().begin(), object.maps().end());
  for (auto& map : maps)
    if (without(map)) map.max_entries = kLoadersEntries;
  std::vector<ProgramSpec> programs(object.programs().begin(), object.programs().end());
  programs.insert(programs.end(), object.untyped().begin(), object.untyped().end());
  return Object::of(object.name(), std::move(maps), std::move(programs));
}

KernelObject KernelObject::by_libbpf(const std::string& path, const std::string& name, std::string& why) {
  KernelObject out;
  out.handle_.reset(bpf_object__open_file(path.c_str(), nullptr));
  if (!out.handle_) {
    why = fmt::format("libbpf does not open it ({})", std::strerror(errno));
    return out;
  }
  bpf_program* wanted = nullptr;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, out.handle_.get()) {
    const bool is_it = name == bpf_program__name(program);
    bpf_program__set_autoload(program, is_it);
    if (!is_it) continue;
    wanted = program;
    bpf_program__set_type(program, BPF_PROG_TYPE_XDP);
    // Programs for devmaps and cpumaps have no test run of their own
    bpf_program__set_expected_attach_type(program, BPF_XDP);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, out.handle_.get()) {
    bpf_map__set_pin_path(map, nullptr);
    if (bpf_map__max_entries(map) == 0) bpf_map__set_max_entries(map, kLoadersEntries);
  }
  if (!wanted) {
    why = "libbpf does not find it";
    return out;
  }
  if (const int rc = bpf_object__load(out.handle_.get()); rc != 0) {
    why = fmt::format("does not load ({})", std::strerror(-rc));
    return out;
  }
  bpf_object__for_each_map(map, out.handle_.get()) out.maps_[name_of(map)] = bpf_map__fd(map);
  out.program_ = bpf_program__fd(wanted);
  return out;
}

KernelObject KernelObject::by_instructions(const Object& object, const ProgramSpec& program, std::string& why,
                                           double* milliseconds) {
  KernelObject out;
  for (const auto& spec : object.maps()) {
    int error = 0;
    auto fd = make_map(spec, error);
    if (!fd) {
      why = fmt::format("no map {} ({})", spec.name, std::strerror(error));
      return out;
    }
    out.maps_[spec.name] = fd.get();
    out.own_.push_back(std::move(fd));
  }
  for (const auto& spec : object.maps()) {
    if (fill(out.maps_[spec.name], spec, out.maps_)) continue;
    why = fmt::format("map {} does not take its first value", spec.name);
    return out;
  }
  auto code = program.insns;
  for (size_t i = 0; i < code.size(); ++i) {
    if (!isa::is_wide(code[i])) continue;
    auto& insn = code[i++];
    if (insn.src_reg != BPF_PSEUDO_MAP_IDX && insn.src_reg != BPF_PSEUDO_MAP_IDX_VALUE) continue;
    const bool value = insn.src_reg == BPF_PSEUDO_MAP_IDX_VALUE;
    insn.src_reg = value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
    insn.imm = out.own_[static_cast<size_t>(insn.imm)].get();
  }
  const LoadAs as{.attach = attach_type(program.section), .milliseconds = milliseconds};
  auto fd = load_program(code, why, as);
  if (!fd) return out;
  out.program_ = fd.get();
  out.own_.push_back(std::move(fd));
  return out;
}

}  // namespace xbond::bpf::conformance
