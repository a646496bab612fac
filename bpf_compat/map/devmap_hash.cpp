#include "bpf_compat/map/devmap_hash.hpp"

#include <linux/bpf.h>

#include <cstring>

#include "bpf_compat/map/array_base.hpp"
#include "bpf_compat/map/shape.hpp"
#include "bpf_compat/map/target_program.hpp"

namespace xbond::bpf {

Result<std::shared_ptr<Map>> DevmapHash::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  if (spec.max_entries == 0 || spec.key_size != sizeof(uint32_t) ||
      (spec.value_size != sizeof(uint32_t) && spec.value_size != sizeof(Target)))
    return wrong_sizes(spec);
  if ((spec.flags & ~(BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY)) != 0) return wrong_flags(spec);
  if (spec.max_entries > 1U << 31) return wrong_sizes(spec);
  auto parts = make_parts(spec, cpus, grace);
  if (!parts) return parts.error();
  return std::shared_ptr<Map>(std::make_shared<DevmapHash>(Token{}, spec, cpus, std::move(*parts), grace));
}

Target DevmapHash::at(uint32_t key, uint32_t cpu) noexcept {
  Target target;
  if (const auto slot = find_slot(&key, cpu); slot != kNoSlot) std::memcpy(&target, value(slot, 0), spec().value_size);
  return target;
}

int DevmapHash::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int DevmapHash::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int DevmapHash::copy_update(std::span<const std::byte> key, std::span<const std::byte> from, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size || from.size() != spec().value_size) return -EINVAL;
  Target target;
  std::memcpy(&target, from.data(), from.size());
  if (flags > BPF_EXIST || target.number == 0) return -EINVAL;
  // Unlike other maps BPF_EXIST does not ask for an entry here
  const auto wanted = flags == BPF_NOEXIST ? BPF_NOEXIST : BPF_ANY;
  const std::lock_guard guard(lock_);
  // The kernel looks for the entry before it looks at the program.
  if (wanted == BPF_NOEXIST && find_slot(key.data(), 0) != kNoSlot) return -EEXIST;
  std::shared_ptr<const void> program;
  if (const int rc = take_program(target, spec().type, program); rc != 0) return rc;
  const int rc = HashMap::copy_update(key, std::as_bytes(std::span(&target, 1)).first(from.size()), wanted);
  if (rc == 0) retired_.add(std::exchange(programs_[index_of(key.data())], std::move(program)));
  return rc;
}

int DevmapHash::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size) return -EINVAL;
  const std::lock_guard guard(lock_);
  const int rc = HashMap::erase(key.data(), cpus());
  if (auto node = programs_.extract(index_of(key.data())); rc == 0 && node) retired_.add(std::move(node.mapped()));
  return rc;
}

int DevmapHash::copy_take(std::span<const std::byte> key, std::span<std::byte> value) {
  // The kernel has it for other hash maps only.
  return Map::copy_take(key, value);  // NOLINT(bugprone-parent-virtual-call)
}

void DevmapHash::unused() noexcept {
  const std::lock_guard guard(lock_);
  for (auto& [key, program] : programs_) {
    if (!program) continue;
    Target target = at(key, 0);
    target.program = 0;
    (void)HashMap::copy_update(std::as_bytes(std::span(&key, 1)),
                               std::as_bytes(std::span(&target, 1)).first(spec().value_size), BPF_EXIST);
    retired_.add(std::move(program));
  }
  programs_.clear();
}

}  // namespace xbond::bpf
