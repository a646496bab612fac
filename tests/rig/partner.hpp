// The other end of a bond in 802.3ad: a bond of our own, fast and active, at the far end of the same cables. Thread:
// the traffic's, but for carrier().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/bond/bond.hpp"

namespace xbond::rig {

class Partner {
 public:
  static constexpr unsigned kLinks = 8;
  // Puts a frame on a link's wire.
  using Send = std::function<void(unsigned link, std::span<const uint8_t> frame)>;

  static Result<std::unique_ptr<Partner>> create(unsigned links);

  // Any thread: both ends of a cable see its carrier.
  void carrier(unsigned link, bool up) { carrier_[link] = up; }

  // A frame that came by the link; what is not LACP is not heard.
  void heard(unsigned link, std::span<const uint8_t> frame);
  // What is due.
  void poll(const Send& send);

 private:
  explicit Partner(bond::Bond made) : bond_(std::move(made)) {}
  static uint64_t now_ms();

  bond::Bond bond_;
  unsigned links_ = 0;
  std::array<std::atomic<bool>, kLinks> carrier_{};
  std::array<bool, kLinks> told_{};
  std::vector<std::pair<unsigned, std::vector<uint8_t>>> said_;
};

}  // namespace xbond::rig
