#include "lib/bond/hash.hpp"

#include <rte_byteorder.h>

#include <array>

#include "lib/bond/frame.hpp"

namespace xbond::bond {
namespace {

constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kDccp = 33, kEsp = 50, kAh = 51, kIcmp6 = 58;
constexpr uint8_t kSctp = 132, kUdpLite = 136;
constexpr uint16_t kNoProtocol = 256;  // a fragment: what follows the IP header is not a transport header
constexpr uint32_t kIpv4Header = 20, kIpv6Header = 40, kIcmpHeader = 8;

// Linux xors words as they lie in memory (network order), seen as the machine's 32-bit integers.
uint32_t fold(uint32_t start, uint32_t addresses) noexcept {
  uint32_t h = start ^ addresses;
  h ^= h >> 16;
  h ^= h >> 8;
  return h;
}

// What the policies with addresses take from one IP header.
struct Ip {
  uint32_t addresses = 0;  // source ^ destination
  uint32_t ports = 0;
  uint16_t protocol = kNoProtocol;
  uint32_t payload = 0;  // offset of what follows the header
};

// Linux's bond_flow_ip: the version field is not looked at, IPv6 extension headers are not walked, and only the fixed
// part of the header has to be there.
bool read_ip(std::span<const uint8_t> frame, uint32_t offset, uint16_t ethertype, Ip& ip) noexcept {
  if (ethertype == RTE_ETHER_TYPE_IPV4 && frame.size() >= offset + kIpv4Header) {
    const uint8_t* header = frame.data() + offset;
    ip.addresses = load32(header + 12) ^ load32(header + 16);
    ip.protocol = (load_be16(header + 6) & 0x3fff) != 0 ? kNoProtocol : header[9];
    ip.payload = offset + 4u * (header[0] & 15u);
    return true;
  }
  if (ethertype == RTE_ETHER_TYPE_IPV6 && frame.size() >= offset + kIpv6Header) {
    const uint8_t* header = frame.data() + offset;
    ip.addresses = 0;
    for (uint32_t word = 8; word < kIpv6Header; word += 4) {
      ip.addresses ^= load32(header + word);
    }
    ip.protocol = header[6];
    ip.payload = offset + kIpv6Header;
    return true;
  }
  return false;
}

// The first four bytes of the transport header, for the protocols that Linux takes to start with ports (for AH, the
// SPI behind its first word); 0 for others and where the frame ends before.
uint32_t read_ports(std::span<const uint8_t> frame, const Ip& ip) noexcept {
  uint32_t at = ip.payload;
  switch (ip.protocol) {
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
  return frame.size() >= at + 4 ? load32(frame.data() + at) : 0;
}

bool icmp_error(uint16_t protocol, uint8_t type) noexcept {
  if (protocol == kIcmp6) {
    return type >= 1 && type <= 4;
  }
  return (type >= 3 && type <= 5) || type == 11 || type == 12;
}

bool icmp_has_id(uint8_t type) noexcept {
  return type == 0 || type == 8 || type == 13 || type == 14 || type == 128 || type == 129;
}

// An ICMP query's flow is its type, code and identifier (host order; 0 counts as 1, so that it is never "none").
uint32_t icmp_query(const uint8_t* header) noexcept {
  if (!icmp_has_id(header[0])) {
    return 0;
  }
  const uint32_t id = load_be16(header + 4);
  return header[0] | uint32_t{header[1]} << 8 | (id != 0 ? id : 1) << 16;
}

// Every frame and every policy: the reference for the fast paths of hash_burst.cpp.
uint32_t hash_any(Policy policy, Path path, std::span<const uint8_t> frame) noexcept {
  if (frame.size() < kEtherHeader) {
    return 0;
  }
  const uint32_t type_at = path == Path::host ? ethertype_offset_host(frame) : kEthertypeAt;
  const uint16_t ethertype = load_be16(frame.data() + type_at);
  const uint32_t ethernet = uint32_t{frame[5]} ^ frame[11] ^ ethertype;
  Ip ip;
  if (policy == Policy::layer2 || !read_ip(frame, type_at + 2, ethertype, ip)) {
    return ethernet;
  }
  uint32_t query = 0;
  if (ip.protocol == kIcmp || ip.protocol == kIcmp6) {
    // An error is sent where the flow that it is about goes. The kernel reads that inner header by the outer ethertype.
    if (frame.size() >= ip.payload + kIcmpHeader) {
      const uint8_t* header = frame.data() + ip.payload;
      query = icmp_query(header);
      if (icmp_error(ip.protocol, header[0]) && !read_ip(frame, ip.payload + kIcmpHeader, ethertype, ip)) {
        return ethernet;
      }
    }
  }
  if (policy == Policy::layer23) {
    return fold(ethernet, ip.addresses);
  }
  return fold(query != 0 ? query : read_ports(frame, ip), ip.addresses) >> 1;
}

// No field that a policy reads lies beyond: Ethernet header and tags, two IPv4 headers with options around an ICMP
// header, AH up to its SPI.
constexpr uint32_t kHeadersAtMost = kEtherHeader + kTagsAtMost * 4 + 60 + kIcmpHeader + 60 + 8;

}  // namespace

uint32_t hash(Policy policy, Path path, std::span<const uint8_t> frame) noexcept {
  return hash_any(policy, path, frame);
}

uint32_t hash_mbuf(Policy policy, Path path, const rte_mbuf* frame) noexcept {
  std::array<uint8_t, kHeadersAtMost> copy;
  return hash_any(policy, path, headers(frame, copy));
}

}  // namespace xbond::bond
