// Copies between a frame and a program's memory.
#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/frame_bytes.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

// 0, or the kernel's errno for a range of the packet.
int check_range(const XdpFrame& frame, uint32_t offset, uint32_t length) {
  if (offset > 0xffff || length > 0xffff) return -EFAULT;
  return uint64_t{offset} + length > frame_length(frame) ? -EINVAL : 0;
}

}  // namespace

uint64_t xdp_get_buff_len(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  return frame_length(*run.frame);
}

uint64_t xdp_load_bytes(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  const auto offset = static_cast<uint32_t>(r[2]);
  const auto length = static_cast<uint32_t>(r[4]);
  if (length == 0) return run.fail(Fault::helper_size);
  auto* to = run.writable(r[3], length);
  if (!to) return run.fail(Fault::helper_write);
  if (const int rc = check_range(*run.frame, offset, length); rc != 0) return static_cast<uint64_t>(int64_t{rc});
  for_each_stretch(*run.frame, offset, length, [&](std::span<const uint8_t> bytes) {
    std::memmove(to, bytes.data(), bytes.size());
    to += bytes.size();
  });
  return 0;
}

uint64_t xdp_store_bytes(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  const auto offset = static_cast<uint32_t>(r[2]);
  const auto length = static_cast<uint32_t>(r[4]);
  if (length == 0) return run.fail(Fault::helper_size);
  const auto* from = run.readable(r[3], length);
  if (!from) return run.fail(Fault::helper_read);
  if (const int rc = check_range(*run.frame, offset, length); rc != 0) return static_cast<uint64_t>(int64_t{rc});
  for_each_stretch(*run.frame, offset, length, [&](std::span<uint8_t> bytes) {
    std::memmove(bytes.data(), from, bytes.size());
    from += bytes.size();
  });
  return 0;
}

}  // namespace xbond::bpf
