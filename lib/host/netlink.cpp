#include "lib/host/netlink.hpp"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

// The kernel's macros walk messages by char pointers; buffers and message parts are aligned as it demands.
#pragma GCC diagnostic ignored "-Wcast-align"

namespace xbond::host {
namespace {

constexpr int kMaxDatagrams = 64;

void collect(const char* data, size_t size, std::vector<int>& changed) {
  auto left = static_cast<unsigned int>(size);
  for (auto* header = reinterpret_cast<const nlmsghdr*>(data); NLMSG_OK(header, left);
       header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK) continue;
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof(ifinfomsg))) continue;
    ifinfomsg link{};
    std::memcpy(&link, NLMSG_DATA(header), sizeof link);
    changed.push_back(link.ifi_index);
  }
}

}  // namespace

Result<LinkEvents> LinkEvents::open() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return fail(errno, fmt::format("rtnetlink: no socket: {}", std::strerror(errno)));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(errno, fmt::format("rtnetlink: cannot subscribe to link changes: {}", std::strerror(errno)));
  return LinkEvents(std::move(fd));
}

bool LinkEvents::read(std::vector<int>& changed) {
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  bool complete = true;
  for (int i = 0; i < kMaxDatagrams; ++i) {
    sockaddr_nl sender{};
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_name = &sender;
    message.msg_namelen = sizeof sender;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = recvmsg(fd(), &message, 0);
    if (size < 0) {
      if (errno == EAGAIN) break;
      complete = false;  // ENOBUFS: the kernel had to drop notices
      continue;
    }
    if (sender.nl_pid != 0) continue;  // not from the kernel
    if ((message.msg_flags & MSG_TRUNC) != 0) complete = false;
    collect(buffer.data(), static_cast<size_t>(size), changed);
  }
  return complete;
}

}  // namespace xbond::host
