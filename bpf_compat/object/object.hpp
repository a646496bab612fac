// An XDP object file as libbpf sees it, relocated, without a kernel. Thread: control.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

struct MapSpec {
  std::string name;         // as the object names it (".rodata" for data sections, without the object's prefix)
  uint32_t type = 0;        // enum bpf_map_type
  uint32_t key_size = 0;    // bytes
  uint32_t value_size = 0;  // bytes
  uint32_t max_entries = 0;
  uint32_t flags = 0;              // BPF_F_*
  uint64_t extra = 0;              // map_extra: bloom filters' number of hash functions
  int32_t spin_lock = -1;          // where in a value its struct bpf_spin_lock begins; -1: it has none
  std::vector<std::byte> initial;  // data sections: the first value; else empty
  bool frozen = false;             // .rodata: no one writes it
  // Declared to be pinned by name (LIBBPF_PIN_BY_NAME): objects of one process that name it share one map.
  bool pinned = false;
  std::shared_ptr<const MapSpec> inner = {};  // maps of maps: the shape of what they hold; null where not declared
  // Maps of maps and prog arrays: the map or program (function name) that the object puts at a key.
  struct Ref {
    uint32_t key = 0;
    std::string target;
  };
  std::vector<Ref> initial_refs = {};
};

struct ProgramSpec {
  std::string name;     // function name
  std::string section;  // ELF section, e.g. "xdp", "xdp.frags", "xdp/devmap"
  // Final instructions: subprograms appended, data and maps relocated. A map is a LD_IMM64 with src_reg
  // BPF_PSEUDO_MAP_IDX (imm = index in Object::maps()) or BPF_PSEUDO_MAP_IDX_VALUE (next imm = offset in the value).
  std::vector<bpf_insn> insns;
  std::string refused = {};  // why it can't run here (a need that this version lacks); empty: it can
};

class Object {
 public:
  // Errors: ENOENT no such file, EINVAL not an ELF object of BPF code, ENOTSUP a need that has no meaning here (named).
  static Result<Object> open(const std::string& path);
  static Result<Object> open(std::span<const std::byte> elf, std::string_view name);
  // Of parts that come from elsewhere than a file. Instructions are checked by Program::load.
  static Object of(std::string name, std::vector<MapSpec> maps, std::vector<ProgramSpec> programs);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const MapSpec> maps() const { return maps_; }
  // XDP programs only, in the object's order.
  [[nodiscard]] std::span<const ProgramSpec> programs() const { return programs_; }
  // Of sections that say no type: XDP when the user names them.
  [[nodiscard]] std::span<const ProgramSpec> untyped() const { return untyped_; }
  // Of other types, without their instructions.
  [[nodiscard]] std::span<const ProgramSpec> foreign() const { return foreign_; }

  // `wanted` is a program or section name. Empty: the object must hold exactly one XDP program. A program whose type
  // can't be deduced from its section is taken as XDP when it is named.
  // Errors list the programs there are. Owned by the Object.
  [[nodiscard]] Result<const ProgramSpec*> select(std::string_view wanted) const;
  // The program of that function name, also one that can't run here; null where there is none or it is of another type.
  [[nodiscard]] const ProgramSpec* find(std::string_view name) const;

 private:
  [[nodiscard]] Result<const ProgramSpec*> only() const;
  [[nodiscard]] Result<const ProgramSpec*> usable(const ProgramSpec& program) const;
  [[nodiscard]] std::string listing() const;

  std::string name_;
  std::vector<MapSpec> maps_;
  std::vector<ProgramSpec> programs_;
  std::vector<ProgramSpec> untyped_;
  std::vector<ProgramSpec> foreign_;
};

}  // namespace xbond::bpf
