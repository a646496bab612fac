#include "bpf_compat/helper/host_reader.hpp"

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "bpf_compat/helper/netlink_dump.hpp"

namespace xbond::bpf {
namespace {

using Bytes = std::span<const std::byte>;

// include/net/neighbour.h: what can be sent to.
constexpr uint16_t kValid = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;

HostAddress address_in(Bytes bytes) {
  HostAddress out{};
  std::memcpy(out.data(), bytes.data(), std::min(bytes.size(), out.size()));
  return out;
}

std::string text_in(Bytes bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, strnlen(text, bytes.size())};
}

Bytes behind(Bytes message, size_t header) {
  return message.subspan(std::min<size_t>(NLMSG_ALIGN(header), message.size()));
}

struct Link {
  HostTables::Interface interface;
  std::string name;
};

// IFLA_AF_SPEC: each family's settings as an array, in the order of its DEVCONF numbers (IPv4's count from 1).
void read_settings(Bytes bytes, HostTables::Interface& out) {
  const auto setting = [](Bytes settings, size_t index) {
    const size_t at = index * sizeof(uint32_t);
    return at < settings.size() ? number_in<uint32_t>(settings.subspan(at)) : 0;
  };
  for_each_attribute(bytes, [&](uint16_t family, Bytes inside) {
    for_each_attribute(inside, [&](uint16_t type, Bytes settings) {
      if (family == AF_INET && type == IFLA_INET_CONF)
        out.forwards4 = setting(settings, IPV4_DEVCONF_FORWARDING - 1) != 0;
      if (family != AF_INET6 || type != IFLA_INET6_CONF) return;
      out.forwards6 = setting(settings, DEVCONF_FORWARDING) != 0;
      out.mtu6 = setting(settings, DEVCONF_MTU6);
    });
  });
}

Link read_link(Bytes message) {
  Link link;
  link.interface.kernel = static_cast<uint32_t>(number_in<ifinfomsg>(message).ifi_index);
  for_each_attribute(behind(message, sizeof(ifinfomsg)), [&](uint16_t type, Bytes value) {
    switch (type) {
      case IFLA_IFNAME:
        link.name = text_in(value);
        break;
      case IFLA_MTU:
        link.interface.mtu = number_in<uint32_t>(value);
        break;
      case IFLA_ADDRESS:
        link.interface.mac = number_in<HostMac>(value);
        break;
      case IFLA_AF_SPEC:
        read_settings(value, link.interface);
        break;
      default:
        break;
    }
  });
  return link;
}

void read_hop_attribute(uint16_t type, Bytes value, uint8_t family, HostTables::Hop& hop) {
  switch (type) {
    case RTA_GATEWAY:
      hop.gateway_family = family;
      hop.gateway = address_in(value);
      break;
    case RTA_VIA:  // a gateway of another family
      hop.gateway_family = static_cast<uint8_t>(number_in<uint16_t>(value));
      hop.gateway = address_in(value.subspan(std::min<size_t>(sizeof(uint16_t), value.size())));
      break;
    case RTA_ENCAP_TYPE:
      hop.tunnel = number_in<uint16_t>(value) != LWTUNNEL_ENCAP_NONE;
      break;
    default:
      break;
  }
}

void read_multipath(Bytes bytes, uint8_t family, std::vector<HostTables::Hop>& hops) {
  while (bytes.size() >= sizeof(rtnexthop)) {
    const auto head = number_in<rtnexthop>(bytes);
    if (head.rtnh_len < sizeof(head) || head.rtnh_len > bytes.size()) return;
    HostTables::Hop hop{.kernel = static_cast<uint32_t>(head.rtnh_ifindex),
                        .weight = head.rtnh_hops + 1U,
                        .dead = (head.rtnh_flags & RTNH_F_DEAD) != 0};
    for_each_attribute(bytes.subspan(sizeof(head), head.rtnh_len - sizeof(head)),
                       [&](uint16_t type, Bytes value) { read_hop_attribute(type, value, family, hop); });
    hops.push_back(hop);
    bytes = bytes.subspan(std::min<size_t>(RTNH_ALIGN(head.rtnh_len), bytes.size()));
  }
}

// Only a locked MTU is a limit for what is forwarded.
uint32_t locked_mtu(Bytes metrics) {
  uint32_t mtu = 0;
  uint32_t locks = 0;
  for_each_attribute(metrics, [&](uint16_t type, Bytes value) {
    if (type == RTAX_MTU) mtu = number_in<uint32_t>(value);
    if (type == RTAX_LOCK) locks = number_in<uint32_t>(value);
  });
  return (locks & (1U << RTAX_MTU)) != 0 ? mtu : 0;
}

void read_route(Bytes message, HostTables& out) {
  const auto head = number_in<rtmsg>(message);
  // Clones are what the host's own sockets learnt
  if (message.size() < sizeof(head) || (head.rtm_flags & RTM_F_CLONED) != 0 || head.rtm_dst_len > 128) return;
  HostTables::Route route{.type = head.rtm_type, .tos = head.rtm_tos};
  HostTables::Prefix prefix{.length = head.rtm_dst_len};
  HostTables::Hop hop{.dead = (head.rtm_flags & RTNH_F_DEAD) != 0};
  uint32_t table = head.rtm_table;
  for_each_attribute(behind(message, sizeof(head)), [&](uint16_t type, Bytes value) {
    switch (type) {
      case RTA_DST:
        prefix.address = address_in(value);
        break;
      case RTA_TABLE:
        table = number_in<uint32_t>(value);
        break;
      case RTA_PRIORITY:
        route.priority = number_in<uint32_t>(value);
        break;
      case RTA_PREFSRC:
        route.source = address_in(value);
        route.has_source = true;
        break;
      case RTA_OIF:
        hop.kernel = number_in<uint32_t>(value);
        break;
      case RTA_METRICS:
        route.mtu = locked_mtu(value);
        break;
      case RTA_MULTIPATH:
        read_multipath(value, head.rtm_family, route.hops);
        break;
      default:
        read_hop_attribute(type, value, head.rtm_family, hop);
    }
  });
  if (route.hops.empty() && hop.kernel != 0) route.hops.push_back(hop);
  out.add(head.rtm_family, table, prefix, std::move(route));
}

void read_rule(Bytes message, const std::map<std::string, uint32_t>& numbers, HostTables& out) {
  const auto head = number_in<fib_rule_hdr>(message);
  if (message.size() < sizeof(head) || head.dst_len > 128 || head.src_len > 128) return;
  HostTables::Rule rule{.action = head.action,
                        .table = head.table,
                        .source = {.length = head.src_len},
                        .destination = {.length = head.dst_len},
                        .invert = (head.flags & FIB_RULE_INVERT) != 0,
                        .tos = head.tos};
  const auto interface = [&](Bytes value) {
    const auto it = numbers.find(text_in(value));
    if (it == numbers.end()) rule.never = true;
    return it == numbers.end() ? 0 : it->second;
  };
  for_each_attribute(behind(message, sizeof(head)), [&](uint16_t type, Bytes value) {
    switch (type) {
      case FRA_PRIORITY:
        rule.priority = number_in<uint32_t>(value);
        break;
      case FRA_TABLE:
        rule.table = number_in<uint32_t>(value);
        break;
      case FRA_SRC:
        rule.source.address = address_in(value);
        break;
      case FRA_DST:
        rule.destination.address = address_in(value);
        break;
      case FRA_IIFNAME:
        rule.input = interface(value);
        break;
      case FRA_OIFNAME:
        rule.output = interface(value);
        break;
      case FRA_FWMARK:
        rule.mark = number_in<uint32_t>(value);
        if (rule.mark_mask == 0) rule.mark_mask = UINT32_MAX;
        break;
      case FRA_FWMASK:
        rule.mark_mask = number_in<uint32_t>(value);
        break;
      case FRA_GOTO:
        rule.target = number_in<uint32_t>(value);
        break;
      case FRA_SUPPRESS_PREFIXLEN:
        rule.suppress_length = number_in<int32_t>(value);
        break;
      case FRA_TUN_ID:
      case FRA_IP_PROTO:
      case FRA_SPORT_RANGE:
      case FRA_DPORT_RANGE:
      case FRA_L3MDEV:
        rule.never = rule.never || std::ranges::any_of(value, [](std::byte byte) { return byte != std::byte{0}; });
        break;
      default:
        break;
    }
  });
  // "no mask" and "all of it" are both written as nothing matched
  if (rule.mark == 0 && rule.mark_mask == UINT32_MAX) rule.mark_mask = 0;
  out.add(head.family, rule);
}

void read_neighbour(Bytes message, HostTables& out) {
  const auto head = number_in<ndmsg>(message);
  if (message.size() < sizeof(head) || (head.ndm_state & kValid) == 0 || (head.ndm_flags & NTF_PROXY) != 0) return;
  HostAddress address{};
  HostMac mac{};
  for_each_attribute(behind(message, sizeof(head)), [&](uint16_t type, Bytes value) {
    if (type == NDA_DST) address = address_in(value);
    if (type == NDA_LLADDR) mac = number_in<HostMac>(value);
  });
  out.add(static_cast<uint32_t>(head.ndm_ifindex), address, mac);
}

// Those of a wide scope, as what is sent to another network needs; the first of a subnet only, for IPv4.
void read_address(Bytes message, HostTables& out) {
  const auto head = number_in<ifaddrmsg>(message);
  if (message.size() < sizeof(head) || head.ifa_prefixlen > 128 || head.ifa_scope >= RT_SCOPE_LINK) return;
  if (head.ifa_family == AF_INET && (head.ifa_flags & IFA_F_SECONDARY) != 0) return;
  if ((head.ifa_flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0) return;
  HostTables::Address address{.family = head.ifa_family, .prefix = {.length = head.ifa_prefixlen}};
  bool local = false;
  for_each_attribute(behind(message, sizeof(head)), [&](uint16_t type, Bytes value) {
    if (type == IFA_LOCAL || (type == IFA_ADDRESS && !local)) address.prefix.address = address_in(value);
    local = local || type == IFA_LOCAL;
  });
  out.add(head.ifa_index, address);
}

void add_interfaces(const std::vector<Link>& links, std::span<const HostName> names, HostTables& out) {
  if (names.empty()) {
    for (auto link : links) {
      link.interface.ifindex = link.interface.kernel;
      out.add(link.interface);
    }
    return;
  }
  for (const auto& name : names) {
    const auto link = std::ranges::find(links, name.name, &Link::name);
    HostTables::Interface interface;
    if (link != links.end()) interface = link->interface;
    interface.ifindex = name.ifindex;
    if (link == links.end()) {
      interface.mtu = name.mtu;
      interface.mac = name.mac;
    }
    out.add(interface);
  }
}

}  // namespace

Result<std::unique_ptr<const HostTables>> read_host_tables(std::span<const HostName> names) {
  auto tables = std::make_unique<HostTables>();
  std::vector<Link> links;
  if (auto status = netlink_dump(RTM_GETLINK, AF_UNSPEC, [&](Bytes message) { links.push_back(read_link(message)); });
      !status)
    return status.error();
  std::map<std::string, uint32_t> numbers;
  for (const auto& link : links) numbers[link.name] = link.interface.kernel;
  add_interfaces(links, names, *tables);
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    // A host without that family has none of these
    (void)netlink_dump(RTM_GETROUTE, family, [&](Bytes message) { read_route(message, *tables); });
    (void)netlink_dump(RTM_GETRULE, family, [&](Bytes message) { read_rule(message, numbers, *tables); });
    (void)netlink_dump(RTM_GETNEIGH, family, [&](Bytes message) { read_neighbour(message, *tables); });
    (void)netlink_dump(RTM_GETADDR, family, [&](Bytes message) { read_address(message, *tables); });
  }
  tables->finish();
  return std::unique_ptr<const HostTables>(std::move(tables));
}

}  // namespace xbond::bpf
