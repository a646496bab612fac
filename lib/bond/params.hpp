// What the options of a bond are set to. Numbers are Linux's (include/uapi/linux/if_bonding.h, bond_options.c).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/bond/types.hpp"
#include "lib/lacp/lacp.hpp"

namespace xbond::bond {

using Mac = std::array<uint8_t, 6>;
using Ipv4 = std::array<uint8_t, 4>;   // network byte order
using Ipv6 = std::array<uint8_t, 16>;  // network byte order

enum class Reselect : uint8_t { always = 0, better = 1, failure = 2 };
enum class FailOverMac : uint8_t { none = 0, active = 1, follow = 2 };
enum class ArpAllTargets : uint8_t { any = 0, all = 1 };

// arp_validate's bits: whose probes are checked, and whether other frames count where they are not.
inline constexpr uint8_t kValidateActive = 1, kValidateBackup = 2, kValidateFilter = 4;

inline constexpr size_t kMaxTargets = 16;  // of arp_ip_target, and of ns_ip6_target

// Delays are kept in steps of miimon, so that they scale with it as in the kernel.
struct Params {
  Mode mode = Mode::balance_rr;
  Policy policy = Policy::layer2;
  Reselect reselect = Reselect::always;
  FailOverMac fail_over_mac = FailOverMac::none;
  bool all_slaves_active = false;
  uint8_t num_peer_notif = 1;
  uint8_t resend_igmp = 1;
  uint32_t packets_per_slave = 1;
  uint32_t lp_interval = 1;  // seconds
  bool tlb_dynamic_lb = true;

  uint32_t miimon = 100;  // milliseconds
  uint32_t updelay = 0, downdelay = 0, peer_notif_delay = 0;
  uint32_t arp_interval = 0;  // milliseconds
  uint8_t arp_validate = 0;
  uint8_t arp_missed_max = 2;
  ArpAllTargets arp_all_targets = ArpAllTargets::any;
  std::vector<Ipv4> arp_targets;
  std::vector<Ipv6> ns_targets;
  std::string primary;  // may name a device that is not a member (yet)

  lacp::Options lacp;                    // 802.3ad
  bool broadcast_neighbor = false;       // 802.3ad
  bool xdp_sees_slow_protocols = false;  // 802.3ad: programs run on LACPDUs, as in the kernel

  [[nodiscard]] uint64_t ms(uint32_t steps) const { return uint64_t{steps} * miimon; }
};

// The kernel's bond_mode_uses_arp.
constexpr bool can_monitor_by_arp(Mode mode) {
  return mode == Mode::balance_rr || mode == Mode::active_backup || mode == Mode::balance_xor ||
         mode == Mode::broadcast;
}
// bond_uses_primary
constexpr bool uses_primary(Mode mode) {
  return mode == Mode::active_backup || mode == Mode::balance_tlb || mode == Mode::balance_alb;
}
// bond_is_lb
constexpr bool is_load_balancing(Mode mode) {
  return mode == Mode::balance_tlb || mode == Mode::balance_alb;
}

}  // namespace xbond::bond
