#include "bpf_compat/engine/llvm/code.hpp"

#include <fmt/format.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "bpf_compat/engine/llvm/module.hpp"

namespace xbond::bpf::llvm {
namespace {

class JitCode final : public Code {
 public:
  JitCode(Jit jit, const Traits& traits) : Code(traits), jit_(std::move(jit)) {}

 private:
  Jit jit_;
};

Error broken(std::string_view what, std::string_view why) {
  return fail(EINVAL, fmt::format("llvm: {}: {}", what, why));
}

Result<TargetMachine> host_machine() {
  static const bool ready = LLVMInitializeNativeTarget() == 0 && LLVMInitializeNativeAsmPrinter() == 0;
  if (!ready) return broken("start", "no code generator for this processor");
  const Text triple(LLVMGetDefaultTargetTriple());
  LLVMTargetRef target = nullptr;
  char* why = nullptr;
  if (LLVMGetTargetFromTriple(triple.get(), &target, &why) != 0) return broken("target", Text(why).get());
  const Text cpu(LLVMGetHostCPUName());
  const Text features(LLVMGetHostCPUFeatures());
  return TargetMachine(LLVMCreateTargetMachine(target, triple.get(), cpu.get(), features.get(), LLVMCodeGenLevelDefault,
                                               LLVMRelocPIC, LLVMCodeModelDefault));
}

Status optimise(LLVMModuleRef module, LLVMTargetMachineRef machine) {
  const Text triple(LLVMGetTargetMachineTriple(machine));
  LLVMSetTarget(module, triple.get());
  const Handle<LLVMTargetDataRef, LLVMDisposeTargetData> layout(LLVMCreateTargetDataLayout(machine));
  LLVMSetModuleDataLayout(module, layout.get());
  const Handle<LLVMPassBuilderOptionsRef, LLVMDisposePassBuilderOptions> options(LLVMCreatePassBuilderOptions());
  if (auto* error = LLVMRunPasses(module, "default<O2>", machine, options.get()))
    return broken("optimise", text_of(error));
  return {};
}

Status make(ProgramModule& module, LLVMTargetMachineRef machine) {
  if (auto status = module.build(); !status) return status;
  return optimise(module.get(), machine);
}

Result<MemoryBuffer> generate(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMCodeGenFileType type) {
  char* why = nullptr;
  LLVMMemoryBufferRef made = nullptr;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &why, &made) != 0)
    return broken("code", Text(why).get());
  return MemoryBuffer(made);
}

Result<Jit> link(MemoryBuffer object) {
  LLVMOrcLLJITRef made = nullptr;
  if (auto* error = LLVMOrcCreateLLJIT(&made, nullptr)) return broken("linker", text_of(error));
  Jit jit(made);
  // memset and its kin, which LLVM makes of loops and of large copies
  LLVMOrcDefinitionGeneratorRef process = nullptr;
  if (auto* error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, 0, nullptr, nullptr))
    return broken("linker", text_of(error));
  const auto library = LLVMOrcLLJITGetMainJITDylib(made);
  LLVMOrcJITDylibAddGenerator(library, process);
  if (auto* error = LLVMOrcLLJITAddObjectFile(made, library, object.release())) return broken("link", text_of(error));
  return jit;
}

Result<uintptr_t> find(const Jit& jit, const char* name) {
  LLVMOrcJITTargetAddress address = 0;
  if (auto* error = LLVMOrcLLJITLookup(jit.get(), &address, name)) return broken("link", text_of(error));
  return address;
}

}  // namespace

bool Code::available() {
  return true;
}

Result<std::unique_ptr<Code>> Code::compile(const Source& source) {
  const auto machine = host_machine();
  if (!machine) return machine.error();
  ProgramModule made(source);
  if (auto status = make(made, machine->get()); !status) return status.error();
  auto object = generate(made.get(), machine->get(), LLVMObjectFile);
  if (!object) return object.error();
  auto jit = link(std::move(*object));
  if (!jit) return jit.error();
  const auto burst = find(*jit, ProgramModule::kBurst);
  if (!burst) return burst.error();
  Traits traits{.needs_run = made.needs().run, .needs_grace = made.needs().grace};
  traits.burst = reinterpret_cast<Burst>(*burst);  // NOLINT(performance-no-int-to-ptr): where LLVM put it
  if (source.entry) {
    const auto entry = find(*jit, ProgramModule::kEntry);
    if (!entry) return entry.error();
    traits.entry = reinterpret_cast<const void*>(*entry);  // NOLINT(performance-no-int-to-ptr): likewise
  }
  return std::unique_ptr<Code>(std::make_unique<JitCode>(std::move(*jit), traits));
}

Result<std::string> Code::list(const Source& source, Form form) {
  const auto machine = host_machine();
  if (!machine) return machine.error();
  ProgramModule made(source);
  if (auto status = make(made, machine->get()); !status) return status.error();
  if (form == Form::lowered) return std::string(Text(LLVMPrintModuleToString(made.get())).get());
  const auto text = generate(made.get(), machine->get(), LLVMAssemblyFile);
  if (!text) return text.error();
  return std::string(LLVMGetBufferStart(text->get()), LLVMGetBufferSize(text->get()));
}

}  // namespace xbond::bpf::llvm
