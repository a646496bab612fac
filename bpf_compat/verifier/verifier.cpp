#include "bpf_compat/verifier/verifier.hpp"

#include <algorithm>
#include <charconv>

#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {
namespace {

// Errors of the form begin with "instruction N: ".
Refusal from_form(const Error& error) {
  constexpr std::string_view kStart = "instruction ";
  Refusal refusal{.instruction = 0, .text = error.text, .source = {}, .advice = {}, .state = {}};
  const std::string_view text = error.text;
  const auto colon = text.find(": ");
  if (!text.starts_with(kStart) || colon == std::string_view::npos) return refusal;
  std::from_chars(text.data() + kStart.size(), text.data() + colon, refusal.instruction);
  refusal.text = text.substr(colon + 2);
  return refusal;
}

}  // namespace

Report verify(const Object& object, const ProgramSpec& program, const Options& options) {
  const auto flow = analyse(program.insns);
  if (!flow) {
    Report report;
    report.refusal = from_form(flow.error());
    return report;
  }
  Walk walk(object.maps(), program, *flow, options);
  walk.run();
  return walk.take();
}

}  // namespace xbond::bpf::verifier
