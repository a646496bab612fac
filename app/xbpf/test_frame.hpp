// A frame with the room around it that the kernel's test run gives (bpf_prog_test_run_xdp in net/bpf/test_run.c).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"

namespace xbond::xbpf {

class TestFrame {
 public:
  TestFrame(std::span<const std::byte> packet, uint32_t ifindex, uint32_t rx_queue)
      : buffer_(std::max(kPage, kFront + packet.size() + kBack), 0) {
    auto* data = buffer_.data() + kFront;
    std::ranges::transform(packet, data, [](std::byte byte) { return static_cast<uint8_t>(byte); });
    view_ = {
        data, data + packet.size(), data, buffer_.data(), buffer_.data() + buffer_.size() - kBack, ifindex, rx_queue,
        0};
  }
  TestFrame(const TestFrame&) = delete;
  TestFrame& operator=(const TestFrame&) = delete;

  [[nodiscard]] bpf::XdpFrame& view() { return view_; }
  // Metadata and packet, as the kernel gives them back.
  [[nodiscard]] std::span<const std::byte> output() const {
    return std::as_bytes(std::span(view_.data_meta, view_.data_end));
  }

 private:
  static constexpr size_t kFront = 256 - 40;  // headroom without the kernel's own struct xdp_frame
  static constexpr size_t kPage = 4096 - 40;
  static constexpr size_t kBack = 320;  // the kernel's struct skb_shared_info

  std::vector<uint8_t> buffer_;
  bpf::XdpFrame view_{};
};

}  // namespace xbond::xbpf
