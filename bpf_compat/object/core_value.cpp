#include "bpf_compat/object/core_value.hpp"

#include "bpf_compat/object/btf_handle.hpp"

namespace xbond::bpf::core {
namespace {

// Where a field stands, in the unit of memory that a program loads to get it.
struct Place {
  uint32_t byte_offset = 0;
  uint32_t bytes = 0;
  uint32_t bit_offset = 0;
  uint32_t bits = 0;
  bool bitfield = false;
};

// The smallest aligned unit, up to 8 bytes, that holds a bitfield whole.
Result<Place> place_bitfield(Place place, uint32_t declared_bytes) {
  if (declared_bytes == 0) return fail(EINVAL, "a bitfield of no size");
  place.bytes = declared_bytes;
  for (;;) {
    place.byte_offset = place.bit_offset / 8 / place.bytes * place.bytes;
    if (place.bit_offset + place.bits - place.byte_offset * 8 <= place.bytes * 8) return place;
    if (place.bytes >= 8) return fail(EINVAL, "a bitfield that no load can take");
    place.bytes *= 2;
  }
}

Result<Place> place_of(const Spec& spec, uint32_t field_type) {
  const auto& last = spec.steps.back();
  if (spec.bit_offset > UINT32_MAX / 2) return fail(EINVAL, "a field too far away");
  Place place{.bit_offset = static_cast<uint32_t>(spec.bit_offset)};
  if (!last.name.empty()) place.bits = btf_member_bitfield_size(btf__type_by_id(spec.types, last.type), last.index);
  place.bitfield = place.bits != 0;
  if (place.bitfield)
    return place_bitfield(place, btf__type_by_id(spec.types, skip_modifiers(spec.types, field_type))->size);
  const auto size = btf__resolve_size(spec.types, field_type);
  if (size < 0) return fail(EINVAL, "a field of no size");
  place.bytes = static_cast<uint32_t>(size);
  place.bits = place.bytes * 8;
  place.byte_offset = place.bit_offset / 8;
  return place;
}

bool is_signed(const btf_type* type) {
  if (btf_is_any_enum(type)) return btf_kflag(type);
  return btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_SIGNED) != 0;
}

Result<Value> field_value(const Spec& spec, bpf_core_relo_kind kind) {
  const auto& last = spec.steps.back();
  const bool element = last.name.empty();
  const auto field_type = element ? last.type : btf_members(btf__type_by_id(spec.types, last.type))[last.index].type;
  const auto place = place_of(spec, field_type);
  if (!place) return place.error();
  const auto leaf = skip_modifiers(spec.types, field_type);
  Value value{.exact = !place->bitfield};
  switch (kind) {
    case BPF_CORE_FIELD_BYTE_OFFSET:
      value.number = place->byte_offset;
      if (!place->bitfield) {
        value.size = place->bytes;
        value.leaf_type = leaf;
      }
      return value;
    case BPF_CORE_FIELD_BYTE_SIZE:
      value.number = place->bytes;
      return value;
    default:
      break;
  }
  if (element) return fail(EINVAL, "it asks for the bits of an array's element");
  switch (kind) {
    case BPF_CORE_FIELD_SIGNED:
      value.exact = true;
      value.number = is_signed(btf__type_by_id(spec.types, leaf)) ? 1 : 0;
      return value;
    case BPF_CORE_FIELD_LSHIFT_U64:
      value.number = 64 - (place->bit_offset + place->bits - place->byte_offset * 8);
      return value;
    default:
      value.exact = true;
      value.number = 64 - place->bits;
      return value;
  }
}

Result<Value> type_value(const Spec* spec, bpf_core_relo_kind kind) {
  if (!spec) return Value{};  // 0: neither there nor of any size
  switch (kind) {
    case BPF_CORE_TYPE_EXISTS:
      return Value{.number = 1};
    case BPF_CORE_TYPE_SIZE: {
      const auto size = btf__resolve_size(spec->types, spec->root);
      if (size < 0) return fail(EINVAL, "a type of no size");
      return Value{.number = static_cast<uint64_t>(size)};
    }
    default:  // a target's number is no number of the object's: it can't be checked against the instruction
      return Value{.number = spec->root, .exact = kind == BPF_CORE_TYPE_ID_LOCAL};
  }
}

uint64_t enumerator_value(const Spec& spec) {
  const auto& last = spec.steps.back();
  const auto* type = btf__type_by_id(spec.types, last.type);
  if (!btf_is_enum(type)) return btf_enum64_value(&btf_enum64(type)[last.index]);
  const auto value = btf_enum(type)[last.index].val;
  return btf_kflag(type) ? static_cast<uint64_t>(int64_t{value}) : static_cast<uint32_t>(value);
}

}  // namespace

Result<Value> value_of(const Spec* spec, bpf_core_relo_kind kind) {
  if (kind == BPF_CORE_FIELD_EXISTS || kind == BPF_CORE_ENUMVAL_EXISTS) return Value{.number = spec ? 1U : 0U};
  if (!is_field(kind) && !is_enumerator(kind)) return type_value(spec, kind);
  if (!spec) return Value{.known = false};
  if (is_enumerator(kind)) return Value{.number = enumerator_value(*spec)};
  return field_value(*spec, kind);
}

}  // namespace xbond::bpf::core
