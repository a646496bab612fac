// Names and numbers of Linux bonding that both the control and the packet side use.
#pragma once

#include <cstdint>

namespace xbond::bond {

// Numbers are Linux's (include/uapi/linux/if_bonding.h BOND_MODE_*).
enum class Mode : uint8_t {
  balance_rr = 0,
  active_backup = 1,
  balance_xor = 2,
  broadcast = 3,
  ieee8023ad = 4,
  balance_tlb = 5,
  balance_alb = 6,
};
inline constexpr uint8_t kModeCount = 7;

// Numbers are Linux's (BOND_XMIT_POLICY_*).
enum class Policy : uint8_t { layer2 = 0, layer34 = 1, layer23 = 2, encap23 = 3, encap34 = 4, vlan_srcmac = 5 };

// How the kernel would see the frame: `xdp` as it stands; `host` with its outer VLAN tag beside it (a frame that the
// host's stack sends over a VLAN device), an MPLS payload excepted.
enum class Path : uint8_t { xdp, host };

inline constexpr uint16_t kMaxMembers = 16;
inline constexpr uint16_t kMaxBonds = 32;
// Of bonds under bonds, with the ports at the bottom: Linux's MAX_NEST_DEV.
inline constexpr uint16_t kMaxLevels = 8;

}  // namespace xbond::bond
