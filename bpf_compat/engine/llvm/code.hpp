// A verified program as machine code of this processor. Thread: control compiles and frees, workers run it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bpf_compat/engine/bound_map.hpp"
#include "bpf_compat/engine/llvm/native.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"
#include "bpf_compat/verifier/facts.hpp"

namespace xbond::bpf::llvm {

struct Source {
  const ProgramSpec* program = nullptr;
  const verifier::Facts* facts = nullptr;  // what the verifier learned of it
  std::span<const MapSpec> specs;          // by the object's map index
  std::span<const BoundMap* const> bound;  // likewise; null for those that were not made. Outlive the code.
  Hooks hooks;
  bool entry = false;     // others may go on with it by a tail call
  bool whole_r0 = false;  // results are all 64 bits of r0, side by side, where verdicts go
};

enum class Form : uint8_t {
  lowered,  // LLVM's intermediate code, optimised
  native,   // the processor's assembly language
};

class Code {
 public:
  // Whether this build can compile.
  static bool available();
  // Precondition of both: the verifier accepted the program. Errors: ENOTSUP what native code does not do, beginning
  // "instruction N: "; EINVAL what LLVM says.
  static Result<std::unique_ptr<Code>> compile(const Source& source);
  static Result<std::string> list(const Source& source, Form form);
  virtual ~Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  struct Traits {
    Burst burst = nullptr;
    const void* entry = nullptr;  // for tail calls; null where none was asked for
    bool needs_run = false;       // calls helpers that want Native::run
    bool needs_grace = false;     // holds what a map may take back: somebody has to know when a burst ends
  };
  [[nodiscard]] const Traits& traits() const { return traits_; }

 protected:
  explicit Code(const Traits& traits) : traits_(traits) {}

 private:
  Traits traits_;
};

}  // namespace xbond::bpf::llvm
