// In the place of the compiler where LLVM is not in the build.
#include "bpf_compat/engine/llvm/code.hpp"

namespace xbond::bpf::llvm {

bool Code::available() {
  return false;
}

Result<std::unique_ptr<Code>> Code::compile(const Source& /*source*/) {
  return fail(ENOTSUP, "not in this build");
}

Result<std::string> Code::list(const Source& /*source*/, Form /*form*/) {
  return fail(ENOTSUP, "engine llvm is not in this build");
}

}  // namespace xbond::bpf::llvm
