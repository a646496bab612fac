// Any bytes as instructions: refused with one line, or run to a verdict within bounds. Goes past the object reader, so
// that the search spends its time on the check of instructions, the decoder, the interpreter and the helpers.
#include <linux/bpf.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/object.hpp"

using namespace xbond;  // NOLINT(google-build-using-namespace)

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

bpf::MapSpec array(uint32_t type, uint32_t value_size, uint32_t entries, uint32_t flags) {
  return {.name = "m", .type = type, .key_size = 4, .value_size = value_size, .max_entries = entries, .flags = flags};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kMost = 512;
  bpf::ProgramSpec spec{.name = "fuzz", .section = "xdp", .insns = {}};
  spec.insns.resize(std::min(size / sizeof(bpf_insn), kMost));
  if (!spec.insns.empty()) std::memcpy(spec.insns.data(), bytes, spec.insns.size() * sizeof(bpf_insn));
  const auto object =
      bpf::Object::of("fuzz",
                      {array(BPF_MAP_TYPE_ARRAY, 12, 1, 0), array(BPF_MAP_TYPE_ARRAY, 5, 9, 0),
                       array(BPF_MAP_TYPE_PERCPU_ARRAY, 8, 3, 0), array(BPF_MAP_TYPE_ARRAY, 8, 1, BPF_F_RDONLY_PROG)},
                      {spec});
  const auto program =
      bpf::Program::load(object, object.programs().front(), {.engine = bpf::EngineKind::interpreter, .cpus = 2});
  if (!program) {
    must(!program.error().text.empty() && program.error().text.find('\n') == std::string::npos);
    return 0;
  }
  constexpr size_t kFront = 216;
  std::vector<uint8_t> buffer(512, 0x11);
  auto* data = buffer.data() + kFront;
  bpf::XdpFrame frame{data, data + 60, data, buffer.data(), buffer.data() + buffer.size(), 1, 0, 0};
  uint32_t verdict = 0;
  (*program)->run_burst({&frame, 1}, &verdict, 1);
  must(frame.hard_start <= frame.data_meta && frame.data_meta <= frame.data && frame.data <= frame.data_end &&
       frame.data_end <= frame.hard_end);
  return 0;
}
