// One program of an object, in the running kernel. Thread: any.
#pragma once

#include <map>
#include <string>

#include "bpf_compat/object/object.hpp"
#include "tests/conformance/bpf/kernel.hpp"

namespace xbond::bpf::conformance {

// With some entries in the maps whose size is left to the object's own loader.
Object sized_by_loader(Object object);

class KernelObject {
 public:
  // As any loader would take the file: by libbpf, that program alone. Nothing is pinned; maps without a size get one.
  // Invalid with the reason in `why`.
  static KernelObject by_libbpf(const std::string& path, const std::string& program, std::string& why);
  // What our reader made of it: the maps that it describes, and its final instructions. For objects that libbpf does
  // not take.
  // `milliseconds`, where it is wanted, gets how long the load of the program took.
  static KernelObject by_instructions(const Object& object, const ProgramSpec& program, std::string& why,
                                      double* milliseconds = nullptr);

  // Whether `why` says that a map can't be made: then the kernel never saw the program.
  [[nodiscard]] static bool lacks_maps(const std::string& why) {
    return why.starts_with("map ") || why.starts_with("no map ");
  }

  [[nodiscard]] bool valid() const { return program_ >= 0; }
  [[nodiscard]] int program() const { return program_; }
  // -1: it has none of that name.
  [[nodiscard]] int map(const std::string& name) const;

 private:
  ObjectHandle handle_;
  std::vector<UniqueFd> own_;
  std::map<std::string, int> maps_;
  int program_ = -1;
};

}  // namespace xbond::bpf::conformance
