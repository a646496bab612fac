#include "lib/port/rtnl.hpp"

#include <fmt/format.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace xbond::port {
namespace {

// The kernel's own datagrams stay below; without asking for them no list of virtual functions comes.
constexpr size_t kBuffer = 32768;

template <class T>
std::optional<T> read_as(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Netlink aligns messages and attributes to 4 bytes; the last one may go without its padding.
std::span<const std::byte> skip(std::span<const std::byte> bytes, size_t length) {
  return bytes.subspan(std::min(bytes.size(), (length + 3) & ~size_t{3}));
}

std::optional<uint8_t> operstate(std::span<const std::byte> attributes) {
  while (const auto header = read_as<rtattr>(attributes)) {
    if (header->rta_len < sizeof(rtattr) || header->rta_len > attributes.size()) return std::nullopt;
    if (header->rta_type == IFLA_OPERSTATE)
      return read_as<uint8_t>(attributes.first(header->rta_len).subspan(sizeof(rtattr)));
    attributes = skip(attributes, header->rta_len);
  }
  return std::nullopt;
}

bool passes_frames(unsigned flags, uint8_t operstate) {
  if ((flags & IFF_UP) == 0) return false;
  // Drivers that do not keep an operstate leave it unknown.
  return operstate == IF_OPER_UP || (operstate == IF_OPER_UNKNOWN && (flags & IFF_LOWER_UP) != 0);
}

std::optional<IfaceState> parse_link(uint16_t type, std::span<const std::byte> payload) {
  if (type != RTM_NEWLINK && type != RTM_DELLINK) return std::nullopt;
  const auto info = read_as<ifinfomsg>(payload);
  // Other families speak of a netdevice's place in a bridge: leaving one is a RTM_DELLINK too.
  if (!info || info->ifi_family != AF_UNSPEC || info->ifi_index <= 0) return std::nullopt;
  IfaceState state{.ifindex = static_cast<unsigned>(info->ifi_index), .present = type == RTM_NEWLINK};
  if (!state.present) return state;
  const auto oper = operstate(skip(payload, sizeof(ifinfomsg)));
  if (!oper) return std::nullopt;  // a notice of something else (wireless events have no operstate)
  state.up = passes_frames(info->ifi_flags, *oper);
  return state;
}

// Calls visit(header, payload) for each message.
template <class Visit>
void for_each_message(std::span<const std::byte> datagram, Visit visit) {
  while (const auto header = read_as<nlmsghdr>(datagram)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > datagram.size()) return;
    visit(*header, datagram.first(header->nlmsg_len).subspan(sizeof(nlmsghdr)));
    datagram = skip(datagram, header->nlmsg_len);
  }
}

struct Datagram {
  ssize_t bytes = -1;  // negative: errno tells
  bool cut = false;
  bool from_kernel = false;
};

Datagram receive_into(int fd, std::span<std::byte> buffer, int flags) {
  sockaddr_nl from{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
  ssize_t bytes = 0;
  do bytes = recvmsg(fd, &message, flags);
  while (bytes < 0 && errno == EINTR);
  return {.bytes = bytes,
          .cut = (message.msg_flags & MSG_TRUNC) != 0,
          .from_kernel = message.msg_namelen == sizeof from && from.nl_pid == 0};
}

}  // namespace

void parse_link_messages(std::span<const std::byte> datagram, const IfaceHandler& handler) {
  for_each_message(datagram, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
    if (const auto state = parse_link(header.nlmsg_type, payload)) handler(*state);
  });
}

Result<RtnlSocket> RtnlSocket::open(bool notices) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | (notices ? SOCK_NONBLOCK : 0), NETLINK_ROUTE);
  if (fd < 0) return fail(errno, fmt::format("rtnetlink: no socket: {}", strerror(errno)));
  RtnlSocket made(fd);
  sockaddr_nl local{.nl_family = AF_NETLINK, .nl_groups = notices ? unsigned{RTMGRP_LINK} : 0u};
  if (bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0)
    return fail(errno, fmt::format("rtnetlink: cannot join the link group: {}", strerror(errno)));
  // The kernel answers within the send; the limit is for a reply that got lost.
  const timeval limit{.tv_usec = 100000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return made;
}

RtnlSocket::RtnlSocket(int fd) : fd_(fd), buffer_(kBuffer) {}

RtnlSocket::RtnlSocket(RtnlSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), sequence_(other.sequence_), buffer_(std::move(other.buffer_)) {}

RtnlSocket::~RtnlSocket() {
  if (fd_ >= 0) close(fd_);
}

RtnlSocket::Got RtnlSocket::receive(const IfaceHandler& handler) {
  const Datagram got = receive_into(fd_, buffer_, MSG_DONTWAIT);
  if (got.bytes < 0) return errno == ENOBUFS ? Got::lost : Got::nothing;
  if (!got.from_kernel) return Got::messages;
  parse_link_messages(std::span(buffer_).first(static_cast<size_t>(got.bytes)), handler);
  return got.cut ? Got::lost : Got::messages;
}

std::optional<IfaceState> RtnlSocket::query(unsigned ifindex) {
  struct {
    nlmsghdr header;
    ifinfomsg info;
  } request{.header = {.nlmsg_len = sizeof request,
                       .nlmsg_type = RTM_GETLINK,
                       .nlmsg_flags = NLM_F_REQUEST,
                       .nlmsg_seq = ++sequence_},
            .info = {.ifi_family = AF_UNSPEC, .ifi_index = static_cast<int>(ifindex)}};
  if (send(fd_, &request, sizeof request, 0) != sizeof request) return std::nullopt;
  // Replies to former questions that came late are skipped, but not without end.
  for (int tries = 0; tries < 8; ++tries) {
    const Datagram got = receive_into(fd_, buffer_, 0);
    if (got.bytes < 0) return std::nullopt;
    if (!got.from_kernel) continue;
    std::optional<IfaceState> state;
    for_each_message(std::span<const std::byte>(buffer_).first(static_cast<size_t>(got.bytes)),
                     [&](const nlmsghdr& header, std::span<const std::byte> payload) {
                       if (header.nlmsg_seq != sequence_) return;
                       const auto error = read_as<nlmsgerr>(payload);
                       if (header.nlmsg_type == NLMSG_ERROR && error && error->error == -ENODEV)
                         state = IfaceState{.ifindex = ifindex};
                       else if (const auto link = parse_link(header.nlmsg_type, payload); link && link->present)
                         state = link;
                     });
    if (state && state->ifindex == ifindex) return state;
  }
  return std::nullopt;
}

}  // namespace xbond::port
