#include "bpf_compat/object/object.hpp"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "bpf_compat/object/btf_handle.hpp"
#include "bpf_compat/object/libbpf_log.hpp"
#include "bpf_compat/object/normalise.hpp"
#include "bpf_compat/object/sanity.hpp"
#include "bpf_compat/object/text.hpp"

namespace xbond::bpf {
namespace {

// Objects in the field stay below a few megabytes.
constexpr size_t kMaxObjectBytes = size_t{64} << 20;

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using ObjectHandle = std::unique_ptr<bpf_object, CloseObject>;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Error errno_error(const std::string& path, int code) {
  return fail(code, fmt::format("object {}: {}", path, std::strerror(code)));
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hang us
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd() < 0) return errno_error(path, errno);
  struct stat info {};
  if (fstat(file.fd(), &info) != 0) return errno_error(path, errno);
  if (!S_ISREG(info.st_mode)) return fail(EINVAL, fmt::format("object {}: not a regular file", path));
  if (static_cast<size_t>(info.st_size) > kMaxObjectBytes)
    return fail(EFBIG, fmt::format("object {}: larger than {} MiB", path, kMaxObjectBytes >> 20));
  std::vector<std::byte> bytes(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const auto got = read(file.fd(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(path, errno);
    if (got == 0) return fail(EINVAL, fmt::format("object {}: shrank while it was read", path));
    done += static_cast<size_t>(got);
  }
  return bytes;
}

// ".rodata" of "anything.rodata": libbpf puts the object's name before data sections.
std::string map_name(const bpf_map* map) {
  const auto name = printable(bpf_map__name(map));
  const auto dot = bpf_map__is_internal(map) ? name.find('.') : std::string::npos;
  return dot == std::string::npos ? name : name.substr(dot);
}

MapSpec describe(bpf_map* map) {
  MapSpec spec;
  spec.name = map_name(map);
  spec.type = bpf_map__type(map);
  spec.key_size = bpf_map__key_size(map);
  spec.value_size = bpf_map__value_size(map);
  spec.max_entries = bpf_map__max_entries(map);
  spec.flags = bpf_map__map_flags(map);
  spec.extra = bpf_map__map_extra(map);
  spec.pinned = bpf_map__pin_path(map) != nullptr;
  if (auto* inner = bpf_map__inner_map(map)) spec.inner = std::make_shared<MapSpec>(describe(inner));
  if (bpf_map__is_internal(map)) {
    size_t size = 0;
    const auto* value = static_cast<const std::byte*>(bpf_map__initial_value(map, &size));
    if (value) spec.initial.assign(value, value + size);
    spec.frozen = spec.name.starts_with(".rodata") || spec.name.starts_with(".kconfig");
  }
  return spec;
}

ProgramSpec describe(const bpf_program* program, bool with_code) {
  ProgramSpec spec;
  spec.name = printable(bpf_program__name(program));
  spec.section = printable(bpf_program__section_name(program));
  if (with_code) {
    const auto* code = bpf_program__insns(program);
    spec.insns.assign(code, code + bpf_program__insn_cnt(program));
  }
  return spec;
}

std::string name_and_section(const ProgramSpec& program) {
  return fmt::format("{} (section {})", program.name, program.section);
}

std::string joined(std::span<const ProgramSpec> programs) {
  std::string text;
  for (const auto& program : programs) {
    if (!text.empty()) text += ", ";
    text += name_and_section(program);
  }
  return text;
}

Error libbpf_error(const LibbpfLog& log, std::string_view step, int code) {
  const auto& why = log.first();
  // libbpf has own numbers from 4000; only EINVAL and ENOMEM tell our callers anything
  return fail(code == -ENOMEM ? ENOMEM : EINVAL, why.empty() ? fmt::format("libbpf can't {} it", step) : why);
}

bool counts_as_xdp(const bpf_program* program) {
  const auto type = bpf_program__type(program);
  return type == BPF_PROG_TYPE_XDP || type == BPF_PROG_TYPE_UNSPEC;
}

// Makes the object loadable without a kernel: XDP programs only, no pins.
void prepare(bpf_object* object) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    const bool wanted = counts_as_xdp(program);
    bpf_program__set_autoload(program, wanted);
    if (wanted) bpf_program__set_type(program, BPF_PROG_TYPE_XDP);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) bpf_map__set_pin_path(map, nullptr);
}

// A program that needs what only a running kernel has. Where it calls kernel functions, their names follow from imm.
std::string need_of_kernel(const ProgramSpec& program, const std::vector<std::string>& names) {
  for (const auto& insn : program.insns) {
    if (insn.code != (BPF_JMP | BPF_CALL) || insn.src_reg != BPF_PSEUDO_KFUNC_CALL) continue;
    const auto index = static_cast<uint32_t>(insn.imm);
    return fmt::format("it needs the kernel function or variable {}, which has no meaning here",
                       index < names.size() ? printable(names[index]) : "of no name");
  }
  return {};
}

struct Read {
  Normalised normalised;
  ObjectHandle handle;
};

// The object in libbpf's hands, not loaded yet.
Result<Read> read_object(std::span<const std::byte> elf, const LibbpfLog& log) {
  const auto view = ElfView::open(elf);
  if (!view) return view.error();
  if (auto status = check_elf_form(*view); !status) return status.error();
  auto normalised = normalise(*view);
  if (!normalised) return normalised.error();
  const auto after = ElfView::open(normalised->image);
  if (!after) return after.error();
  if (auto status = check_elf(*after); !status) return status.error();
  if (const auto* btf = after->find(".BTF"))
    if (auto status = check_btf(btf->data); !status) return status.error();

  // The name only prefixes data maps' names, from which map_name() takes it off again
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = "object";
  ObjectHandle handle(bpf_object__open_mem(normalised->image.data(), normalised->image.size(), &options));
  if (!handle) return libbpf_error(log, "open", -errno);
  return Read{std::move(*normalised), std::move(handle)};
}

// Where the spin lock of a map's values lies; -1: they have none.
int32_t spin_lock_of(const bpf_object* object, const bpf_map* map) {
  const auto* types = bpf_object__btf(object);
  if (!types) return -1;
  const auto* value = btf__type_by_id(types, skip_modifiers(types, bpf_map__btf_value_type_id(map)));
  if (!value || !btf_is_struct(value)) return -1;
  const auto* member = btf_members(value);
  for (uint16_t i = 0; i < btf_vlen(value); ++i) {
    const auto* type = btf__type_by_id(types, skip_modifiers(types, member[i].type));
    if (type && btf_is_struct(type) && btf_name(types, type->name_off) == "bpf_spin_lock")
      return static_cast<int32_t>(btf_member_bit_offset(value, i) / 8);
  }
  return -1;
}

// Maps, before the load, which forgets what maps of maps hold.
std::vector<MapSpec> describe_maps(const Read& read) {
  std::vector<MapSpec> maps;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, read.handle.get()) {
    maps.push_back(describe(map));
    maps.back().spin_lock = spin_lock_of(read.handle.get(), map);
    if (const auto it = read.normalised.initial_refs.find(bpf_map__name(map)); it != read.normalised.initial_refs.end())
      maps.back().initial_refs = it->second;
  }
  return maps;
}

// Relocates the programs. Errors: what libbpf says.
Status load(const Read& read, const LibbpfLog& log) {
  prepare(read.handle.get());
  gen_loader_opts loader{};
  loader.sz = sizeof(loader);
  if (const int rc = bpf_object__gen_loader(read.handle.get(), &loader); rc != 0)
    return libbpf_error(log, "prepare", rc);
  if (const int rc = bpf_object__load(read.handle.get()); rc != 0) return libbpf_error(log, "relocate", rc);
  return {};
}

}  // namespace

Result<Object> Object::open(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  return open(*bytes, path);
}

Result<Object> Object::open(std::span<const std::byte> elf, std::string_view name) {
  const auto refused = [&](const Error& error) {
    return fail(error.code, fmt::format("object {}: {}", name, printable(error.text)));
  };
  const LibbpfLog log;
  const auto read = read_object(elf, log);
  if (!read) return refused(read.error());
  auto* handle = read->handle.get();

  Object object;
  object.name_ = name;
  std::vector<const bpf_program*> typed;
  std::vector<const bpf_program*> untyped;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, handle) {
    if (bpf_program__type(program) == BPF_PROG_TYPE_XDP)
      typed.push_back(program);
    else if (bpf_program__type(program) == BPF_PROG_TYPE_UNSPEC)
      untyped.push_back(program);
    else
      object.foreign_.push_back(describe(program, false));
  }
  object.maps_ = describe_maps(*read);
  if (typed.empty() && untyped.empty()) return object;  // select() says what is missing
  if (auto status = load(*read, log); !status) return refused(status.error());

  // The load rounds sizes as the kernel wants them
  size_t index = 0;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, handle) object.maps_[index++].max_entries = bpf_map__max_entries(map);
  for (const auto* p : typed) object.programs_.push_back(describe(p, true));
  for (const auto* p : untyped) object.untyped_.push_back(describe(p, true));
  for (auto* list : {&object.programs_, &object.untyped_})
    for (auto& spec : *list) spec.refused = need_of_kernel(spec, read->normalised.kernel_functions);
  return object;
}

Object Object::of(std::string name, std::vector<MapSpec> maps, std::vector<ProgramSpec> programs) {
  Object object;
  object.name_ = std::move(name);
  object.maps_ = std::move(maps);
  object.programs_ = std::move(programs);
  return object;
}

std::string Object::listing() const {
  std::string text = programs_.empty() ? "it has no XDP program" : fmt::format("it has {}", joined(programs_));
  if (!untyped_.empty()) text += fmt::format("; of no known type: {}", joined(untyped_));
  if (!foreign_.empty()) text += fmt::format("; of other types: {}", joined(foreign_));
  return text;
}

Result<const ProgramSpec*> Object::usable(const ProgramSpec& program) const {
  if (!program.refused.empty())
    return fail(ENOTSUP, fmt::format("object {}: program {}: {}", name_, program.name, program.refused));
  return &program;
}

Result<const ProgramSpec*> Object::only() const {
  if (programs_.size() == 1) return usable(programs_.front());
  if (programs_.size() > 1)
    return fail(EINVAL, fmt::format("object {}: several XDP programs, name one of {}", name_, joined(programs_)));
  if (!untyped_.empty())
    return fail(EINVAL, fmt::format("object {}: no XDP program; the type of section {} can't be deduced: to use its "
                                    "program as XDP, name it ({})",
                                    name_, untyped_.front().section, untyped_.front().name));
  return fail(EINVAL, fmt::format("object {}: no XDP program{}", name_,
                                  foreign_.empty() ? "" : fmt::format("; of other types: {}", joined(foreign_))));
}

const ProgramSpec* Object::find(std::string_view name) const {
  for (const auto* list : {&programs_, &untyped_})
    for (const auto& program : *list)
      if (program.name == name) return &program;
  return nullptr;
}

Result<const ProgramSpec*> Object::select(std::string_view wanted) const {
  if (wanted.empty()) return only();
  if (const auto* program = find(wanted)) return usable(*program);

  const ProgramSpec* found = nullptr;
  for (const auto* list : {&programs_, &untyped_}) {
    for (const auto& program : *list) {
      if (program.section != wanted) continue;
      if (found)
        return fail(EINVAL, fmt::format("object {}: section {} holds several programs, name one: {}", name_, wanted,
                                        listing()));
      found = &program;
    }
  }
  if (found) return usable(*found);
  for (const auto& program : foreign_)
    if (program.name == wanted || program.section == wanted)
      return fail(EINVAL,
                  fmt::format("object {}: {} is not an XDP program; {}", name_, name_and_section(program), listing()));
  return fail(ENOENT, fmt::format("object {}: no program {}; {}", name_, wanted, listing()));
}

}  // namespace xbond::bpf
