#include "lib/host/flow.hpp"

#include <netinet/in.h>
#include <rte_jhash.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace xbond::host {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kMacs = 12;  // both addresses
constexpr size_t kVlanTag = 4;
constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd, kVlan = 0x8100, kQinq = 0x88a8;

// Precondition: at + 2 <= bytes.size()
uint16_t be16(Bytes bytes, size_t at) noexcept {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

// Up to 32 bytes from `at`, as far as there are any.
uint32_t mix(Bytes bytes, size_t at, size_t size, uint32_t seed) noexcept {
  // rte_jhash reads words: give it aligned ones
  alignas(4) std::array<uint8_t, 32> key{};
  const size_t begin = std::min(at, bytes.size());
  const size_t count = std::min({size, key.size(), bytes.size() - begin});
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), count, key.begin());
  return rte_jhash(key.data(), static_cast<uint32_t>(count), seed);
}

bool has_ports(uint8_t protocol) noexcept {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP || protocol == IPPROTO_UDPLITE;
}

uint32_t hash_ipv4(Bytes packet) noexcept {
  constexpr size_t kAddresses = 12, kHeader = 20;
  if (packet.size() < kHeader) return mix(packet, 0, packet.size(), kIpv4);
  const uint8_t protocol = packet[9];
  const uint32_t hash = mix(packet, kAddresses, 8, protocol);
  // All fragments of a packet go one way: only the first has the ports.
  const bool fragment = (be16(packet, 6) & 0x3fff) != 0;
  if (fragment || !has_ports(protocol)) return hash;
  return mix(packet, static_cast<size_t>(packet[0] & 0x0f) * 4, 4, hash);
}

uint32_t hash_ipv6(Bytes packet) noexcept {
  constexpr size_t kAddresses = 8, kHeader = 40;
  if (packet.size() < kHeader) return mix(packet, 0, packet.size(), kIpv6);
  const uint8_t next = packet[6];
  const uint32_t hash = mix(packet, kAddresses, 32, next);
  return has_ports(next) ? mix(packet, kHeader, 4, hash) : hash;
}

uint32_t hash(Bytes head) noexcept {
  size_t type_at = kMacs;
  for (int tags = 0; tags < 2 && type_at + 2 <= head.size(); ++tags) {
    const uint16_t type = be16(head, type_at);
    if (type != kVlan && type != kQinq) break;
    type_at += kVlanTag;
  }
  if (type_at + 2 > head.size()) return mix(head, 0, kMacs, 0);
  const uint16_t type = be16(head, type_at);
  if (type == kIpv4) return hash_ipv4(head.subspan(type_at + 2));
  if (type == kIpv6) return hash_ipv6(head.subspan(type_at + 2));
  return mix(head, 0, kMacs, type);
}

}  // namespace

uint16_t pick_worker(Bytes head, uint16_t workers) noexcept {
  if (workers <= 1) return 0;
  return static_cast<uint16_t>((uint64_t{hash(head)} * workers) >> 32);
}

}  // namespace xbond::host
