#include "bpf_compat/engine/exec.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "bpf_compat/engine/interpreter.hpp"
#include "bpf_compat/engine/isa.hpp"

namespace xbond::bpf {
namespace {

// The memory is the value of an array of one: what a program may do to it is what it may do to any value.
Result<std::shared_ptr<Map>> make_memory(std::span<const std::byte> bytes) {
  MapSpec spec{.name = "memory", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .max_entries = 1};
  spec.value_size = static_cast<uint32_t>(bytes.size());
  spec.initial.assign(bytes.begin(), bytes.end());
  return Map::create(spec, 1);
}

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

constexpr uint32_t kArgumentSlots = 3;

}  // namespace

Result<uint64_t> execute(std::span<const bpf_insn> code, std::span<std::byte> memory) {
  // First by itself, so that errors count its own instructions
  if (const auto shape = check_code(code); !shape) return shape.error();
  std::shared_ptr<Map> map;
  std::vector<BoundMap> bound;
  std::vector<const BoundMap*> by_index;
  if (!memory.empty()) {
    auto made = make_memory(memory);
    if (!made) return made.error();
    map = std::move(*made);
    bound.push_back(bind_map(*map));
    by_index.push_back(&bound.front());
  }
  if (const auto decoded = decode(code, by_index); !decoded) return decoded.error();
  const auto whole = with_arguments(code, memory.size());
  const auto shape = check_code(whole);
  if (!shape) return shape.error();
  const auto decoded = decode(whole, by_index);
  if (!decoded) return decoded.error();

  CpuState state;
  if (decoded->traces) state.trace = std::make_unique<TraceRing>();
  Run run(bound, state, 0);
  std::array<uint8_t, 1> nothing{};
  auto* here = nothing.data();
  XdpFrame frame{here, here, here, here, here, 0, 0, 0};
  run.set_frame(frame);
  std::vector<std::byte> stack(size_t{isa::kFrameBytes} * shape->frames);
  uint32_t fault_at = 0;
  const auto r0 = interpret(decoded->ops.data(), run, stack, fault_at);
  if (run.fault != Fault::none) {
    const auto where = decoded->origin[fault_at];
    return at(where < kArgumentSlots ? 0 : where - kArgumentSlots, fault_text(run.fault));
  }
  if (map) {
    const uint32_t key = 0;
    (void)map->copy_lookup(std::as_bytes(std::span(&key, 1)), memory);
  }
  return r0;
}

}  // namespace xbond::bpf
