// The engine "llvm": programs that the verifier accepted, as machine code. Thread: control, but for run_burst().
#pragma once

#include <memory>
#include <span>

#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/llvm/code.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"
#include "bpf_compat/verifier/facts.hpp"

namespace xbond::bpf::llvm {

// What to compile: `program` is one of `object`, `facts` are what the verifier, which accepted it, learned, and `bound`
// goes by the object's map index.
Source source_of(const Object& object, const ProgramSpec& program, const verifier::Facts& facts,
                 std::span<const BoundMap* const> bound);

// Precondition: `code` was made of the same program and maps as `parts`.
std::shared_ptr<Program> make_program(InterpreterProgram::Parts parts, std::unique_ptr<Code> code);

// Compiles the program and runs it once, without a frame. Gives r0. `run` says what it may touch. Errors: as
// Code::compile; EINVAL "instruction N: " the rule that the run broke.
Result<uint64_t> run_once(Source source, Run& run);

}  // namespace xbond::bpf::llvm
