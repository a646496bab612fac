// balance-tlb's and balance-alb's channels: which member carries which hash value, by measured load
// (tlb_choose_channel in drivers/net/bonding/bond_alb.c). Linux assigns a channel when its first frame comes; here all
// are assigned at once, the busiest first. Thread: the bond's writer.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lib/bond/transmit.hpp"

namespace xbond::bond {

inline constexpr uint64_t kRebalanceSeconds = 10;  // BOND_TLB_REBALANCE_INTERVAL

class Channels {
 public:
  struct Carrier {
    uint16_t port;
    uint32_t speed_mbps;
    bool active;  // it also carries what is not balanced
  };

  // What workers have sent since their start, in bytes: by channel, and unbalanced. Sets the load of the last interval.
  void measured(std::span<const uint64_t, kChannels> bytes, uint64_t unbalanced);
  // Assigns every channel anew.
  void rebalance(std::span<const Carrier> carriers);
  // Gives the channels of ports that are no longer among the carriers to others; leaves the rest where it is.
  void keep_to(std::span<const Carrier> carriers);
  [[nodiscard]] uint16_t port(uint32_t channel) const { return port_[channel]; }

 private:
  void assign(std::span<const uint32_t> channels, std::span<const Carrier> carriers);

  std::array<uint64_t, kChannels> total_{};    // as last measured
  std::array<uint64_t, kChannels> history_{};  // bytes a second, and one
  uint64_t unbalanced_total_ = 0, unbalanced_ = 0;
  std::array<uint16_t, kChannels> port_ = [] {
    std::array<uint16_t, kChannels> none{};
    none.fill(port::kNoPort);
    return none;
  }();
};

}  // namespace xbond::bond
