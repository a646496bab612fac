#include "bpf_compat/map/target_array.hpp"

#include <linux/bpf.h>

#include <bit>
#include <cstring>

#include "bpf_compat/map/array_base.hpp"
#include "bpf_compat/map/shape.hpp"
#include "bpf_compat/map/target_program.hpp"

namespace xbond::bpf {
namespace {

constexpr uint32_t kMaxQueue = 16384;      // cpumap.c
constexpr uint32_t kMaxCpus = 8192;        // the most that Linux on this architecture is built for (CONFIG_NR_CPUS)
constexpr uint32_t kMaxEntries = 1 << 24;  // each keeps a few bytes of ours

// Frames wait for another worker with the program that it is to run on them.
uint32_t periods(uint32_t type) {
  return type == BPF_MAP_TYPE_CPUMAP ? 2 : 1;
}

}  // namespace

TargetArrayMap::TargetArrayMap(Token, MapSpec spec, uint32_t cpus, Area area, Grace& grace)
    : Map(std::move(spec), cpus),
      area_(std::move(area)),
      entries_(std::make_unique<std::atomic<const Entry*>[]>(this->spec().max_entries)),
      retired_(grace, periods(this->spec().type)) {}

TargetArrayMap::~TargetArrayMap() {
  for (uint32_t i = 0; i < spec().max_entries; ++i) std::unique_ptr<const Entry>(entries_[i].load());
}

Result<std::shared_ptr<Map>> TargetArrayMap::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  const bool with_program = spec.type != BPF_MAP_TYPE_XSKMAP && spec.value_size == sizeof(Target);
  if (spec.max_entries == 0 || spec.key_size != sizeof(uint32_t) ||
      (spec.value_size != sizeof(uint32_t) && !with_program))
    return wrong_sizes(spec);
  const uint32_t rights = spec.type == BPF_MAP_TYPE_CPUMAP ? 0U : BPF_F_RDONLY | BPF_F_WRONLY;
  if ((spec.flags & ~(BPF_F_NUMA_NODE | rights)) != 0) return wrong_flags(spec);
  if (spec.type == BPF_MAP_TYPE_CPUMAP && spec.max_entries > kMaxCpus)
    return fail(E2BIG, fmt::format("max_entries {} is above {}", spec.max_entries, kMaxCpus));
  if (spec.max_entries > kMaxEntries)
    return fail(ENOMEM, fmt::format("max_entries {} is above {}", spec.max_entries, kMaxEntries));
  auto area = Area::allocate(size_t{spec.max_entries} * kStride);
  if (!area) return area.error();
  return std::shared_ptr<Map>(std::make_shared<TargetArrayMap>(Token{}, spec, cpus, std::move(*area), grace));
}

std::atomic_ref<uint64_t> TargetArrayMap::cell(uint32_t index) const noexcept {
  return std::atomic_ref(reinterpret_cast<uint64_t*>(area_.data())[index]);
}

Target TargetArrayMap::at(uint32_t index) const noexcept {
  return index < spec().max_entries ? std::bit_cast<Target>(cell(index).load(std::memory_order_acquire)) : Target{};
}

void* TargetArrayMap::lookup(const void* key, uint32_t /*cpu*/) noexcept {
  const auto index = index_of(key);
  return at(index).number != 0 ? area_.data() + index * kStride : nullptr;
}

int TargetArrayMap::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int TargetArrayMap::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int TargetArrayMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) {
  if (const int rc = may_read(); rc != 0) return rc;
  // The kernel shows no sockets
  if (spec().type == BPF_MAP_TYPE_XSKMAP) return -EOPNOTSUPP;
  if (key.size() != sizeof(uint32_t) || value.size() != spec().value_size) return -EINVAL;
  const auto target = at(index_of(key.data()));
  if (target.number == 0) return -ENOENT;
  std::memcpy(value.data(), &target, value.size());
  return 0;
}

// The order of these tests is the kernel's: it decides which errno wins.
int TargetArrayMap::check(uint32_t index, const Target& target, uint64_t flags) const {
  if (flags > BPF_EXIST) return -EINVAL;
  if (index >= spec().max_entries) return -E2BIG;
  if (spec().type == BPF_MAP_TYPE_XSKMAP) {
    if (target.number == 0) return -EBADF;
    const bool there = at(index).number != 0;
    if (there && flags == BPF_NOEXIST) return -EEXIST;
    return !there && flags == BPF_EXIST ? -ENOENT : 0;
  }
  if (flags == BPF_NOEXIST) return -EEXIST;
  if (spec().type == BPF_MAP_TYPE_CPUMAP) {
    if (target.number > kMaxQueue) return -EOVERFLOW;
    return index >= cpus() ? -ENODEV : 0;
  }
  // A program needs a device
  return target.number == 0 && static_cast<int32_t>(target.program) > 0 ? -EINVAL : 0;
}

int TargetArrayMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t) || value.size() != spec().value_size) return -EINVAL;
  Target target;
  std::memcpy(&target, value.data(), value.size());
  const auto index = index_of(key.data());
  if (const int rc = check(index, target, flags); rc != 0) return rc;
  std::shared_ptr<const Program> program;
  if (target.number == 0)
    target = {};  // no target: the entry goes
  else if (const int rc = take_program(target, spec().type, program); rc != 0)
    return rc;
  const std::lock_guard guard(lock_);
  put(index, target, std::move(program));
  return 0;
}

// Under the lock. A target of 0 is no entry.
void TargetArrayMap::put(uint32_t index, const Target& target, std::shared_ptr<const Program> program) {
  std::unique_ptr<const Entry> entry;
  if (target.number != 0) {
    const Destination to{target.number, program.get()};
    entry = std::make_unique<const Entry>(Entry{to, std::move(program)});
  }
  cell(index).store(std::bit_cast<uint64_t>(target), std::memory_order_release);
  std::unique_ptr<const Entry> before(entries_[index].exchange(entry.release(), std::memory_order_acq_rel));
  retired_.add(std::shared_ptr<const Entry>(std::move(before)));
}

int TargetArrayMap::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != sizeof(uint32_t)) return -EINVAL;
  const auto index = index_of(key.data());
  if (index >= spec().max_entries) return -EINVAL;
  const std::lock_guard guard(lock_);
  put(index, {}, nullptr);
  return 0;
}

int TargetArrayMap::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  if (const int rc = may_read(); rc != 0) return rc;
  return next_index(key, next, spec().max_entries);
}

void TargetArrayMap::forget(uint32_t ifindex) {
  const std::lock_guard guard(lock_);
  for (uint32_t i = 0; i < spec().max_entries; ++i)
    if (destination(i).number == ifindex) put(i, {}, nullptr);
}

void TargetArrayMap::unused() noexcept {
  const std::lock_guard guard(lock_);
  for (uint32_t i = 0; i < spec().max_entries; ++i)
    if (destination(i).program != nullptr) put(i, {destination(i).number, 0}, nullptr);
}

}  // namespace xbond::bpf
