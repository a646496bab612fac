#include "bpf_compat/object/constant.hpp"

#include <linux/bpf.h>

#include <cstring>

namespace xbond::bpf {

std::optional<uint64_t> constant_at(const MapSpec& spec, int64_t at, size_t bytes) {
  const bool section =
      spec.frozen && spec.type == BPF_MAP_TYPE_ARRAY && spec.max_entries == 1 && spec.initial.size() == spec.value_size;
  if (!section || at < 0) return std::nullopt;
  const auto begin = static_cast<size_t>(at);
  if (begin > spec.initial.size() || spec.initial.size() - begin < bytes) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, spec.initial.data() + begin, bytes);
  return value;
}

}  // namespace xbond::bpf
