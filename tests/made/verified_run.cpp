#include "tests/made/verified_run.hpp"

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/verifier/verifier.hpp"
#include "tests/made/instructions.hpp"
#include "tests/made/made_frame.hpp"

namespace xbond::bpf::test {

namespace {

// The walk of one made program ends soon, or it has too many ways to be worth the time
constexpr uint64_t kBudget = 50'000;

// The same program, but that instructions which no run may reach break a rule
Object with_traps(const Object& object, const verifier::Facts& facts) {
  auto spec = object.programs().front();
  const auto trap = call(isa::kUnresolvedCall);
  for (size_t i = 0; i < spec.insns.size(); ++i) {
    const bool wide = isa::is_wide(spec.insns[i]);
    // A function has to end with its exit, which comes behind other dead instructions
    const bool exit = spec.insns[i].code == (BPF_JMP | BPF_EXIT);
    if (!facts.reached[i] && !exit) {
      spec.insns[i] = trap;
      if (wide) spec.insns[i + 1] = trap;
    }
    i += wide ? 1 : 0;
  }
  return Object::of("trapped", {object.maps().begin(), object.maps().end()}, {spec});
}

}  // namespace

Verified verify_and_run(const Object& object, std::span<const uint8_t> bytes, std::string& why) {
  const auto report = verifier::verify(object, object.programs().front(), {.budget = kBudget});
  if (report.refusal) {
    why = report.refusal->line();
    return Verified::refused;
  }
  const auto trapped = with_traps(object, report.facts);
  const auto program =
      Program::load(trapped, trapped.programs().front(), {.engine = EngineKind::interpreter, .cpus = 2});
  if (!program) {
    why = "accepted, but does not load: " + program.error().text;
    return Verified::broken;
  }
  for (unsigned turn = 0; turn < 12; ++turn) {
    MadeFrame frame(bytes, turn);
    uint32_t verdict = 0;
    (*program)->run_burst({&frame.view(), 1}, &verdict, 1);
  }
  if ((*program)->faults().count == 0) return Verified::sound;
  why = (*program)->faults().last;
  return Verified::broken;
}

}  // namespace xbond::bpf::test
