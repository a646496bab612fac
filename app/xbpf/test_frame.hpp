// A frame with the room around it that the kernel's test run gives (bpf_prog_test_run_xdp in net/bpf/test_run.c).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"

namespace xbond::xbpf {

class TestFrame {
  static constexpr size_t kPage = 4096;
  static constexpr size_t kOwn = 40;  // the kernel's own struct xdp_frame, at the start
  static constexpr size_t kFront = 256 - kOwn;
  static constexpr size_t kBack = 320;  // the kernel's struct skb_shared_info

 public:
  static constexpr size_t kOnePiece = kPage - kOwn - kFront - kBack;  // bytes of a packet that are in one piece at most

  // In pieces, as the kernel makes them of what is longer than a page holds, or whole, whatever its length.
  TestFrame(std::span<const std::byte> packet, bool pieces, uint32_t ifindex, uint32_t rx_queue) {
    const auto first = packet.first(pieces ? std::min(packet.size(), kOnePiece) : packet.size());
    buffer_.resize(std::max(kPage - kOwn, kFront + first.size() + kBack));
    auto* data = put(first, buffer_.data() + kFront);
    view_ = {.data = data,
             .data_end = data + first.size(),
             .data_meta = data,
             .hard_start = buffer_.data(),
             .hard_end = buffer_.data() + buffer_.size() - kBack,
             .ingress_ifindex = ifindex,
             .rx_queue_index = rx_queue,
             .egress_ifindex = 0};
    for (auto rest = packet.subspan(first.size()); !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), kPage));
      auto& page = pages_.emplace_back(kPage);
      fragments_.push_back(
          {put(part, page.data()), static_cast<uint32_t>(part.size()), static_cast<uint32_t>(kPage - part.size())});
      rest = rest.subspan(part.size());
      view_.fragment_bytes += fragments_.back().size;
    }
    view_.fragments = fragments_.data();
    view_.fragment_count = static_cast<uint32_t>(fragments_.size());
  }
  TestFrame(const TestFrame&) = delete;
  TestFrame& operator=(const TestFrame&) = delete;

  [[nodiscard]] bpf::XdpFrame& view() { return view_; }
  // Metadata and packet, as the kernel gives them back.
  [[nodiscard]] std::vector<std::byte> output() const {
    std::vector<std::byte> all;
    const auto add = [&](std::span<const uint8_t> bytes) {
      const auto part = std::as_bytes(bytes);
      all.insert(all.end(), part.begin(), part.end());
    };
    add({view_.data_meta, view_.data_end});
    for (uint32_t i = 0; i < view_.fragment_count; ++i) add({fragments_[i].data, fragments_[i].size});
    return all;
  }

 private:
  static uint8_t* put(std::span<const std::byte> from, uint8_t* to) {
    std::ranges::transform(from, to, [](std::byte byte) { return static_cast<uint8_t>(byte); });
    return to;
  }

  std::vector<uint8_t> buffer_;
  std::vector<std::vector<uint8_t>> pages_;
  std::vector<bpf::XdpFragment> fragments_;
  bpf::XdpFrame view_{};
};

}  // namespace xbond::xbpf
