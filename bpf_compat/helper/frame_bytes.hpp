// The bytes of a frame, in however many pieces. Worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "bpf_compat/engine/program.hpp"

namespace xbond::bpf {

// Without metadata (xdp_get_buff_len in include/net/xdp.h).
inline uint64_t frame_length(const XdpFrame& frame) {
  return static_cast<uint64_t>(frame.data_end - frame.data) + frame.fragment_bytes;
}

// Gives each stretch of `length` bytes from `offset` to `visit`, in order; they lie within the frame.
template <class Visit>
void for_each_stretch(const XdpFrame& frame, uint64_t offset, uint64_t length, Visit&& visit) {
  const auto within = [&](uint8_t* data, uint64_t size) {
    if (offset < size && length != 0) {
      const uint64_t bytes = std::min(size - offset, length);
      visit(std::span(data + offset, bytes));
      length -= bytes;
      offset = 0;
    } else if (offset >= size) {
      offset -= size;
    }
  };
  within(frame.data, static_cast<uint64_t>(frame.data_end - frame.data));
  for (uint32_t i = 0; i < frame.fragment_count && length != 0; ++i)
    within(frame.fragments[i].data, frame.fragments[i].size);
}

}  // namespace xbond::bpf
