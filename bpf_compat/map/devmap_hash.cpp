#include "bpf_compat/map/devmap_hash.hpp"

#include <linux/bpf.h>

#include <cstring>
#include <vector>

#include "bpf_compat/map/array_base.hpp"
#include "bpf_compat/map/copy.hpp"
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
  if (auto status = add_sides(*parts); !status) return status.error();
  return std::shared_ptr<Map>(std::make_shared<DevmapHash>(Token{}, spec, cpus, std::move(*parts), grace));
}

// A place keeps its value and what lies beside it until the burst ends.
Destination DevmapHash::destination_at(uint32_t slot) const noexcept {
  Destination to;
  copy_out(&to.number, value(slot, 0), sizeof to.number);
  to.program = static_cast<const Program*>(side(slot));
  return to;
}

Destination DevmapHash::destination(uint32_t key, uint32_t cpu) noexcept {
  const auto slot = find_slot(&key, cpu);
  return slot == kNoSlot ? Destination{} : destination_at(slot);
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
  std::shared_ptr<const Program> program;
  if (const int rc = take_program(target, spec().type, program); rc != 0) return rc;
  const int rc = update_with_side(key.data(), &target, wanted, program.get());
  if (rc == 0) retired_.add(std::exchange(programs_[index_of(key.data())], std::move(program)));
  return rc;
}

int DevmapHash::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size) return -EINVAL;
  const std::lock_guard guard(lock_);
  return remove(index_of(key.data()));
}

// Under the lock.
int DevmapHash::remove(uint32_t key) {
  const int rc = HashMap::erase(&key, cpus());
  if (auto node = programs_.extract(key); rc == 0 && node) retired_.add(std::move(node.mapped()));
  return rc;
}

void DevmapHash::forget(uint32_t ifindex) {
  const std::lock_guard guard(lock_);
  std::vector<uint32_t> keys;
  for (const auto& [key, program] : programs_)
    if (destination(key, 0).number == ifindex) keys.push_back(key);
  for (const uint32_t key : keys) (void)remove(key);
}

int DevmapHash::copy_take(std::span<const std::byte> key, std::span<std::byte> value) {
  // The kernel has it for other hash maps only.
  return Map::copy_take(key, value);  // NOLINT(bugprone-parent-virtual-call)
}

void DevmapHash::unused() noexcept {
  const std::lock_guard guard(lock_);
  for (auto& [key, program] : programs_) {
    if (!program) continue;
    const Target target{destination(key, 0).number, 0};
    (void)update_with_side(&key, &target, BPF_EXIST, nullptr);
    retired_.add(std::move(program));
  }
}

}  // namespace xbond::bpf
