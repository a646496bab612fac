// ARP, and neighbour discovery over IPv6 without extension headers. Thread: any.
#pragma once

#include "lib/bond/transport.hpp"

namespace xbond::bond {

enum class Neighbour : uint8_t { neither, arp, discovery };

// `frame`: its first headers. VLAN tags in front are looked through, so many at most.
inline Neighbour neighbour_kind(std::span<const uint8_t> frame, uint32_t tags_at_most) noexcept {
  constexpr uint8_t kSolicitation = 135, kAdvertisement = 136;
  uint32_t at = kEthertypeAt;
  for (uint32_t tags = 0; tags <= tags_at_most && holds(frame, at, 2); ++tags, at += 4) {
    const uint16_t type = load_be16(frame.data() + at);
    if (type == RTE_ETHER_TYPE_ARP) {
      return Neighbour::arp;
    }
    if (type == RTE_ETHER_TYPE_IPV6) {
      const uint32_t ip = at + 2;
      const bool discovery = holds(frame, ip, kIpv6Header + 1) && frame[ip + 6] == kIcmp6 &&
                             (frame[ip + kIpv6Header] == kSolicitation || frame[ip + kIpv6Header] == kAdvertisement);
      return discovery ? Neighbour::discovery : Neighbour::neither;
    }
    if (!is_tag(type)) {
      break;
    }
  }
  return Neighbour::neither;
}

}  // namespace xbond::bond
