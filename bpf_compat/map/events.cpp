#include "bpf_compat/map/events.hpp"

#include <linux/bpf.h>
#include <unistd.h>

#include <bit>
#include <cstring>

#include "bpf_compat/helper/clock.hpp"
#include "bpf_compat/map/array_base.hpp"
#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

// Of one worker's perf events: what bpftool asks of the kernel, times the bursts that we have between two reads
constexpr size_t kPerfRing = 1 << 20;
constexpr uint32_t kMaxEntries = 1 << 24;

// In front of a perf record's bytes
struct PerfHead {
  uint64_t time_ns;
  uint64_t index;
};

}  // namespace

void* EventMap::lookup(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return nullptr;
}

int EventMap::update(const void* /*key*/, const void* /*value*/, uint64_t /*flags*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int EventMap::erase(const void* /*key*/, uint32_t /*cpu*/) noexcept {
  return -EINVAL;
}

int EventMap::copy_lookup(std::span<const std::byte> /*key*/, std::span<std::byte> /*value*/) {
  const int rc = may_read();
  return rc != 0 ? rc : -kNotSupported;
}

int EventMap::copy_update(std::span<const std::byte> /*key*/, std::span<const std::byte> /*value*/,
                          uint64_t /*flags*/) {
  const int rc = may_write();
  return rc != 0 ? rc : -kNotSupported;
}

int EventMap::copy_erase(std::span<const std::byte> /*key*/) {
  const int rc = may_write();
  return rc != 0 ? rc : -kNotSupported;
}

int EventMap::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  if (const int rc = may_read(); rc != 0) return rc;
  return spec().key_size == 0 ? -kNotSupported : next_index(key, next, spec().max_entries);
}

Result<std::shared_ptr<Map>> RingBufMap::create(const MapSpec& spec, uint32_t cpus) {
  if ((spec.flags & ~BPF_F_NUMA_NODE) != 0) return wrong_flags(spec);
  const auto page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  if (spec.key_size != 0 || spec.value_size != 0 || !std::has_single_bit(spec.max_entries) ||
      spec.max_entries % page != 0)
    return wrong_sizes(spec);
  auto ring = EventRing::create(spec.max_entries);
  if (!ring) return ring.error();
  return std::shared_ptr<Map>(std::make_shared<RingBufMap>(Token{}, spec, cpus, std::move(*ring)));
}

std::byte* RingBufMap::reserve(uint32_t bytes) noexcept {
  const std::lock_guard guard(lock_);
  auto* record = ring_->reserve(bytes);
  if (!record) count_lost();
  return record;
}

uint64_t RingBufMap::query(uint64_t what) const noexcept {
  switch (what) {
    case BPF_RB_AVAIL_DATA:
      return ring_->produced() - ring_->consumed();
    case BPF_RB_RING_SIZE:
      return ring_->bytes();
    case BPF_RB_CONS_POS:
      return ring_->consumed();
    case BPF_RB_PROD_POS:
      return ring_->produced();
    default:
      return 0;
  }
}

int RingBufMap::drain(const std::function<bool(const Event&)>& sink) {
  const std::lock_guard guard(reader_);
  ring_->drain([&](std::span<const std::byte> record) { return sink({.data = record}); });
  return 0;
}

Result<std::shared_ptr<Map>> PerfEventMap::create(const MapSpec& spec, uint32_t cpus) {
  if (spec.max_entries == 0 || spec.key_size != sizeof(uint32_t) || spec.value_size != sizeof(uint32_t))
    return wrong_sizes(spec);
  if ((spec.flags & ~(BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY)) != 0) return wrong_flags(spec);
  if (spec.max_entries > kMaxEntries)
    return fail(ENOMEM, fmt::format("max_entries {} is above {}", spec.max_entries, kMaxEntries));
  std::vector<std::unique_ptr<EventRing>> rings;
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    auto ring = EventRing::create(kPerfRing);
    if (!ring) return ring.error();
    rings.push_back(std::move(*ring));
  }
  return std::shared_ptr<Map>(std::make_shared<PerfEventMap>(Token{}, spec, cpus, std::move(rings)));
}

// __bpf_perf_event_output in kernel/trace/bpf_trace.c, where each CPU has an event of its own open
std::byte* PerfEventMap::reserve(uint32_t cpu, uint64_t index, uint64_t bytes, int& error) noexcept {
  if (index == BPF_F_CURRENT_CPU) index = cpu;
  error = 0;
  if (index >= spec().max_entries)
    error = -E2BIG;
  else if (index >= cpus())
    error = -ENOENT;
  else if (index != cpu)
    error = -EOPNOTSUPP;
  if (error != 0) return nullptr;
  auto* record = bytes <= kPerfRing - sizeof(PerfHead)
                     ? rings_[cpu]->reserve(static_cast<uint32_t>(sizeof(PerfHead) + bytes))
                     : nullptr;
  if (!record) {
    count_lost();
    error = -ENOSPC;
    return nullptr;
  }
  const PerfHead head{clock_ns(CLOCK_MONOTONIC), index};
  std::memcpy(record, &head, sizeof(head));
  return record + sizeof(head);
}

void PerfEventMap::commit(std::byte* event) noexcept {
  EventRing::commit(event - sizeof(PerfHead), false);
}

int PerfEventMap::drain(const std::function<bool(const Event&)>& sink) {
  const std::lock_guard guard(reader_);
  bool more = true;
  for (uint32_t cpu = 0; more && cpu < cpus(); ++cpu)
    rings_[cpu]->drain([&](std::span<const std::byte> record) {
      PerfHead head;
      std::memcpy(&head, record.data(), sizeof(head));
      more = sink({.time_ns = head.time_ns,
                   .cpu = cpu,
                   .index = static_cast<uint32_t>(head.index),
                   .data = record.subspan(sizeof(head))});
      return more;
    });
  return 0;
}

}  // namespace xbond::bpf
