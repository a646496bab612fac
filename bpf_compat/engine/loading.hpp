// The programs of one object that share its maps: the one that was asked for, and those that its prog arrays, devmaps
// and CPU maps run in its place. Thread: control.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/llvm/code.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/map/map.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::bpf {

class Loading : public std::enable_shared_from_this<Loading> {
 public:
  // `maps` by the object's map index, null for those that were not made.
  Loading(const Object& object, std::vector<std::shared_ptr<Map>> maps, const LoadOptions& options);

  // `user`: the program keeps its maps in use; otherwise it lives as long as the entry that leads to it.
  Result<std::shared_ptr<Program>> make(const ProgramSpec& spec, bool user);

  // The program of that function name, made once for each call. Errors name it.
  Result<std::shared_ptr<Program>> sibling(std::string_view name);

  // Puts what the object says at the keys of prog arrays and maps of maps.
  Status fill();

 private:
  // `entry`: by tail calls.
  [[nodiscard]] Result<std::unique_ptr<llvm::Code>> compile(const ProgramSpec& spec, const verifier::Facts& facts,
                                                            std::span<const BoundMap* const> bound, bool entry) const;
  // `report`: the verifier's; null where the engine asks for none.
  Result<std::shared_ptr<Program>> make_by_engine(const ProgramSpec& spec, InterpreterProgram::Parts parts,
                                                  std::span<const BoundMap* const> bound,
                                                  const verifier::Report* report);
  Result<uint32_t> map_id(const std::string& name) const;
  Status fill(Map& map, std::span<const MapSpec::Ref> refs);

  Object object_;
  std::vector<std::shared_ptr<Map>> maps_;
  LoadOptions options_;  // without the spans, which are the caller's
};

}  // namespace xbond::bpf
