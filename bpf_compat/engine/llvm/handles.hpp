// LLVM's handles, owned. Thread: control.
#pragma once

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/TargetMachine.h>

#include <memory>
#include <string>
#include <type_traits>

namespace xbond::bpf::llvm {

template <auto Dispose>
struct Disposer {
  template <class T>
  void operator()(T* handle) const {
    Dispose(handle);
  }
};
template <class Ref, auto Dispose>
using Handle = std::unique_ptr<std::remove_pointer_t<Ref>, Disposer<Dispose>>;

using Context = Handle<LLVMContextRef, LLVMContextDispose>;
using Module = Handle<LLVMModuleRef, LLVMDisposeModule>;
using Builder = Handle<LLVMBuilderRef, LLVMDisposeBuilder>;
using TargetMachine = Handle<LLVMTargetMachineRef, LLVMDisposeTargetMachine>;
using MemoryBuffer = Handle<LLVMMemoryBufferRef, LLVMDisposeMemoryBuffer>;
using Text = Handle<char*, LLVMDisposeMessage>;

inline void dispose_jit(LLVMOrcLLJITRef jit) {
  LLVMConsumeError(LLVMOrcDisposeLLJIT(jit));
}
using Jit = Handle<LLVMOrcLLJITRef, dispose_jit>;

// Takes the error over.
inline std::string text_of(LLVMErrorRef error) {
  char* message = LLVMGetErrorMessage(error);
  std::string text = message;
  LLVMDisposeErrorMessage(message);
  return text;
}

}  // namespace xbond::bpf::llvm
