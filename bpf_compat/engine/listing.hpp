// What an engine makes of a program, as text for people. Thread: control.
#pragma once

#include <string>

#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

enum class Listing : uint8_t {
  lowered,  // before the processor is known: LLVM's intermediate code, optimised
  native,   // the processor's assembly language
};

// Errors: EACCES what the verifier refuses it for; ENOTSUP no engine of this build has such code, or it can't take the
// program.
Result<std::string> list_program(const Object& object, const ProgramSpec& program, Listing form);

}  // namespace xbond::bpf
