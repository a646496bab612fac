// Calls of helpers, by their contracts.
#include "bpf_compat/helper/helper.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>

#include "bpf_compat/map/names.hpp"
#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

namespace {

constexpr std::string_view kSizeAdvice =
    "bound the size on both sides first: 'if (n == 0 || n > MAX) return', n unsigned";

bool may_be_written(uint32_t helper) {
  return helper == BPF_FUNC_map_update_elem || helper == BPF_FUNC_map_delete_elem || helper == BPF_FUNC_map_push_elem ||
         helper == BPF_FUNC_map_pop_elem;
}

}  // namespace

Walk::Step Walk::helper() {
  const auto number = static_cast<uint32_t>(insn().imm);
  const auto* contract = find_contract(number);
  const auto failed = [](bool) { return Step::failed; };
  if (!contract) {
    const auto name = helper_name(number);
    return failed(refuse(name.empty() ? fmt::format("invalid func unknown#{}", number)
                                      : fmt::format("program of this type cannot use helper {}#{}", name, number)));
  }
  if (state_.lock.held && number != BPF_FUNC_spin_unlock)
    return failed(refuse("function calls are not allowed while holding a lock", "unlock before the call"));
  Call call{.contract = contract};
  for (unsigned i = 0; i < contract->arguments.size(); ++i) {
    if (contract->arguments[i] == Argument::none) continue;
    if (!argument(call, contract->arguments[i], i + 1)) return Step::failed;
  }
  note_call(call);
  if (call.function >= 0) {
    const auto before = at_;
    if (!begin_callback(number)) return Step::failed;
    at_ = before;
  }
  if (number == BPF_FUNC_tail_call && !state_.references.empty())
    return failed(refuse("tail_call would lead to reference leak"));
  result(call);
  ++at_;
  return Step::next;
}

void Walk::note_call(const Call& call) {
  if (call.map < 0) return;
  const auto& of = reg(static_cast<unsigned>(call.map));
  auto& noted = report_.facts.call_map[at_];
  const int64_t map = of.inner ? kAnyMap : int64_t{of.index};
  noted = noted == kNoMap || noted == map ? map : kAnyMap;
  for (unsigned i = 0; i < call.contract->arguments.size(); ++i)
    if (call.contract->arguments[i] == Argument::key) note(reg(i + 1), 0);
}

void Walk::result(const Call& call) {
  const auto& contract = *call.contract;
  const Reg map_reg = call.map >= 0 ? reg(static_cast<unsigned>(call.map)) : Reg();
  const Reg first = reg(1);
  for (unsigned r = 0; r <= 5; ++r) reg(r) = Reg();
  if (call.released > 0) release(first.reference);
  if (contract.moves_packet) void_packet_pointers();
  auto& r0 = reg(0);
  switch (contract.gives) {
    case Gives::nothing:
      return;
    case Gives::number:
      set_unknown(0);
      if (contract.helper == BPF_FUNC_get_smp_processor_id) r0.number = Number::between(0, UINT32_MAX);
      if (contract.helper == BPF_FUNC_loop) r0.number = Number::signed_between(-4095, 1 << 23);
      return;
    case Gives::value_or_null: {
      const auto type = map(map_reg).type;
      const bool gives_map = type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS;
      r0 = Reg::pointer(gives_map ? Kind::map : Kind::map_value);
      r0.index = map_reg.index;
      r0.inner = map_reg.inner || gives_map;
      break;
    }
    case Gives::record_or_null:
      r0 = Reg::pointer(Kind::record);
      r0.size = call.record_bytes;
      r0.reference = new_id();
      state_.references.push_back(r0.reference);
      break;
  }
  r0.maybe_null = true;
  r0.id = new_id();
  r0.node = nodes_.made_of(0);
}

bool Walk::release(uint32_t reference) {
  std::erase(state_.references, reference);
  state_.each([&](Reg& reg) {
    if (reg.reference == reference) reg = Reg::unknown(nodes_.changed(reg.node));
  });
  return true;
}

void Walk::void_packet_pointers() {
  state_.each([&](Reg& reg) {
    if (reg.is_packet() || reg.kind == Kind::packet_end) reg = Reg::unknown(nodes_.changed(reg.node));
  });
}

bool Walk::argument(Call& call, Argument kind, unsigned number) {
  if (!read(number)) return false;
  auto& r = reg(number);
  const auto wrong = [&](std::string_view expected) {
    return refuse(fmt::format("R{} type={} expected={}", number, to_text(r), expected),
                  r.maybe_null ? "compare it with NULL first" : "");
  };
  const bool may_be_null = kind == Argument::memory_or_null || kind == Argument::stack_or_null;
  if (r.maybe_null) return wrong("a pointer that is not NULL");
  switch (kind) {
    case Argument::none:
      return true;
    case Argument::anything:
      return true;
    case Argument::context:
      if (r.kind != Kind::context) return wrong("ctx");
      if (r.offset != 0 || !r.number.is(0)) return refuse(fmt::format("R{} is a modified ctx ptr", number));
      return true;
    case Argument::map:
      return map_argument(call, number);
    case Argument::key:
    case Argument::value:
    case Argument::value_out: {
      const auto& spec = map(reg(static_cast<unsigned>(call.map)));
      // A bloom filter is asked for a value
      const bool write = kind == Argument::value_out && spec.type != BPF_MAP_TYPE_BLOOM_FILTER;
      return memory_argument(call, number, kind == Argument::key ? spec.key_size : spec.value_size, write, false);
    }
    case Argument::memory:
    case Argument::memory_or_null:
    case Argument::memory_out:
      if (may_be_null && r.is_null()) {
        precise(r);
        return true;
      }
      if (r.is_scalar() && !r.is_null()) return wrong("fp, pkt, pkt_meta, map_key, map_value, mem");
      return true;  // with its size
    case Argument::size:
    case Argument::size_or_zero: {
      const auto of = call.contract->arguments[number - 2];
      return size_argument(call, number, kind == Argument::size_or_zero, of == Argument::memory_out,
                           of == Argument::memory_or_null);
    }
    case Argument::word_out: {
      if (!memory_argument(call, number, 4, false, false)) return false;
      const auto place = r.number.bits + Tnum::constant(static_cast<uint64_t>(int64_t{r.offset}));
      if (!place.is_aligned(4)) return refuse(fmt::format("misaligned access off {} size 4", r.offset));
      return memory_argument(call, number, 4, true, false);
    }
    case Argument::text:
      return text_argument(number);
    case Argument::function:
      if (r.kind != Kind::function) return wrong("func");
      call.function = static_cast<int>(number);
      return true;
    case Argument::stack_or_null:
      if (r.is_null()) {
        precise(r);
        return true;
      }
      return r.kind == Kind::stack ? true : wrong("fp");
    case Argument::lock:
      return lock_argument(call, number);
    case Argument::record:
      if (r.kind != Kind::record || r.reference == 0) return wrong("ringbuf_mem");
      if (r.offset != 0 || !r.number.is(0))
        return refuse(fmt::format("R{} must have zero offset when passed to release func", number));
      call.released = static_cast<int>(number);
      return true;
    case Argument::record_size:
      if (!r.is_constant())
        return refuse(fmt::format("R{} is not a known constant'", number), "the size of a record is a constant");
      if (r.number.value() >= kMaxVariable) return refuse(fmt::format("R{} invalid record size", number));
      precise(r);
      call.record_bytes = static_cast<uint32_t>(r.number.value());
      return true;
  }
  return false;
}

bool Walk::map_argument(Call& call, unsigned number) {
  const auto& r = reg(number);
  const auto helper = call.contract->helper;
  if (r.kind != Kind::map) return refuse(fmt::format("R{} type={} expected=map_ptr", number, to_text(r)));
  if (r.inner && !maps_[r.index].inner) return refuse(fmt::format("R{} is a map of no known shape", number));
  const auto& spec = map(r);
  if (!takes_map(helper, spec.type))
    return refuse(
        fmt::format("cannot pass map_type {} into func {}#{}", map_type_name(spec.type), helper_name(helper), helper));
  if (may_be_written(helper) && (spec.frozen || (spec.flags & BPF_F_RDONLY_PROG) != 0))
    return refuse("write into map forbidden", "the map is read-only for programs");
  call.map = static_cast<int>(number);
  return true;
}

// Which lock, by the look-up that found its value: it may be another entry's otherwise.
bool Walk::lock_argument(const Call& call, unsigned number) {
  const auto& r = reg(number);
  const bool value = r.kind == Kind::map_value && r.number.is_constant();
  if (!value || map(r).spin_lock < 0 || r.offset + static_cast<int64_t>(r.number.value()) != map(r).spin_lock)
    return refuse(fmt::format("R{} doesn't point to 'struct bpf_spin_lock' of a map value", number));
  auto& lock = state_.lock;
  if (call.contract->helper == BPF_FUNC_spin_lock) {
    lock = {.held = true, .index = r.index, .id = r.id};
    return true;
  }
  if (!lock.held) return refuse("bpf_spin_unlock without taking a lock");
  if (lock.index != r.index || lock.id != r.id) return refuse("bpf_spin_unlock of different lock");
  lock = {};
  return true;
}

bool Walk::memory_argument(const Call& call, unsigned number, uint32_t bytes, bool write, bool zero) {
  const Reg r = reg(number);
  if (bytes == 0 && zero && (r.is_null() || r.is_pointer())) {
    precise(r);
    if (r.is_null()) return true;
  }
  if (r.kind == Kind::stack) {
    if (bytes == 0) return true;
    return write ? write_stack(r, number, bytes) : read_stack(r, number, bytes);
  }
  if (r.is_packet()) {
    if (!call.contract->packet)
      return refuse(fmt::format("helper access to the packet is not allowed: R{}", number),
                    "copy the bytes to the stack and give the helper the copy");
    return check_packet(r, number, 0, bytes, true);
  }
  const bool data =
      r.kind == Kind::map_value || r.kind == Kind::map_key || r.kind == Kind::record || r.kind == Kind::memory;
  if (!data)
    return refuse(fmt::format("R{} type={} expected=fp, pkt, pkt_meta, map_key, map_value, mem", number, to_text(r)));
  return check_pointer(r, number, 0, bytes, write);
}

bool Walk::size_argument(const Call& call, unsigned number, bool zero, bool write, bool may_be_null) {
  const auto& size = reg(number);
  const auto& memory = reg(number - 1);
  if (!size.is_scalar()) return refuse(fmt::format("R{} type={} expected=scalar", number, to_text(size)));
  const auto& n = size.number.r64;
  if (n.smin < 0)
    return refuse(fmt::format("R{} min value is negative, either use unsigned or 'var &= const'", number), kSizeAdvice);
  if (n.umin == 0 && !zero)
    return refuse(fmt::format("R{} invalid zero-sized read: u64=[{},{}]", number, n.umin, n.umax), kSizeAdvice);
  if (n.umax >= kMaxVariable)
    return refuse(fmt::format("R{} unbounded memory access, use 'var &= const' or 'if (var < const)'", number),
                  kSizeAdvice);
  precise(size);
  if (memory.is_null() && (n.umax != 0 || !(zero || may_be_null)))
    return refuse(fmt::format("R{} type=scalar expected=fp, pkt, pkt_meta, map_key, map_value, mem", number - 1));
  const auto bytes = static_cast<uint32_t>(n.umax);
  // A helper that writes fewer bytes leaves the others as they were: they must have been written then
  if (write && !size.number.is_constant() && memory.kind == Kind::stack &&
      !memory_argument(call, number - 1, bytes, false, zero))
    return false;
  return memory_argument(call, number - 1, bytes, write, zero);
}

bool Walk::text_argument(unsigned number) {
  const auto& r = reg(number);
  if (r.kind != Kind::map_value || r.inner || !map(r).frozen)
    return refuse(fmt::format("R{} does not point to a readonly map'", number), "the text has to be a constant");
  if (!r.number.is_constant()) return refuse(fmt::format("R{} is not a constant address'", number));
  const auto& spec = map(r);
  const auto at = static_cast<size_t>(r.offset + static_cast<int64_t>(r.number.value()));
  const bool inside = at < spec.initial.size();
  if (!inside || std::find(spec.initial.begin() + static_cast<ptrdiff_t>(at), spec.initial.end(), std::byte{0}) ==
                     spec.initial.end())
    return refuse("string is not zero-terminated");
  return true;
}

}  // namespace xbond::bpf::verifier
