// Loads, stores and atomics, and what may be touched through each kind of pointer.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <optional>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/constant.hpp"
#include "bpf_compat/verifier/walk.hpp"

namespace xbond::bpf::verifier {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file

namespace {

constexpr std::string_view kPacketAdvice =
    "compare a pointer behind the last byte with data_end first, on every way to this access";
constexpr std::string_view kBoundAdvice =
    "bound the offset on both sides before the access: 'if (x >= SIZE) return', or 'x &= MASK', with x unsigned";

Memory memory_of(Kind kind) {
  switch (kind) {
    case Kind::context:
      return Memory::context;
    case Kind::stack:
      return Memory::stack;
    case Kind::packet:
      return Memory::packet;
    case Kind::metadata:
      return Memory::metadata;
    case Kind::map_value:
      return Memory::map_value;
    case Kind::map_key:
      return Memory::map_key;
    default:
      return Memory::record;
  }
}

Number loaded(uint32_t bytes, bool sign) {
  const unsigned bits = bytes * 8;
  return sign ? sign_extended(Number{}, bits, true) : zero_extended(Number{}, bits);
}

}  // namespace

// Joins what this visit says of the instruction with what earlier ones said.
void Walk::note(const Reg& reg, int32_t offset) {
  auto& access = report_.facts.access[at_];
  const auto memory = memory_of(reg.kind);
  const int64_t low = reg.number.r64.smin + reg.offset + offset;
  const int64_t high = reg.number.r64.smax + reg.offset + offset;
  const bool own = reg.kind != Kind::stack || reg.frame + 1U == state_.frames.size();
  const bool fixed = !reg.is_packet() || reg.id == 0;
  if (access.memory == Memory::none) {
    access = {.memory = memory, .fixed = fixed, .own_frame = own, .map = reg.index, .low = low, .high = high};
    return;
  }
  if (access.memory != memory || (memory == Memory::map_value && access.map != reg.index))
    access.memory = Memory::mixed;
  access.fixed = access.fixed && fixed;
  access.own_frame = access.own_frame && own;
  access.low = std::min(access.low, low);
  access.high = std::max(access.high, high);
}

bool Walk::check_bounds(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, uint32_t limit,
                        std::string_view what) {
  const int64_t low = reg.number.r64.smin + reg.offset + offset;
  const int64_t high = reg.number.r64.smax + reg.offset + offset;
  if (low >= 0 && high + bytes <= limit) return true;
  const bool variable = !reg.number.is_constant();
  if (variable && reg.number.r64.smin < 0 && low < 0)
    return refuse(
        fmt::format("R{} min value is negative, either use unsigned index or do a if (index >=0) check.", number),
        kBoundAdvice);
  return refuse(fmt::format("invalid access to {}, off={} size={}{}, limit {}: R{} {}", what, low, bytes,
                            variable ? fmt::format(" (up to off={})", high) : "", limit, number,
                            variable ? "max value is outside of the allowed memory range"
                                     : "is outside of the allowed memory range"),
                kBoundAdvice);
}

bool Walk::check_packet(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool zero) {
  const int64_t at = int64_t{reg.offset} + offset;
  const auto& variable = reg.number.r64;
  if (variable.smin < 0)
    return refuse(
        fmt::format("R{} min value is negative, either use unsigned index or do a if (index >=0) check.", number),
        kBoundAdvice);
  if (variable.umax > kMaxPacketOffset || static_cast<int64_t>(variable.umax) + at + bytes > kMaxPacketOffset + 1)
    return refuse(fmt::format("R{} offset is outside of the packet", number), kBoundAdvice);
  if (at >= 0 && (bytes != 0 || zero) && at + bytes <= std::max(reg.range, 0)) return true;
  return refuse(
      fmt::format("invalid access to packet, off={} size={}, R{}(id={},off={},r={}): R{} offset is outside of "
                  "the packet",
                  at, bytes, number, reg.id, reg.offset, std::max(reg.range, 0), number),
      kPacketAdvice);
}

bool Walk::check_map_value(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool write) {
  const auto& spec = map(reg);
  const bool targets =
      spec.type == BPF_MAP_TYPE_DEVMAP || spec.type == BPF_MAP_TYPE_DEVMAP_HASH || spec.type == BPF_MAP_TYPE_XSKMAP;
  if (write && (spec.frozen || targets || (spec.flags & BPF_F_RDONLY_PROG) != 0))
    return refuse(fmt::format("write into map forbidden, value_size={} off={} size={}", spec.value_size,
                              reg.offset + offset, bytes),
                  "the map, or data section, is read-only for programs");
  if (!write && (spec.flags & BPF_F_WRONLY_PROG) != 0)
    return refuse(fmt::format("read from map forbidden, value_size={} off={} size={}", spec.value_size,
                              reg.offset + offset, bytes));
  if (!check_bounds(reg, number, offset, bytes, value_size(reg), "map value")) return false;
  const int64_t low = reg.number.r64.smin + reg.offset + offset;
  const int64_t high = reg.number.r64.smax + reg.offset + offset;
  if (spec.spin_lock >= 0 && low < spec.spin_lock + 4 && high + bytes > spec.spin_lock)
    return refuse("bpf_spin_lock cannot be accessed directly by load/store",
                  "leave the lock's bytes to bpf_spin_lock and bpf_spin_unlock");
  return true;
}

bool Walk::check_context(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool write) {
  if (reg.offset != 0 || !reg.number.is(0))
    return refuse(fmt::format("dereference of modified ctx ptr R{} off={} disallowed", number, reg.offset),
                  "read fields from the context pointer itself");
  Reg field;
  if (!write && bytes == 4 && offset >= 0 && context_field(static_cast<uint32_t>(offset), field)) return true;
  return refuse(
      fmt::format("invalid bpf_context access off={} size={}", offset, bytes),
      write ? "programs can't write the context"
            : "fields of struct xdp_md are read whole, 4 bytes each; egress_ifindex only in xdp/devmap programs");
}

bool Walk::context_field(uint32_t offset, Reg& out) {
  switch (offset) {
    case offsetof(xdp_md, data):
      out = Reg::pointer(Kind::packet);
      return true;
    case offsetof(xdp_md, data_end):
      out = Reg::pointer(Kind::packet_end);
      return true;
    case offsetof(xdp_md, data_meta):
      out = Reg::pointer(Kind::metadata);
      return true;
    case offsetof(xdp_md, egress_ifindex):
      if (!devmap_) return false;
      [[fallthrough]];
    case offsetof(xdp_md, ingress_ifindex):
    case offsetof(xdp_md, rx_queue_index):
      out = Reg::scalar(loaded(4, false));
      return true;
    default:
      return false;
  }
}

bool Walk::check_pointer(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool write) {
  if (reg.maybe_null)
    return refuse(fmt::format("R{} invalid mem access '{}'", number, to_text(reg)),
                  reg.kind == Kind::record ? "compare the reserved record with NULL first"
                                           : "compare the result of the look-up with NULL first");
  switch (reg.kind) {
    case Kind::context:
      return check_context(reg, number, offset, bytes, write);
    case Kind::packet:
    case Kind::metadata:
      return check_packet(reg, number, offset, bytes, false);
    case Kind::map_value:
      return check_map_value(reg, number, offset, bytes, write);
    case Kind::map_key:
      if (write) return refuse(fmt::format("write to change key R{} not allowed", number));
      return check_bounds(reg, number, offset, bytes, map(reg).key_size, "map key");
    case Kind::record:
    case Kind::memory:
      return check_bounds(reg, number, offset, bytes, reg.size, "memory");
    default:
      return refuse(fmt::format("R{} invalid mem access '{}'", number, reg.is_scalar() ? "scalar" : to_text(reg)),
                    reg.is_scalar()
                        ? "the register holds a number, not a pointer: pointers into the packet are void after "
                          "bpf_xdp_adjust_*, and no pointer survives arithmetic but + and -"
                        : "");
  }
}

// Bytes of a read-only data section are what the object says.
std::optional<uint64_t> Walk::constant_value(const Reg& reg, int32_t offset, uint32_t bytes) const {
  if (reg.kind != Kind::map_value || !reg.number.is_constant() || reg.inner) return std::nullopt;
  return constant_at(map(reg), reg.offset + offset + static_cast<int64_t>(reg.number.value()), bytes);
}

bool Walk::load() {
  const auto& i = insn();
  const auto bytes = static_cast<uint32_t>(access_bytes(i.code));
  const bool sign = code_mode(i.code) == kModeSignExtend;
  if (!read(i.src_reg)) return false;
  const Reg from = reg(i.src_reg);
  if (from.kind == Kind::stack) {
    Reg out;
    if (!load_stack(from, i.src_reg, i.off, bytes, sign, out)) return false;
    reg(i.dst_reg) = out;
    note(from, i.off);
    return true;
  }
  if (!check_pointer(from, i.src_reg, i.off, bytes, false)) return false;
  if (from.kind == Kind::context && sign) return refuse("sign-extending load from the context");
  auto& access = report_.facts.access[at_];
  if (access.memory != Memory::none && (access.memory == Memory::context) != (from.kind == Kind::context))
    return refuse("same insn cannot be used with different pointers");
  note(from, i.off);
  if (from.kind == Kind::context) {
    Reg field;
    context_field(static_cast<uint32_t>(i.off), field);
    reg(i.dst_reg) = field;
    reg(i.dst_reg).node = nodes_.made_of(0);
    return true;
  }
  if (const auto value = constant_value(from, i.off, bytes)) {
    const auto number = Number::constant(*value);
    set_number(i.dst_reg, sign ? sign_extended(number, bytes * 8, true) : number, nodes_.made_of(0));
    return true;
  }
  set_number(i.dst_reg, loaded(bytes, sign), nodes_.made_of(0));
  return true;
}

bool Walk::store() {
  const auto& i = insn();
  const auto bytes = static_cast<uint32_t>(access_bytes(i.code));
  const bool immediate = code_class(i.code) == BPF_ST;
  if (!read(i.dst_reg)) return false;
  if (!immediate && !read(i.src_reg)) return false;
  const Reg to = reg(i.dst_reg);
  const Reg value = immediate ? Reg::scalar(Number::constant(static_cast<uint64_t>(int64_t{i.imm}))) : reg(i.src_reg);
  if (to.kind == Kind::stack) {
    if (!store_stack(to, i.dst_reg, i.off, bytes, value)) return false;
    note(to, i.off);
    return true;
  }
  if (!check_pointer(to, i.dst_reg, i.off, bytes, true)) return false;
  note(to, i.off);
  return true;
}

namespace {

// The register that gets what was there; none: it is not fetched.
std::optional<unsigned> fetched(const bpf_insn& i) {
  if (i.imm == kLoadAcquire) return i.dst_reg;
  if (i.imm == kStoreRelease || (i.imm & BPF_FETCH) == 0) return std::nullopt;
  return i.imm == BPF_CMPXCHG ? 0U : i.src_reg;
}

}  // namespace

// As a load and a store of a number of which nothing is known.
bool Walk::atomic_stack(const Reg& to, unsigned number, uint32_t bytes, Reg& before) {
  if (insn().imm != kStoreRelease && !load_stack(to, number, insn().off, bytes, false, before)) return false;
  if (before.is_pointer()) return refuse(fmt::format("R{} atomic operation on a spilled pointer", number));
  if (insn().imm == kLoadAcquire) return true;
  return store_stack(to, number, insn().off, bytes, Reg::unknown());
}

bool Walk::atomic() {
  const auto& i = insn();
  const auto bytes = static_cast<uint32_t>(access_bytes(i.code));
  const bool is_load = i.imm == kLoadAcquire;
  const auto base = is_load ? i.src_reg : i.dst_reg;
  if (!read(i.src_reg) || (!is_load && !read(i.dst_reg)) || (i.imm == BPF_CMPXCHG && !read(0))) return false;
  if (!is_load && reg(i.src_reg).is_pointer()) return refuse(fmt::format("R{} leaks addr into mem", i.src_reg));
  if (i.imm == BPF_CMPXCHG && reg(0).is_pointer()) return refuse("R0 leaks addr into mem");
  const Reg to = reg(base);
  if (to.kind == Kind::context || to.is_packet() || to.kind == Kind::packet_end)
    return refuse(fmt::format("BPF_ATOMIC stores into R{} {} is not allowed", base, to_text(to)),
                  "atomics work on map values and the stack");
  Reg before = Reg::scalar(loaded(bytes, false), nodes_.made_of(0));
  if (to.kind == Kind::stack) {
    if (!atomic_stack(to, base, bytes, before)) return false;
  } else {
    if (!check_pointer(to, base, i.off, bytes, false) || (!is_load && !check_pointer(to, base, i.off, bytes, true)))
      return false;
    const auto place = to.number.bits + Tnum::constant(static_cast<uint64_t>(int64_t{to.offset} + i.off));
    if (!place.is_aligned(bytes))
      return refuse(fmt::format("misaligned value access off {} size {}", to.offset + i.off, bytes),
                    "atomics need their natural alignment");
  }
  note(to, i.off);
  if (const auto into = fetched(i)) reg(*into) = before;
  return true;
}

}  // namespace xbond::bpf::verifier
