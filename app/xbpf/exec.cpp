#include "bpf_compat/engine/exec.hpp"

#include <fmt/format.h>

#include <cstring>

#include "app/xbpf/arguments.hpp"
#include "app/xbpf/command.hpp"
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/hex.hpp"

namespace xbond::xbpf {
namespace po = boost::program_options;

namespace {

Result<std::vector<bpf_insn>> read_code() {
  const auto text = read_input("-");
  if (!text) return text.error();
  const auto bytes = parse_hex({reinterpret_cast<const char*>(text->data()), text->size()});
  if (!bytes) return fail(EINVAL, "stdin: not bytes in hexadecimal");
  if (bytes->empty() || bytes->size() % sizeof(bpf_insn) != 0)
    return fail(EINVAL, fmt::format("stdin: {} bytes, an instruction has {}", bytes->size(), sizeof(bpf_insn)));
  std::vector<bpf_insn> code(bytes->size() / sizeof(bpf_insn));
  std::memcpy(code.data(), bytes->data(), bytes->size());
  return code;
}

Result<uint64_t> execute(const po::variables_map& values) {
  const auto engine = bpf::parse_engine(values["engine"].as<std::string>());
  if (!engine) return engine.error();
  if (auto status = bpf::engine_available(*engine); !status) return status.error();
  std::vector<std::byte> memory;
  if (values.count("MEMORY-HEX") != 0) {
    auto bytes = parse_hex(values["MEMORY-HEX"].as<std::string>());
    if (!bytes) return fail(EINVAL, "MEMORY-HEX: not bytes in hexadecimal");
    memory = std::move(*bytes);
  }
  const auto code = read_code();
  if (!code) return code.error();
  return bpf::execute(*code, memory, *engine);
}

}  // namespace

int exec(const Words& words) {
  po::options_description options;
  options.add_options()("engine", po::value<std::string>()->default_value("auto"));
  const auto values = parse_words(words, options, {"[MEMORY-HEX]"});
  if (!values) return complain(values.error());
  const auto r0 = execute(*values);
  if (!r0) return complain(r0.error());
  fmt::print("{:x}\n", *r0);
  return kDone;
}

int engines(const Words& words) {
  if (!words.empty()) return complain(fail(EINVAL, "engines takes no arguments"), kUsage);
  for (const auto kind : {bpf::EngineKind::rte_bpf, bpf::EngineKind::llvm, bpf::EngineKind::interpreter})
    if (bpf::engine_available(kind)) fmt::print("{}\n", bpf::engine_name(kind));
  return kDone;
}

}  // namespace xbond::xbpf
