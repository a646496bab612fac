// The UDP frames that the bench and the rig send. Thread: any.
#pragma once

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <cstdint>
#include <cstring>

namespace xbond::test_frame {

inline constexpr uint16_t kFrame = 64;

// Flows differ in MAC, address and port, so that every policy spreads them.
inline void write_ether(uint8_t* to, unsigned flow, uint16_t ethertype) {
  std::memset(to, 0, kFrame);
  auto* ether = reinterpret_cast<rte_ether_hdr*>(to);
  ether->dst_addr = {{2, 0, 0, 0, 0, 1}};
  ether->src_addr = {{2, 0, 0, 0, static_cast<uint8_t>(flow >> 8), static_cast<uint8_t>(flow)}};
  ether->ether_type = rte_cpu_to_be_16(ethertype);
}

inline void write_udp(uint8_t* to, unsigned flow, size_t offset) {
  auto* udp = reinterpret_cast<rte_udp_hdr*>(to + offset);
  udp->src_port = rte_cpu_to_be_16(static_cast<uint16_t>(1024 + flow * 40503u % 50000));
  udp->dst_port = RTE_BE16(4789);
  udp->dgram_len = rte_cpu_to_be_16(static_cast<uint16_t>(kFrame - offset));
}

inline void write_ipv4(uint8_t* to, unsigned flow) {
  write_ether(to, flow, RTE_ETHER_TYPE_IPV4);
  auto* ip = reinterpret_cast<rte_ipv4_hdr*>(to + sizeof(rte_ether_hdr));
  ip->version_ihl = RTE_IPV4_VHL_DEF;
  ip->total_length = rte_cpu_to_be_16(kFrame - sizeof(rte_ether_hdr));
  ip->time_to_live = 64;
  ip->next_proto_id = IPPROTO_UDP;
  ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 0) + flow * 2654435761u % 65536);
  ip->dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, 1, 0, 1));
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  write_udp(to, flow, sizeof(rte_ether_hdr) + sizeof(*ip));
}

}  // namespace xbond::test_frame
