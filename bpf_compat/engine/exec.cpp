#include "bpf_compat/engine/exec.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/llvm/program.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::bpf {
namespace {

// The memory is the value of an array of one: what a program may do to it is what it may do to any value.
MapSpec memory_spec(std::span<const std::byte> bytes) {
  MapSpec spec{.name = "memory", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .max_entries = 1};
  spec.value_size = static_cast<uint32_t>(bytes.size());
  spec.initial.assign(bytes.begin(), bytes.end());
  return spec;
}

constexpr uint32_t kArgumentSlots = 3;

// Puts the arguments into r1 and r2, in front of the code. Jumps are relative and stay as they are.
std::vector<bpf_insn> with_arguments(std::span<const bpf_insn> code, size_t length) {
  const bpf_insn second{.code = 0, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
  bpf_insn first{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = 0, .off = 0, .imm = 0};
  if (length != 0) first.src_reg = BPF_PSEUDO_MAP_IDX_VALUE;
  std::vector<bpf_insn> all = {first, second};
  all.push_back(
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .src_reg = 0, .off = 0, .imm = static_cast<int32_t>(length)});
  all.insert(all.end(), code.begin(), code.end());
  return all;
}

// The line of an error in the whole code, with the number that the instruction has in the part that was given.
Error in_given_code(const Error& error) {
  static constexpr std::string_view kPrefix = "instruction ";
  uint32_t number = 0;
  if (!error.text.starts_with(kPrefix)) return error;
  const auto parsed =
      std::from_chars(error.text.data() + kPrefix.size(), error.text.data() + error.text.size(), number);
  if (parsed.ec != std::errc() || number < kArgumentSlots) return error;
  const std::string_view rest(parsed.ptr, static_cast<size_t>(error.text.data() + error.text.size() - parsed.ptr));
  return fail(error.code, fmt::format("{}{}{}", kPrefix, number - kArgumentSlots, rest));
}

class Execution {
 public:
  Execution(std::span<const bpf_insn> code, std::span<const std::byte> memory)
      : object_(Object::of("exec", memory.empty() ? std::vector<MapSpec>() : std::vector{memory_spec(memory)},
                           {{.name = "exec", .section = "xdp", .insns = with_arguments(code, memory.size())}})) {}

  Status prepare(std::span<const bpf_insn> given) {
    // First by itself, so that errors count its own instructions
    if (const auto shape = check_code(given); !shape) return shape.error();
    for (const auto& spec : object_.maps()) {
      auto made = Map::create(spec, 1);
      if (!made) return made.error();
      map_ = std::move(*made);
      bound_.push_back(bind_map(*map_));
      by_index_.push_back(&bound_.back());
    }
    if (const auto decoded = decode(given, by_index_); !decoded) return decoded.error();
    auto decoded = decode(program().insns, by_index_);
    if (!decoded) return decoded.error();
    decoded_ = std::move(*decoded);
    if (decoded_.traces) state_.trace = std::make_unique<TraceRing>();
    return {};
  }

  Result<uint64_t> interpreted() {
    const auto shape = check_code(program().insns);
    if (!shape) return shape.error();
    Run run(bound_, state_, 0);
    uint8_t nothing = 0;
    XdpFrame frame{&nothing, &nothing, &nothing, &nothing, &nothing, 0, 0, 0};
    run.set_frame(frame);
    std::vector<std::byte> stack(size_t{isa::kFrameBytes} * shape->frames);
    uint32_t fault_at = 0;
    const auto r0 = interpret(decoded_.ops.data(), run, stack, fault_at);
    if (run.fault != Fault::none) return at(decoded_.origin[fault_at], fault_text(run.fault));
    return r0;
  }

  // None: `engine` leaves it to the interpreter.
  std::optional<Result<uint64_t>> native(EngineKind engine) {
    const auto report = verifier::verify(object_, program());
    if (report.refusal && engine == EngineKind::automatic) return std::nullopt;
    if (report.refusal) return fail(EACCES, report.refusal->line());
    Run run(bound_, state_, 0);
    return llvm::run_once(llvm::source_of(object_, program(), report.facts, by_index_), run);
  }

  void read_memory(std::span<std::byte> to) const {
    const uint32_t key = 0;
    if (map_) (void)map_->copy_lookup(std::as_bytes(std::span(&key, 1)), to);
  }

 private:
  [[nodiscard]] const ProgramSpec& program() const { return object_.programs().front(); }

  Object object_;
  std::shared_ptr<Map> map_;
  std::vector<BoundMap> bound_;
  std::vector<const BoundMap*> by_index_;
  DecodedCode decoded_;
  CpuState state_;
};

}  // namespace

Result<uint64_t> execute(std::span<const bpf_insn> code, std::span<std::byte> memory, EngineKind engine) {
  if (auto status = engine_available(engine); !status) return status.error();
  Execution execution(code, memory);
  if (auto status = execution.prepare(code); !status) return status.error();
  std::optional<Result<uint64_t>> native;
  if (engine != EngineKind::interpreter && llvm::Code::available()) native = execution.native(engine);
  const auto r0 = native ? *native : execution.interpreted();
  if (!r0) return in_given_code(r0.error());
  execution.read_memory(memory);
  return r0;
}

}  // namespace xbond::bpf
