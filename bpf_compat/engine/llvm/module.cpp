#include "bpf_compat/engine/llvm/module.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/isa.hpp"

namespace xbond::bpf::llvm {

ProgramModule::ProgramModule(const Source& source)
    : source_(source),
      context_(LLVMContextCreate()),
      module_(LLVMModuleCreateWithNameInContext(source.program->name.c_str(), context_.get())),
      builder_(LLVMCreateBuilderInContext(context_.get())),
      e_{context_.get(), builder_.get()} {}

Status ProgramModule::build() {
  const auto& code = source_.program->insns;
  const auto shape = check_code(code);
  if (!shape) return shape.error();
  needs_ = needs_of(source_, shape->frames);
  declare(shape->functions);
  callbacks();
  Translator translator(source_, needs_, e_, functions_);
  for (size_t f = 0; f < shape->functions.size(); ++f) {
    const auto end = f + 1 < shape->functions.size() ? shape->functions[f + 1] : code.size();
    if (auto status = translator.function(shape->functions[f], static_cast<uint32_t>(end)); !status) return status;
  }
  burst();
  return {};
}

Value ProgramModule::function(const std::string& name, LLVMTypeRef type, bool internal) {
  const auto made = LLVMAddFunction(module_.get(), name.c_str(), type);
  if (internal) LLVMSetLinkage(made, LLVMInternalLinkage);
  const auto kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAddAttributeAtIndex(made, static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex),
                          LLVMCreateEnumAttribute(context_.get(), kind, 0));
  return made;
}

void ProgramModule::declare(std::span<const uint32_t> starts) {
  std::array<LLVMTypeRef, 7> types{};
  types.fill(e_.i64());
  types[0] = types[1] = e_.bytes();
  functions_.type = LLVMFunctionType(e_.i64(), types.data(), 7, 0);
  functions_.callback_type = LLVMFunctionType(e_.i64(), types.data(), 6, 0);
  functions_.program_type = LLVMFunctionType(e_.i64(), types.data(), 2, 0);
  for (const auto start : starts) {
    const bool program = start == 0;
    const auto name = program ? std::string(kEntry) : fmt::format("function_{}", start);
    const auto made = function(name, program ? functions_.program_type : functions_.type, !program || !source_.entry);
    if (program || needs_.tail_calls) LLVMSetFunctionCallConv(made, kTailConvention);
    functions_.by_start[start] = made;
  }
}

// Helpers call back by the C convention.
void ProgramModule::callbacks() {
  const auto& code = source_.program->insns;
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (!isa::is_wide(code[i])) continue;
    const auto target = isa::call_target(i, code[i]);
    const bool takes = code[i].src_reg == BPF_PSEUDO_FUNC && !functions_.callbacks.contains(target);
    ++i;
    if (!takes) continue;
    const auto self = function(fmt::format("callback_{}", target), functions_.callback_type, true);
    functions_.callbacks[target] = self;
    LLVMPositionBuilderAtEnd(e_.b, LLVMAppendBasicBlockInContext(e_.context, self, ""));
    std::array<Value, 7> arguments{};
    LLVMGetParams(self, arguments.data());
    arguments[6] = e_.number(0);
    const auto called = functions_.by_start.at(target);
    const auto call = LLVMBuildCall2(e_.b, functions_.type, called, arguments.data(), arguments.size(), "");
    LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(called));
    LLVMBuildRet(e_.b, call);
  }
}

// void burst(Native*, XdpFrame*, count, verdicts): the loop over frames.
void ProgramModule::burst() {
  std::array<LLVMTypeRef, 4> types{e_.bytes(), e_.bytes(), e_.i64(), e_.bytes()};
  const auto self = function(kBurst, LLVMFunctionType(e_.nothing(), types.data(), types.size(), 0), false);
  const auto block = [&] { return LLVMAppendBasicBlockInContext(e_.context, self, ""); };
  const auto entry = block();
  const auto loop = block();
  const auto body = block();
  const auto out = block();
  const auto native = LLVMGetParam(self, 0);
  LLVMPositionBuilderAtEnd(e_.b, entry);
  LLVMBuildBr(e_.b, loop);
  LLVMPositionBuilderAtEnd(e_.b, loop);
  const auto index = LLVMBuildPhi(e_.b, e_.i64(), "");
  LLVMBuildCondBr(e_.b, e_.compare(LLVMIntULT, index, LLVMGetParam(self, 2)), body, out);
  LLVMPositionBuilderAtEnd(e_.b, out);
  LLVMBuildRetVoid(e_.b);
  LLVMPositionBuilderAtEnd(e_.b, body);
  const auto element = [&](Value array, size_t bytes) {
    auto offset = e_.multiply(index, bytes);
    return LLVMBuildGEP2(e_.b, e_.type(8), array, &offset, 1, "");
  };
  const auto r0 = one_frame(native, element(LLVMGetParam(self, 1), sizeof(XdpFrame)));
  const unsigned bits = source_.whole_r0 ? 64 : 32;
  e_.store(element(LLVMGetParam(self, 3), bits / 8), e_.cut(r0, bits));
  auto next = e_.add(index, e_.number(1));
  const auto last = LLVMGetInsertBlock(e_.b);
  LLVMBuildBr(e_.b, loop);
  std::array<Value, 2> values{e_.number(0), next};
  std::array<LLVMBasicBlockRef, 2> from{entry, last};
  LLVMAddIncoming(index, values.data(), from.data(), 2);
}

Value ProgramModule::one_frame(Value native, Value frame) {
  // Helpers and the program's other functions look for the frame there
  if (needs_.run || functions_.by_start.size() > 1) {
    const auto number = e_.number_of(frame);
    e_.set_field(native, offsetof(Native, frame), number);
  }
  if (needs_.run) (void)e_.call(reinterpret_cast<uintptr_t>(source_.hooks.begin), e_.nothing(), {native});
  std::array<Value, 2> arguments{native, frame};
  const auto r0 = LLVMBuildCall2(e_.b, functions_.program_type, functions_.by_start.at(0), arguments.data(), 2, "");
  LLVMSetInstructionCallConv(r0, kTailConvention);
  if (!needs_.run) return r0;
  return e_.call(reinterpret_cast<uintptr_t>(source_.hooks.end), e_.i64(), {native, r0});
}

}  // namespace xbond::bpf::llvm
