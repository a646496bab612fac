#include "app/xbond/announce.hpp"

#include <netinet/icmp6.h>
#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include <algorithm>
#include <cstring>

#include "lib/host/addresses.hpp"

namespace xbond::app {
namespace {

constexpr size_t kMinFrame = 60;  // without FCS

// A zeroed frame of at least `size` bytes; nullptr when the pool is empty.
uint8_t* make_frame(rte_mempool* pool, size_t size, std::vector<rte_mbuf*>& out) {
  rte_mbuf* m = rte_pktmbuf_alloc(pool);
  if (m == nullptr) {
    return nullptr;
  }
  const auto padded = static_cast<uint16_t>(std::max(size, kMinFrame));
  auto* bytes = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(m, padded));
  if (bytes == nullptr) {
    rte_pktmbuf_free(m);
    return nullptr;
  }
  std::memset(bytes, 0, padded);
  out.push_back(m);
  return bytes;
}

// RFC 5227: an ARP request for the sender's own address, to everybody.
void add_arp(rte_mempool* pool, const port::Mac& mac, const std::array<uint8_t, 4>& address,
             std::vector<rte_mbuf*>& out) {
  uint8_t* bytes = make_frame(pool, sizeof(rte_ether_hdr) + sizeof(rte_arp_hdr), out);
  if (bytes == nullptr) {
    return;
  }
  auto* ether = reinterpret_cast<rte_ether_hdr*>(bytes);
  std::memset(&ether->dst_addr, 0xff, RTE_ETHER_ADDR_LEN);
  std::memcpy(&ether->src_addr, mac.data(), mac.size());
  ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP);
  auto* arp = reinterpret_cast<rte_arp_hdr*>(ether + 1);
  arp->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
  arp->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
  arp->arp_hlen = RTE_ETHER_ADDR_LEN;
  arp->arp_plen = sizeof(uint32_t);
  arp->arp_opcode = rte_cpu_to_be_16(RTE_ARP_OP_REQUEST);
  std::memcpy(&arp->arp_data.arp_sha, mac.data(), mac.size());
  std::memcpy(&arp->arp_data.arp_sip, address.data(), address.size());
  std::memcpy(&arp->arp_data.arp_tip, address.data(), address.size());
}

// RFC 4861, 7.2.6: an unsolicited neighbour advertisement with the override flag, to all nodes.
void add_na(rte_mempool* pool, const port::Mac& mac, const std::array<uint8_t, 16>& address,
            std::vector<rte_mbuf*>& out) {
  constexpr size_t kOption = 8;  // target link-layer address
  constexpr size_t kPayload = sizeof(nd_neighbor_advert) + kOption;
  constexpr std::array<uint8_t, 16> kAllNodes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr std::array<uint8_t, 6> kAllNodesMac = {0x33, 0x33, 0, 0, 0, 1};
  uint8_t* bytes = make_frame(pool, sizeof(rte_ether_hdr) + sizeof(rte_ipv6_hdr) + kPayload, out);
  if (bytes == nullptr) {
    return;
  }
  auto* ether = reinterpret_cast<rte_ether_hdr*>(bytes);
  std::memcpy(&ether->dst_addr, kAllNodesMac.data(), kAllNodesMac.size());
  std::memcpy(&ether->src_addr, mac.data(), mac.size());
  ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
  auto* ip = reinterpret_cast<rte_ipv6_hdr*>(ether + 1);
  ip->vtc_flow = rte_cpu_to_be_32(6U << 28);
  ip->payload_len = rte_cpu_to_be_16(kPayload);
  ip->proto = IPPROTO_ICMPV6;
  ip->hop_limits = 255;
  std::memcpy(ip->src_addr, address.data(), address.size());
  std::memcpy(ip->dst_addr, kAllNodes.data(), kAllNodes.size());
  auto* advert = reinterpret_cast<nd_neighbor_advert*>(ip + 1);
  advert->nd_na_type = ND_NEIGHBOR_ADVERT;
  advert->nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
  std::memcpy(&advert->nd_na_target, address.data(), address.size());
  auto* option = reinterpret_cast<uint8_t*>(advert + 1);
  option[0] = ND_OPT_TARGET_LINKADDR;
  option[1] = 1;  // in units of 8 bytes
  std::memcpy(option + 2, mac.data(), mac.size());
  advert->nd_na_cksum = rte_ipv6_udptcp_cksum(ip, advert);
}

}  // namespace

std::vector<rte_mbuf*> announcements(const std::string& tap, const port::Mac& mac, rte_mempool* pool) {
  std::vector<rte_mbuf*> frames;
  for (const auto& address : host::ipv4_addresses(tap)) {
    add_arp(pool, mac, address, frames);
  }
  for (const auto& address : host::ipv6_addresses(tap)) {
    add_na(pool, mac, address, frames);
  }
  return frames;
}

}  // namespace xbond::app
