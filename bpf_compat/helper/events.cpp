// Records for control: ring buffers and perf events.
#include "bpf_compat/map/events.hpp"

#include <linux/bpf.h>

#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/frame_bytes.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

uint64_t result(int rc) {
  return static_cast<uint64_t>(int64_t{rc});
}

RingBufMap* ring_of(Run& run, uint64_t address) {
  const auto* map = run.map(address);
  if (map && map->map->spec().type == BPF_MAP_TYPE_RINGBUF) return static_cast<RingBufMap*>(map->map);
  run.fail(Fault::helper_map);
  return nullptr;
}

uint64_t end_record(Run& run, uint64_t address, bool discard) {
  if (!run.end_record(address, discard)) return run.fail(Fault::helper_record);
  return 0;
}

}  // namespace

uint64_t ringbuf_reserve(Run& run, const uint64_t* r) {
  auto* ring = ring_of(run, r[1]);
  if (!ring || r[3] != 0 || r[2] > UINT32_MAX || run.records_full()) return 0;
  const auto bytes = static_cast<uint32_t>(r[2]);
  auto* record = ring->reserve(bytes);
  return record ? run.begin_record(record, bytes) : 0;
}

uint64_t ringbuf_submit(Run& run, const uint64_t* r) {
  return end_record(run, r[1], false);
}

uint64_t ringbuf_discard(Run& run, const uint64_t* r) {
  return end_record(run, r[1], true);
}

uint64_t ringbuf_output(Run& run, const uint64_t* r) {
  auto* ring = ring_of(run, r[1]);
  if (!ring) return 0;
  const auto bytes = static_cast<uint32_t>(r[3]);
  const std::byte* from = nullptr;
  if (bytes != 0 && !(from = run.readable(r[2], bytes))) return run.fail(Fault::helper_read);
  if ((r[4] & ~uint64_t{BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP}) != 0) return result(-EINVAL);
  auto* record = ring->reserve(bytes);
  if (!record) return result(-EAGAIN);
  if (bytes != 0) std::memcpy(record, from, bytes);
  EventRing::commit(record, false);
  return 0;
}

uint64_t ringbuf_query(Run& run, const uint64_t* r) {
  const auto* ring = ring_of(run, r[1]);
  return ring ? ring->query(r[2]) : 0;
}

// bpf_xdp_event_output in net/core/filter.c: the upper half of flags asks for so many bytes of the packet
uint64_t perf_event_output(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  const auto* map = run.map(r[2]);
  if (!map || map->map->spec().type != BPF_MAP_TYPE_PERF_EVENT_ARRAY) return run.fail(Fault::helper_map);
  const auto bytes = static_cast<uint32_t>(r[5]);
  const std::byte* data = nullptr;
  if (bytes != 0 && !(data = run.readable(r[4], bytes))) return run.fail(Fault::helper_read);
  if ((r[3] & ~(BPF_F_CTXLEN_MASK | BPF_F_INDEX_MASK)) != 0) return result(-EINVAL);
  const auto& frame = *run.frame;
  const uint64_t length = (r[3] & BPF_F_CTXLEN_MASK) >> 32;
  if (length > frame_length(frame)) return result(-EFAULT);
  auto* perf = static_cast<PerfEventMap*>(map->map);
  int error = 0;
  auto* event = perf->reserve(run.cpu, r[3] & BPF_F_INDEX_MASK, bytes + length, error);
  if (!event) return result(error);
  if (bytes != 0) std::memcpy(event, data, bytes);
  auto* to = event + bytes;
  for_each_stretch(frame, 0, length, [&](std::span<const uint8_t> part) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  });
  PerfEventMap::commit(event);
  return 0;
}

}  // namespace xbond::bpf
