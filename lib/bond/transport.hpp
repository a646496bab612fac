// What flows are told apart by behind an IP header: ports, or the identifier of an ICMP query. Words are as they lie in
// memory (network order). Thread: any.
#pragma once

#include <cstdint>
#include <span>

#include "lib/bond/frame.hpp"

namespace xbond::bond {

inline constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kDccp = 33, kEsp = 50, kAh = 51, kIcmp6 = 58;
inline constexpr uint8_t kSctp = 132, kUdpLite = 136;
inline constexpr uint32_t kIpv4Header = 20, kIpv6Header = 40, kIcmpHeader = 8;

inline bool holds(std::span<const uint8_t> frame, uint32_t at, uint32_t bytes) noexcept {
  return frame.size() >= size_t{at} + bytes;
}

// Xor of the source and the destination address of the IPv6 header, word by word.
inline uint32_t ipv6_addresses(const uint8_t* header) noexcept {
  uint32_t addresses = 0;
  for (uint32_t word = 8; word < kIpv6Header; word += 4) {
    addresses ^= load32(header + word);
  }
  return addresses;
}

// The first four bytes of the transport header at `at`, for the protocols that Linux takes to start with ports (for AH,
// the SPI behind its first word); 0 for others and where the frame ends before.
inline uint32_t ports_at(std::span<const uint8_t> frame, uint32_t protocol, uint32_t at) noexcept {
  switch (protocol) {
    case kTcp:
    case kUdp:
    case kDccp:
    case kEsp:
    case kSctp:
    case kUdpLite:
      break;
    case kAh:
      at += 4;
      break;
    default:
      return 0;
  }
  return holds(frame, at, 4) ? load32(frame.data() + at) : 0;
}

// An ICMP query's flow is its type, code and identifier (host order; 0 counts as 1, so that it is never "none"). 0 for
// other types. `header`: kIcmpHeader bytes.
inline uint32_t icmp_query(const uint8_t* header) noexcept {
  const uint8_t type = header[0];
  const bool has_id = type == 0 || type == 8 || type == 13 || type == 14 || type == 128 || type == 129;
  if (!has_id) {
    return 0;
  }
  const uint32_t id = load_be16(header + 4);
  return type | uint32_t{header[1]} << 8 | (id != 0 ? id : 1) << 16;
}

}  // namespace xbond::bond
