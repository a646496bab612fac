#include "bpf_compat/map/queue_stack.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstring>
#include <mutex>

#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {

QueueStackMap::QueueStackMap(Token, MapSpec spec, uint32_t cpus, Area area)
    : Map(std::move(spec), cpus), area_(std::move(area)), stack_(this->spec().type == BPF_MAP_TYPE_STACK) {}

Result<std::shared_ptr<Map>> QueueStackMap::create(const MapSpec& spec, uint32_t cpus) {
  if (spec.max_entries == 0 || spec.key_size != 0 || spec.value_size == 0) return wrong_sizes(spec);
  if ((spec.flags & ~(BPF_F_NUMA_NODE | kAccessFlags)) != 0 || access_flags_clash(spec.flags)) return wrong_flags(spec);
  if (spec.value_size > kMaxKernelAllocation)
    return fail(E2BIG, fmt::format("value size {} is above {}", spec.value_size, kMaxKernelAllocation));
  auto area = Area::allocate(size_t{spec.max_entries} * spec.value_size);
  if (!area) return area.error();
  return std::shared_ptr<Map>(std::make_shared<QueueStackMap>(Token{}, spec, cpus, std::move(*area)));
}

std::byte* QueueStackMap::at(uint64_t position) const {
  return area_.data() + position % spec().max_entries * spec().value_size;
}

int QueueStackMap::push(const void* value, uint64_t flags) noexcept {
  if ((flags & BPF_NOEXIST) != 0 || flags > BPF_EXIST) return -EINVAL;
  const std::lock_guard guard(lock_);
  if (head_ - tail_ == spec().max_entries) {
    if ((flags & BPF_EXIST) == 0) return -E2BIG;
    ++tail_;
  }
  std::memcpy(at(head_++), value, spec().value_size);
  return 0;
}

int QueueStackMap::pop(void* value) noexcept {
  return get(value, true);
}

int QueueStackMap::peek(void* value) noexcept {
  return get(value, false);
}

int QueueStackMap::get(void* value, bool remove) noexcept {
  const std::lock_guard guard(lock_);
  if (head_ == tail_) {
    std::memset(value, 0, spec().value_size);
    return -ENOENT;
  }
  std::memcpy(value, at(stack_ ? head_ - 1 : tail_), spec().value_size);
  if (remove && stack_) --head_;
  if (remove && !stack_) ++tail_;
  return 0;
}

void* QueueStackMap::lookup(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return nullptr;
}

int QueueStackMap::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int QueueStackMap::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int QueueStackMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) {
  if (const int rc = may_read(); rc != 0) return rc;
  return key.empty() && value.size() == spec().value_size ? peek(value.data()) : -EINVAL;
}

int QueueStackMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  return key.empty() && value.size() == spec().value_size ? push(value.data(), flags) : -EINVAL;
}

int QueueStackMap::copy_erase(std::span<const std::byte> /*key*/) {
  const int rc = may_write();
  return rc != 0 ? rc : -EINVAL;
}

int QueueStackMap::copy_take(std::span<const std::byte> key, std::span<std::byte> value) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (const int rc = may_write(); rc != 0) return rc;
  return key.empty() && value.size() == spec().value_size ? pop(value.data()) : -EINVAL;
}

int QueueStackMap::next_key(std::span<const std::byte> /*key*/, std::span<std::byte> /*next*/) {
  const int rc = may_read();
  return rc != 0 ? rc : -EINVAL;
}

}  // namespace xbond::bpf
