// The transmit hash of Linux bonding, bit-exact (bond_xmit_hash, bond_xmit_hash_xdp in
// drivers/net/bonding/bond_main.c). Member = hash % usable members. One implementation for all paths. Thread: any.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <span>

#include "lib/bond/types.hpp"

namespace xbond::bond {

// What a policy found in a frame, in the words that it mixes: those that `kind` does not name are 0.
struct HashFields {
  enum class Kind : uint8_t {
    none,        // no Ethernet header
    ethernet,    // layer2, and what the other policies make of a frame without an IP header that they read
    addresses,   // ethernet and the IP addresses
    flow,        // addresses and ports
    vlan_srcmac  // the tag beside the frame, and the source MAC
  };
  Kind kind = Kind::none;
  uint32_t ethernet = 0;    // last bytes of both MACs ^ ethertype
  uint32_t addresses = 0;   // source ^ destination, as they lie in memory; IPv6: all eight words
  uint32_t ports = 0;       // the first word of the transport header, as it lies in memory, or of an ICMP query
  uint32_t tag = 0;         // TCI
  uint32_t source_mac = 0;  // upper three bytes ^ lower three

  [[nodiscard]] uint32_t value() const noexcept;
};
// As hash(), before the words are mixed.
HashFields hash_fields(Policy policy, Path path, std::span<const uint8_t> frame) noexcept;

// `frame`: the bytes from the destination MAC on, in one piece. Under 14 bytes the hash is 0.
uint32_t hash(Policy policy, Path path, std::span<const uint8_t> frame) noexcept;

// The same for a frame in an mbuf, whose headers may be spread over segments.
uint32_t hash_mbuf(Policy policy, Path path, const rte_mbuf* frame) noexcept;

// The same for a burst. Worker: no allocation, no branch on the policy per packet.
void hash_burst(Policy policy, Path path, rte_mbuf* const* pkts, uint16_t n, uint32_t* out) noexcept;

}  // namespace xbond::bond
