#include "bpf_compat/engine/listing.hpp"

#include <fmt/format.h>

#include <vector>

#include "bpf_compat/engine/check.hpp"
#include "bpf_compat/engine/llvm/program.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::bpf {

Result<std::string> list_program(const Object& object, const ProgramSpec& program, Listing form) {
  if (!llvm::Code::available())
    return fail(ENOTSUP, "no engine of this build has such code: llvm is not in it, the interpreter runs the bytecode");
  if (!program.refused.empty()) return fail(ENOTSUP, program.refused);
  if (const auto shape = check_code(program.insns); !shape) return shape.error();
  const auto report = verifier::verify(object, program);
  if (report.refusal) return fail(EACCES, fmt::format("the verifier refuses it: {}", report.refusal->line()));
  // Code names its maps by their addresses: they are made, and go with the text
  std::vector<std::shared_ptr<Map>> maps;
  std::vector<BoundMap> bound;
  std::vector<const BoundMap*> by_index;
  bound.reserve(object.maps().size());
  for (const auto& spec : object.maps()) {
    auto map = Map::create(spec, 1);
    if (map) {
      bound.push_back(bind_map(**map));
      maps.push_back(std::move(*map));
    }
    by_index.push_back(map ? &bound.back() : nullptr);
  }
  // Maps of a kind that is not there, or malformed references
  if (const auto decoded = decode(program.insns, by_index); !decoded) return decoded.error();
  return llvm::Code::list(llvm::source_of(object, program, report.facts, by_index),
                          form == Listing::lowered ? llvm::Form::lowered : llvm::Form::native);
}

}  // namespace xbond::bpf
