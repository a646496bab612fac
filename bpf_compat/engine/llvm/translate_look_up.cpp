// Look-ups in maps that are known: an array's is arithmetic, a hash map's a call with the key in registers. The key is
// read in the widths in which the program stored it: a wider load would wait for the stores.
#include <algorithm>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/llvm/translate.hpp"
#include "bpf_compat/helper/look_up.hpp"

namespace xbond::bpf::llvm {

using namespace isa;  // NOLINT(google-build-using-namespace): the vocabulary of this file
using verifier::Memory;

namespace {

bool is_fixed_stack(const verifier::Access& access) {
  return access.memory == Memory::stack && access.own_frame && access.fixed && access.low == access.high;
}

}  // namespace

void Translator::note_stores(uint32_t first, uint32_t end) {
  seams_.clear();
  for (uint32_t i = first; i < end; ++i) {
    const auto& one = source_.program->insns[i];
    if (is_wide(one)) {
      ++i;
      continue;
    }
    const auto cls = code_class(one.code);
    const auto& to = source_.facts->access[i];
    if ((cls != BPF_ST && cls != BPF_STX) || !is_fixed_stack(to)) continue;
    seams_.push_back(to.low);
    seams_.push_back(to.low + access_bytes(one.code));
  }
  std::ranges::sort(seams_);
  seams_.erase(std::unique(seams_.begin(), seams_.end()), seams_.end());
}

// Bytes of the key that r2 points at, as a 64-bit number.
Value Translator::key_part(int64_t offset, unsigned bytes) const {
  const auto from = is_fixed_stack(access())
                        ? e_.at(top_, access().low + offset)
                        : e_.as_pointer(e_.add(reg(BPF_REG_2), e_.signed_number(offset)), e_.type(8));
  const auto value = LLVMBuildFreeze(e_.b, e_.load(from, bytes * 8), "");
  return bytes == 8 ? value : e_.widen(value);
}

// The key's bytes [begin, end), at most eight, filled up with zeros.
Value Translator::key_word(uint32_t begin, uint32_t end) const {
  const bool on_stack = is_fixed_stack(access());
  Value word = nullptr;
  for (uint32_t at = begin; at < end;) {
    // To the next seam, in a width that the processor has
    auto part = end - at;
    if (on_stack)
      for (const auto seam : seams_)
        if (const auto distance = seam - (access().low + at); distance > 0 && distance < part)
          part = static_cast<uint32_t>(distance);
    part = std::bit_floor(part);
    auto piece = key_part(at, part);
    if (at != begin) piece = LLVMBuildShl(e_.b, piece, e_.number(uint64_t{at - begin} * 8), "");
    word = word ? LLVMBuildOr(e_.b, word, piece, "") : piece;
    at += part;
  }
  return word;
}

// False: the helper has to do it.
bool Translator::look_up() {
  const auto* map = direct_look_up(source_, at_);
  if (!map) return false;
  if (map->is_array())
    look_up_index(*map);
  else
    look_up_hash(*map);
  forget_arguments();
  return true;
}

void Translator::look_up_index(const BoundMap& map) {
  const auto index = key_word(0, sizeof(uint32_t));
  auto base = e_.number(reinterpret_cast<uintptr_t>(map.base));
  if (map.plane != 0) base = e_.add(base, e_.multiply(e_.field(native_, offsetof(Native, cpu)), map.plane));
  const auto value = e_.add(base, e_.multiply(index, map.stride));
  const auto there = e_.compare(LLVMIntULT, index, e_.number(map.max_entries));
  set(0, e_.choose(there, value, e_.number(0)));
}

void Translator::look_up_hash(const BoundMap& map) {
  const auto self = e_.number(reinterpret_cast<uintptr_t>(&map));
  const auto cpu = e_.field(native_, offsetof(Native, cpu));
  const uint32_t words = (map.key_size + 7) / 8;
  if (words > kKeyWords) {
    const auto key = is_fixed_stack(access()) ? e_.number_of(e_.at(top_, access().low)) : reg(BPF_REG_2);
    return set(0, e_.call(look_up_bytes(), e_.i64(), {self, cpu, key}));
  }
  std::array<Value, kKeyWords> key{};
  for (uint32_t i = 0; i < words; ++i) key[i] = key_word(i * 8, std::min(i * 8 + 8, map.key_size));
  const auto function = look_up_words(words);
  switch (words) {
    case 1:
      return set(0, e_.call(function, e_.i64(), {self, cpu, key[0]}));
    case 2:
      return set(0, e_.call(function, e_.i64(), {self, cpu, key[0], key[1]}));
    case 3:
      return set(0, e_.call(function, e_.i64(), {self, cpu, key[0], key[1], key[2]}));
    default:
      return set(0, e_.call(function, e_.i64(), {self, cpu, key[0], key[1], key[2], key[3]}));
  }
}

}  // namespace xbond::bpf::llvm
