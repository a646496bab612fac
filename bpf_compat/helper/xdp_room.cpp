// Moving a frame's ends within its buffer.
#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
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
