#include "lib/host/addresses.hpp"

#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "lib/unique_fd.hpp"

// The kernel's macros walk messages by char pointers; buffers and message parts are aligned as it demands.
#pragma GCC diagnostic ignored "-Wcast-align"

namespace xbond::host {
namespace {

constexpr int kMaxAnswers = 1024;         // of up to 32 KB: more addresses than any host has
constexpr timeval kPatience{0, 100'000};  // the kernel answers at once or never
constexpr uint32_t kSequence = 1;

struct Query {
  nlmsghdr header;
  ifaddrmsg body;
};

bool ask(int fd, uint8_t family, uint32_t ifindex) {
  Query query{};
  query.header.nlmsg_len = NLMSG_LENGTH(sizeof(ifaddrmsg));
  query.header.nlmsg_type = RTM_GETADDR;
  query.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  query.header.nlmsg_seq = kSequence;
  query.body.ifa_family = family;
  query.body.ifa_index = ifindex;
  return send(fd, &query, query.header.nlmsg_len, 0) == static_cast<ssize_t>(query.header.nlmsg_len);
}

bool announceable(uint32_t flags) {
  if ((flags & IFA_F_DADFAILED) != 0) return false;
  return (flags & IFA_F_TENTATIVE) == 0 || (flags & IFA_F_OPTIMISTIC) != 0;
}

// The interface's own address in one RTM_NEWADDR: IFA_LOCAL where there is one (on a point-to-point link IFA_ADDRESS
// is the peer's).
template <class Address>
std::optional<Address> address_in(const nlmsghdr* header, uint32_t ifindex) {
  if (header->nlmsg_len < NLMSG_LENGTH(sizeof(ifaddrmsg))) return {};
  const auto* body = static_cast<const ifaddrmsg*>(NLMSG_DATA(header));
  if (body->ifa_index != ifindex) return {};
  std::optional<Address> local, address;
  uint32_t flags = body->ifa_flags;
  auto left = static_cast<unsigned int>(IFA_PAYLOAD(header));
  for (const auto* item = IFA_RTA(body); RTA_OK(item, left); item = RTA_NEXT(item, left)) {
    const size_t size = RTA_PAYLOAD(item);
    if (item->rta_type == IFA_FLAGS && size >= sizeof flags) std::memcpy(&flags, RTA_DATA(item), sizeof flags);
    if ((item->rta_type != IFA_LOCAL && item->rta_type != IFA_ADDRESS) || size != sizeof(Address)) continue;
    std::memcpy((item->rta_type == IFA_LOCAL ? local : address).emplace().data(), RTA_DATA(item), sizeof(Address));
  }
  if (!announceable(flags)) return {};
  return local ? local : address;
}

// False when the answer is complete (or broken).
template <class Address>
bool collect(const char* data, size_t size, uint32_t ifindex, std::vector<Address>& out) {
  auto left = static_cast<unsigned int>(size);
  for (const auto* header = reinterpret_cast<const nlmsghdr*>(data); NLMSG_OK(header, left);
       header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_seq != kSequence) continue;
    if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) return false;
    if (header->nlmsg_type != RTM_NEWADDR) continue;
    if (auto found = address_in<Address>(header, ifindex)) out.push_back(*found);
  }
  return true;
}

template <class Address>
std::vector<Address> addresses(std::string_view name, uint8_t family) {
  const uint32_t ifindex = if_nametoindex(std::string(name).c_str());
  if (ifindex == 0) return {};
  const UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return {};
  // Lets the kernel filter by ifindex; an older one sends all, and address_in() filters.
  const int on = 1;
  setsockopt(fd.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  if (!ask(fd.get(), family, ifindex)) return {};

  std::vector<Address> out;
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  for (int i = 0; i < kMaxAnswers; ++i) {
    const ssize_t size = recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (size <= 0 || !collect(buffer.data(), static_cast<size_t>(size), ifindex, out)) break;
  }
  return out;
}

}  // namespace

std::vector<Ipv4Address> ipv4_addresses(std::string_view name) {
  return addresses<Ipv4Address>(name, AF_INET);
}

std::vector<Ipv6Address> ipv6_addresses(std::string_view name) {
  return addresses<Ipv6Address>(name, AF_INET6);
}

}  // namespace xbond::host
