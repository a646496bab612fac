// The frames that bonds send by themselves: announcements of the host's addresses on a bond's tap, probes, learning
// packets, IGMP reports. All come from `pool` and belong to the caller; nullptr, or fewer, when the pool is empty.
#pragma once

#include <rte_mbuf.h>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "lib/bond/clients.hpp"
#include "lib/bond/params.hpp"
#include "lib/port/port.hpp"

namespace xbond::app {

// Gratuitous ARP and unsolicited neighbour advertisements, one frame an address.
std::vector<rte_mbuf*> announcements(const std::string& tap, const port::Mac& mac, rte_mempool* pool);

// "Who has `target`?", to everybody.
rte_mbuf* arp_request(const port::Mac& mac, const bond::Ipv4& source, const bond::Ipv4& target, rte_mempool* pool);
// The same over IPv6, to the target's solicited-node group.
rte_mbuf* neighbour_solicitation(const port::Mac& mac, const bond::Ipv6& source, const bond::Ipv6& target,
                                 rte_mempool* pool);

// From the address to itself, so that switches learn where it is (struct learning_pkt in bond_alb.c).
rte_mbuf* learning_packet(const port::Mac& mac, const bond::Tags& tags, rte_mempool* pool);
// balance-alb: tells one peer which address it shall send to.
rte_mbuf* client_update(const bond::ClientUpdate& update, rte_mempool* pool);

// A report for each IPv4 group that the host has joined on the tap, in the version that it speaks there.
std::vector<rte_mbuf*> igmp_reports(const std::string& tap, const port::Mac& mac, rte_mempool* pool);
// For tests: the same from the text of /proc/net/igmp.
struct Groups {
  bool version3 = true;
  std::vector<bond::Ipv4> addresses;
};
Groups joined_groups(std::istream& proc_net_igmp, std::string_view tap);

}  // namespace xbond::app
