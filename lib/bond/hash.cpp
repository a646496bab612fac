#include "lib/bond/hash.hpp"

#include <rte_byteorder.h>

#include <algorithm>
#include <array>

#include "lib/bond/dissect.hpp"
#include "lib/bond/transport.hpp"

namespace xbond::bond {
namespace {

constexpr uint16_t kNoProtocol = 256;  // a fragment: what follows the IP header is not a transport header

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
    ip.addresses = ipv6_addresses(header);
    ip.protocol = header[6];
    ip.payload = offset + kIpv6Header;
    return true;
  }
  return false;
}

bool icmp_error(uint16_t protocol, uint8_t type) noexcept {
  if (protocol == kIcmp6) {
    return type >= 1 && type <= 4;
  }
  return (type >= 3 && type <= 5) || type == 11 || type == 12;
}

// layer2+3 and layer3+4: the outer IP header, or that of the packet which an ICMP error is about.
bool read_outer(std::span<const uint8_t> frame, uint32_t network_at, uint16_t ethertype, Flow& flow) noexcept {
  Ip ip;
  if (!read_ip(frame, network_at, ethertype, ip)) {
    return false;
  }
  uint32_t query = 0;
  if ((ip.protocol == kIcmp || ip.protocol == kIcmp6) && holds(frame, ip.payload, kIcmpHeader)) {
    const uint8_t* header = frame.data() + ip.payload;
    query = icmp_query(header);
    // An error is sent where the flow that it is about goes. The kernel reads that inner header by the outer ethertype.
    if (icmp_error(ip.protocol, header[0]) && !read_ip(frame, ip.payload + kIcmpHeader, ethertype, ip)) {
      return false;
    }
  }
  flow = {.addresses = ip.addresses, .ports = query != 0 ? query : ports_at(frame, ip.protocol, ip.payload)};
  return true;
}

// What a tag beside the frame says, whole.
uint32_t tag_control(std::span<const uint8_t> frame, bool tag_beside) noexcept {
  return tag_beside ? load_be16(frame.data() + kEthertypeAt + 2) : 0;
}

// Upper three bytes of the source MAC ^ lower three.
uint32_t source_mac(std::span<const uint8_t> frame) noexcept {
  const uint8_t* source = frame.data() + 6;
  const uint32_t upper = uint32_t{source[0]} << 16 | uint32_t{source[1]} << 8 | source[2];
  const uint32_t lower = uint32_t{source[3]} << 16 | uint32_t{source[4]} << 8 | source[5];
  return upper ^ lower;
}

// Every frame and every policy: the reference for the fast paths of hash_burst.cpp.
HashFields read(Policy policy, Path path, std::span<const uint8_t> frame) noexcept {
  if (frame.size() < kEtherHeader) {
    return {};
  }
  const Start start = path == Path::host ? start_host(frame) : Start{};
  if (policy == Policy::vlan_srcmac) {
    return {.kind = HashFields::Kind::vlan_srcmac,
            .tag = tag_control(frame, start.tag_beside()),
            .source_mac = source_mac(frame)};
  }
  const uint16_t ethertype = load_be16(frame.data() + start.type_at);
  HashFields fields{.kind = HashFields::Kind::ethernet, .ethernet = uint32_t{frame[5]} ^ frame[11] ^ ethertype};
  if (policy == Policy::layer2) {
    return fields;
  }
  Flow flow;
  if (policy == Policy::encap23 || policy == Policy::encap34) {
    const std::optional<Flow> inner = dissect(frame, start);
    if (!inner) {
      return fields;
    }
    flow = *inner;
  } else if (!read_outer(frame, start.network_at, ethertype, flow)) {
    return fields;
  }
  const bool layer23 = policy == Policy::layer23 || policy == Policy::encap23;
  fields.kind = layer23 ? HashFields::Kind::addresses : HashFields::Kind::flow;
  fields.addresses = flow.addresses;
  fields.ports = flow.ports;
  return fields;
}

// No field that a policy reads lies beyond: Ethernet header and tags, two IPv4 headers with options around an ICMP
// header, AH up to its SPI.
constexpr uint32_t kHeadersAtMost = kEtherHeader + kTagsAtMost * 4 + 60 + kIcmpHeader + 60 + 8;

}  // namespace

uint32_t HashFields::value() const noexcept {
  switch (kind) {
    case Kind::none:
      break;
    case Kind::ethernet:
      return ethernet;
    case Kind::addresses:
      return fold(ethernet, addresses);
    case Kind::flow:
      return fold(ports, addresses) >> 1;
    case Kind::vlan_srcmac:
      return tag ^ source_mac;
  }
  return 0;
}

HashFields hash_fields(Policy policy, Path path, std::span<const uint8_t> frame) noexcept {
  return read(policy, path, frame);
}

uint32_t hash(Policy policy, Path path, std::span<const uint8_t> frame) noexcept {
  return read(policy, path, frame).value();
}

uint32_t hash_mbuf(Policy policy, Path path, const rte_mbuf* frame) noexcept {
  std::array<uint8_t, std::max(kHeadersAtMost, kDissectAtMost)> copy;
  const bool dissects = policy == Policy::encap23 || policy == Policy::encap34;
  const uint32_t reach = dissects ? kDissectAtMost : kHeadersAtMost;
  return read(policy, path, headers(frame, std::span(copy).first(reach))).value();
}

}  // namespace xbond::bond
