// States and refusals as text, in the kernel's manner.
#include <fmt/format.h>

#include "bpf_compat/verifier/state.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::bpf::verifier {
namespace {

std::string_view kind_text(const Reg& reg) {
  switch (reg.kind) {
    case Kind::none:
      return "?";
    case Kind::scalar:
      return "scalar";
    case Kind::context:
      return "ctx";
    case Kind::stack:
      return "fp";
    case Kind::packet:
      return "pkt";
    case Kind::metadata:
      return "pkt_meta";
    case Kind::packet_end:
      return "pkt_end";
    case Kind::map:
      return reg.maybe_null ? "map_ptr_or_null" : "map_ptr";
    case Kind::map_value:
      return reg.maybe_null ? "map_value_or_null" : "map_value";
    case Kind::map_key:
      return "map_key";
    case Kind::record:
      return reg.maybe_null ? "ringbuf_mem_or_null" : "ringbuf_mem";
    case Kind::memory:
      return reg.maybe_null ? "mem_or_null" : "mem";
    case Kind::function:
      return "func";
  }
  return "?";
}

std::string slot_text(const Slot& slot) {
  if (slot.spilled == 8) return to_text(slot.reg);
  std::string text;
  for (size_t i = slot.bytes.size(); i-- > 0;) {
    const auto byte = slot.bytes[i];
    text += byte == Byte::none ? '?' : byte == Byte::any ? 'm' : byte == Byte::zero ? '0' : 'r';
  }
  return text;
}

}  // namespace

std::string to_text(const Reg& reg) {
  if (reg.is_scalar()) {
    if (reg.number.is_constant()) return to_text(reg.number);
    const auto known = to_text(reg.number);
    const auto id = reg.id != 0 ? fmt::format("id={}{}", reg.id, known.empty() ? "" : ",") : "";
    return fmt::format("scalar({}{})", id, known);
  }
  std::string known;
  const auto put = [&](const std::string& text) { known += (known.empty() ? "" : ",") + text; };
  if (reg.kind == Kind::stack && reg.number.is_constant()) return fmt::format("fp{}", reg.offset);
  if (reg.id != 0) put(fmt::format("id={}", reg.id));
  if (reg.reference != 0) put(fmt::format("ref_obj_id={}", reg.reference));
  if (reg.kind == Kind::map || reg.kind == Kind::map_value) put(fmt::format("map={}", reg.index));
  if (reg.offset != 0) put(fmt::format("off={}", reg.offset));
  if (reg.is_packet()) put(fmt::format("r={}", reg.range));
  if (reg.size != 0) put(fmt::format("sz={}", reg.size));
  if (!reg.number.is_constant() && reg.kind != Kind::none) put(to_text(reg.number));
  return fmt::format("{}({})", kind_text(reg), known);
}

std::string to_text(const State& state, const Nodes* nodes) {
  const auto& frame = state.frame();
  std::string text;
  const auto put = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (state.frames.size() > 1) put(fmt::format("frame{}:", state.frames.size() - 1));
  for (size_t r = 0; r < frame.regs.size(); ++r) {
    const auto& reg = frame.regs[r];
    if (reg.kind == Kind::none) continue;
    const auto* mark = nodes && reg.is_scalar() && nodes->precise(reg.node) ? "P" : "";
    put(fmt::format("R{}={}{}", r, mark, to_text(reg)));
  }
  for (size_t s = 0; s < frame.stack.size(); ++s) {
    const auto shown = slot_text(frame.stack[s]);
    if (shown != "????????") put(fmt::format("fp-{}={}", 8 * (s + 1), shown));
  }
  for (const auto reference : state.references) put(fmt::format("refs={}", reference));
  if (state.lock.held) put("lock");
  return text;
}

std::string Refusal::line() const {
  std::string out = fmt::format("instruction {}", instruction);
  if (!source.empty()) out += fmt::format(" ({})", source);
  out += ": " + text;
  if (!advice.empty()) out += ": " + advice;
  return out;
}

}  // namespace xbond::bpf::verifier
