#include "app/xbond/announce.hpp"

#include <netinet/icmp6.h>
#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

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

// From the addresses up to the ethertype; returns what follows. The frame has room for it.
uint8_t* write_ethernet(uint8_t* bytes, const port::Mac& to, const port::Mac& from, const bond::Tags& tags,
                        uint16_t ethertype) {
  bytes = std::copy(to.begin(), to.end(), bytes);
  bytes = std::copy(from.begin(), from.end(), bytes);
  bytes = std::copy_n(tags.bytes.begin(), tags.size, bytes);
  *bytes++ = static_cast<uint8_t>(ethertype >> 8);
  *bytes++ = static_cast<uint8_t>(ethertype);
  return bytes;
}

struct Arp {
  uint16_t operation;
  port::Mac to;  // of the frame
  port::Mac sender_mac, target_mac;
  bond::Ipv4 sender, target;
  bond::Tags tags;
};

void add_arp(rte_mempool* pool, const Arp& what, std::vector<rte_mbuf*>& out) {
  uint8_t* bytes = make_frame(pool, sizeof(rte_ether_hdr) + what.tags.size + sizeof(rte_arp_hdr), out);
  if (bytes == nullptr) {
    return;
  }
  bytes = write_ethernet(bytes, what.to, what.sender_mac, what.tags, RTE_ETHER_TYPE_ARP);
  auto* arp = reinterpret_cast<rte_arp_hdr*>(bytes);
  arp->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
  arp->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
  arp->arp_hlen = RTE_ETHER_ADDR_LEN;
  arp->arp_plen = sizeof(uint32_t);
  arp->arp_opcode = rte_cpu_to_be_16(what.operation);
  std::memcpy(&arp->arp_data.arp_sha, what.sender_mac.data(), what.sender_mac.size());
  std::memcpy(&arp->arp_data.arp_sip, what.sender.data(), what.sender.size());
  std::memcpy(&arp->arp_data.arp_tha, what.target_mac.data(), what.target_mac.size());
  std::memcpy(&arp->arp_data.arp_tip, what.target.data(), what.target.size());
}

void add_request(rte_mempool* pool, const port::Mac& mac, const bond::Ipv4& source, const bond::Ipv4& target,
                 std::vector<rte_mbuf*>& out) {
  add_arp(pool,
          {.operation = RTE_ARP_OP_REQUEST,
           .to = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
           .sender_mac = mac,
           .target_mac = {},
           .sender = source,
           .target = target,
           .tags = {}},
          out);
}

// RFC 4861, 4.3 and 4.4 have one shape: type, flags, target and an option with the sender's address.
void add_neighbour(rte_mempool* pool, const port::Mac& mac, uint8_t type, uint32_t flags, const bond::Ipv6& source,
                   const bond::Ipv6& destination, const bond::Ipv6& target, std::vector<rte_mbuf*>& out) {
  constexpr size_t kOption = 8;  // link-layer address
  constexpr size_t kPayload = sizeof(nd_neighbor_advert) + kOption;
  uint8_t* bytes = make_frame(pool, sizeof(rte_ether_hdr) + sizeof(rte_ipv6_hdr) + kPayload, out);
  if (bytes == nullptr) {
    return;
  }
  auto* ether = reinterpret_cast<rte_ether_hdr*>(bytes);
  const uint8_t group[] = {0x33, 0x33, destination[12], destination[13], destination[14], destination[15]};
  std::memcpy(&ether->dst_addr, group, sizeof(group));
  std::memcpy(&ether->src_addr, mac.data(), mac.size());
  ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
  auto* ip = reinterpret_cast<rte_ipv6_hdr*>(ether + 1);
  ip->vtc_flow = rte_cpu_to_be_32(6U << 28);
  ip->payload_len = rte_cpu_to_be_16(kPayload);
  ip->proto = IPPROTO_ICMPV6;
  ip->hop_limits = 255;
  std::memcpy(ip->src_addr, source.data(), source.size());
  std::memcpy(ip->dst_addr, destination.data(), destination.size());
  auto* body = reinterpret_cast<nd_neighbor_advert*>(ip + 1);
  body->nd_na_type = type;
  body->nd_na_flags_reserved = flags;
  std::memcpy(&body->nd_na_target, target.data(), target.size());
  auto* option = reinterpret_cast<uint8_t*>(body + 1);
  option[0] = type == ND_NEIGHBOR_ADVERT ? ND_OPT_TARGET_LINKADDR : ND_OPT_SOURCE_LINKADDR;
  option[1] = 1;  // in units of 8 bytes
  std::memcpy(option + 2, mac.data(), mac.size());
  body->nd_na_cksum = rte_ipv6_udptcp_cksum(ip, body);
}

rte_mbuf* only(const std::vector<rte_mbuf*>& frames) {
  return frames.empty() ? nullptr : frames.front();
}

// RFC 2236 and RFC 3376, with the router alert option that both ask for.
void add_igmp(rte_mempool* pool, const port::Mac& mac, bool version3, const bond::Ipv4& source, const bond::Ipv4& group,
              std::vector<rte_mbuf*>& out) {
  constexpr size_t kIp = 24;
  const size_t igmp_bytes = version3 ? 16 : 8;
  uint8_t* bytes = make_frame(pool, sizeof(rte_ether_hdr) + kIp + igmp_bytes, out);
  if (bytes == nullptr) {
    return;
  }
  const bond::Ipv4 routers{224, 0, 0, 22};  // all that speak IGMPv3
  const bond::Ipv4& to = version3 ? routers : group;
  const uint8_t to_mac[] = {0x01, 0x00, 0x5e, static_cast<uint8_t>(to[1] & 0x7fU), to[2], to[3]};
  std::memcpy(bytes, to_mac, sizeof(to_mac));
  std::memcpy(bytes + 6, mac.data(), mac.size());
  bytes[12] = 0x08;
  uint8_t* ip = bytes + sizeof(rte_ether_hdr);
  const uint8_t head[] = {0x46, 0xc0, 0, static_cast<uint8_t>(kIp + igmp_bytes), 0, 0, 0x40, 0, 1, IPPROTO_IGMP};
  std::memcpy(ip, head, sizeof(head));
  std::memcpy(ip + 12, source.data(), source.size());
  std::memcpy(ip + 16, to.data(), to.size());
  const uint8_t router_alert[] = {0x94, 4, 0, 0};
  std::memcpy(ip + 20, router_alert, sizeof(router_alert));
  const auto checksum = [](const uint8_t* at, size_t length) {
    return static_cast<uint16_t>(~rte_raw_cksum(at, length));
  };
  uint16_t sum = checksum(ip, kIp);
  std::memcpy(ip + 10, &sum, sizeof(sum));
  uint8_t* igmp = ip + kIp;
  igmp[0] = version3 ? 0x22 : 0x16;
  if (version3) {
    constexpr uint8_t kIsExclude = 2;
    igmp[7] = 1;  // record
    igmp[8] = kIsExclude;
  }
  std::memcpy(igmp + igmp_bytes - 4, group.data(), group.size());
  sum = checksum(igmp, igmp_bytes);
  std::memcpy(igmp + 2, &sum, sizeof(sum));
}

}  // namespace

std::vector<rte_mbuf*> announcements(const std::string& tap, const port::Mac& mac, rte_mempool* pool) {
  std::vector<rte_mbuf*> frames;
  for (const auto& address : host::ipv4_addresses(tap)) {
    add_request(pool, mac, address, address, frames);  // RFC 5227: for the sender's own address
  }
  for (const auto& address : host::ipv6_addresses(tap)) {
    // RFC 4861, 7.2.6: unsolicited, with the override flag, to all nodes
    constexpr bond::Ipv6 kAllNodes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    add_neighbour(pool, mac, ND_NEIGHBOR_ADVERT, ND_NA_FLAG_OVERRIDE, address, kAllNodes, address, frames);
  }
  return frames;
}

rte_mbuf* arp_request(const port::Mac& mac, const bond::Ipv4& source, const bond::Ipv4& target, rte_mempool* pool) {
  std::vector<rte_mbuf*> frame;
  add_request(pool, mac, source, target, frame);
  return only(frame);
}

rte_mbuf* neighbour_solicitation(const port::Mac& mac, const bond::Ipv6& source, const bond::Ipv6& target,
                                 rte_mempool* pool) {
  bond::Ipv6 group = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0};
  std::copy(target.begin() + 13, target.end(), group.begin() + 13);
  std::vector<rte_mbuf*> frame;
  add_neighbour(pool, mac, ND_NEIGHBOR_SOLICIT, 0, source, group, target, frame);
  return only(frame);
}

rte_mbuf* learning_packet(const port::Mac& mac, const bond::Tags& tags, rte_mempool* pool) {
  constexpr uint16_t kLoopback = 0x9000;
  std::vector<rte_mbuf*> frame;
  if (uint8_t* bytes = make_frame(pool, sizeof(rte_ether_hdr) + tags.size, frame); bytes != nullptr) {
    write_ethernet(bytes, mac, mac, tags, kLoopback);
  }
  return only(frame);
}

rte_mbuf* client_update(const bond::ClientUpdate& update, rte_mempool* pool) {
  std::vector<rte_mbuf*> frame;
  add_arp(pool,
          {.operation = RTE_ARP_OP_REPLY,
           .to = update.client_mac,
           .sender_mac = update.member_mac,
           .target_mac = update.client_mac,
           .sender = update.own,
           .target = update.client,
           .tags = update.tags},
          frame);
  return only(frame);
}

// A line a device ("2 bond0 : 1 V3"), then a line a group, whose address is printed as the word in memory.
Groups joined_groups(std::istream& proc_net_igmp, std::string_view tap) {
  constexpr bond::Ipv4 kAllHosts{224, 0, 0, 1};  // never reported
  Groups groups;
  bool ours = false;
  for (std::string line; std::getline(proc_net_igmp, line);) {
    std::istringstream words(line);
    std::string first, device, colon, count, version;
    words >> first;
    if (!line.empty() && line[0] != '\t' && line[0] != ' ') {
      words >> device >> colon >> count >> version;
      ours = device == tap;
      if (ours) {
        groups.version3 = version != "V2" && version != "V1";
      }
      continue;
    }
    uint32_t word = 0;
    const auto [end, ec] = std::from_chars(first.data(), first.data() + first.size(), word, 16);
    if (!ours || ec != std::errc() || end != first.data() + first.size()) {
      continue;
    }
    bond::Ipv4 address{};
    std::memcpy(address.data(), &word, sizeof(word));
    if (address != kAllHosts) {
      groups.addresses.push_back(address);
    }
  }
  return groups;
}

std::vector<rte_mbuf*> igmp_reports(const std::string& tap, const port::Mac& mac, rte_mempool* pool) {
  std::ifstream proc("/proc/net/igmp");
  const Groups groups = joined_groups(proc, tap);
  const auto own = host::ipv4_addresses(tap);
  std::vector<rte_mbuf*> frames;
  for (const bond::Ipv4& group : groups.addresses) {
    add_igmp(pool, mac, groups.version3, own.empty() ? bond::Ipv4{} : own.front(), group, frames);
  }
  return frames;
}

}  // namespace xbond::app
