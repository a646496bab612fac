// A program as a module of LLVM's: its functions, and the loop over a burst's frames around them. Thread: control.
#pragma once

#include <cstdint>
#include <span>

#include "bpf_compat/engine/llvm/code.hpp"
#include "bpf_compat/engine/llvm/handles.hpp"
#include "bpf_compat/engine/llvm/needs.hpp"
#include "bpf_compat/engine/llvm/translate.hpp"

namespace xbond::bpf::llvm {

class ProgramModule {
 public:
  static constexpr const char* kBurst = "burst";
  static constexpr const char* kEntry = "program";

  // `source` outlives it.
  explicit ProgramModule(const Source& source);

  // Errors: as Code::compile.
  Status build();
  // After build().
  [[nodiscard]] LLVMModuleRef get() const { return module_.get(); }
  [[nodiscard]] const Needs& needs() const { return needs_; }

 private:
  void declare(std::span<const uint32_t> starts);
  Value function(const std::string& name, LLVMTypeRef type, bool internal);
  void callbacks();
  void burst();
  Value one_frame(Value native, Value frame);

  const Source& source_;
  Context context_;
  Module module_;
  Builder builder_;
  Emit e_;
  Needs needs_;
  Functions functions_{};
};

}  // namespace xbond::bpf::llvm
