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

// Whether a bond can run XDP programs and send XDP frames: bond_xdp_check in drivers/net/bonding/bond_main.c.
constexpr bool runs_xdp(Mode mode, Policy policy) noexcept {
  switch (mode) {
    case Mode::balance_rr:
    case Mode::active_backup:
      return true;
    case Mode::balance_xor:
    case Mode::ieee8023ad:
      return policy != Policy::vlan_srcmac;  // its tag is beside the frame: XDP does not see it
    default:
      return false;
  }
}

// How the kernel would see the frame: `xdp` as it stands; `host` with its outer VLAN tag beside it (a frame that the
// host's stack sends over a VLAN device), an MPLS payload excepted.
enum class Path : uint8_t { xdp, host };

inline constexpr uint16_t kMaxMembers = 16;
inline constexpr uint16_t kMaxBonds = 32;
// Of bonds under bonds, with the ports at the bottom: Linux's MAX_NEST_DEV.
inline constexpr uint16_t kMaxLevels = 8;

}  // namespace xbond::bond
