// Moving a frame's ends within its buffers.
#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/frame_bytes.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

constexpr ptrdiff_t kEthernetHeader = 14;
constexpr ptrdiff_t kMaxMetadata = 255;

uint64_t error(int code) {
  return static_cast<uint64_t>(int64_t{-code});
}

ptrdiff_t offset_of(const uint64_t* r) {
  return static_cast<int32_t>(r[2]);
}

// bpf_xdp_frags_increase_tail in net/core/filter.c: only the last piece grows
int grow_fragments(XdpFrame& frame, ptrdiff_t by) {
  auto& last = frame.fragments[frame.fragment_count - 1];
  if (by > ptrdiff_t{last.room}) return -EINVAL;
  std::memset(last.data + last.size, 0, static_cast<size_t>(by));
  last.size += static_cast<uint32_t>(by);
  last.room -= static_cast<uint32_t>(by);
  frame.fragment_bytes += static_cast<uint32_t>(by);
  return 0;
}

// bpf_xdp_frags_shrink_tail
int shrink_fragments(XdpFrame& frame, ptrdiff_t by) {
  if (by > static_cast<ptrdiff_t>(frame_length(frame)) - kEthernetHeader) return -EINVAL;
  while (by > 0 && frame.fragment_count != 0) {
    auto& last = frame.fragments[frame.fragment_count - 1];
    const auto taken = std::min(by, ptrdiff_t{last.size});
    last.size -= static_cast<uint32_t>(taken);
    last.room += static_cast<uint32_t>(taken);
    frame.fragment_bytes -= static_cast<uint32_t>(taken);
    by -= taken;
    if (last.size == 0) --frame.fragment_count;
  }
  frame.data_end -= by;
  return 0;
}

}  // namespace

uint64_t xdp_adjust_head(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  auto& frame = *run.frame;
  const auto offset = offset_of(r);
  const auto metadata = frame.data - frame.data_meta;
  // Distances, not pointers: a program's offset may lead far outside the buffer
  if (offset < frame.hard_start + metadata - frame.data || offset > frame.data_end - frame.data - kEthernetHeader)
    return error(EINVAL);
  if (metadata != 0) std::memmove(frame.data_meta + offset, frame.data_meta, static_cast<size_t>(metadata));
  frame.data_meta += offset;
  frame.data += offset;
  run.set_frame(frame);
  return 0;
}

uint64_t xdp_adjust_tail(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  auto& frame = *run.frame;
  const auto offset = offset_of(r);
  if (frame.fragment_count != 0)
    return static_cast<uint64_t>(
        int64_t{offset < 0 ? shrink_fragments(frame, -offset) : grow_fragments(frame, offset)});
  if (offset > frame.hard_end - frame.data_end || frame.data_end - frame.data + offset < kEthernetHeader)
    return error(EINVAL);
  // What lies behind is another frame's
  if (offset > 0) std::memset(frame.data_end, 0, static_cast<size_t>(offset));
  frame.data_end += offset;
  run.set_frame(frame);
  return 0;
}

uint64_t xdp_adjust_meta(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  auto& frame = *run.frame;
  const auto offset = offset_of(r);
  const auto metadata = frame.data - frame.data_meta - offset;
  if (offset < frame.hard_start - frame.data_meta || metadata < 0) return error(EINVAL);
  if (metadata % 4 != 0 || metadata > kMaxMetadata) return error(EACCES);
  frame.data_meta += offset;
  run.set_frame(frame);
  return 0;
}

}  // namespace xbond::bpf
