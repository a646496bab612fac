#include "bpf_compat/helper/netlink_dump.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace xbond::bpf {
namespace {

class Socket {
 public:
  Socket() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Error failed(int code) {
  return fail(code, fmt::format("rtnetlink: {}", std::strerror(code)));
}

}  // namespace

Status netlink_dump(uint16_t type, uint8_t family, const std::function<void(std::span<const std::byte>)>& each) {
  const Socket socket;
  if (socket.fd() < 0) return failed(errno);
  struct {
    nlmsghdr head;
    // As long as the longest header that a request of these begins with
    std::array<uint8_t, 32> body;
  } request{};
  request.head.nlmsg_len = sizeof(request);
  request.head.nlmsg_type = type;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body[0] = family;
  // The kernel is strict about lengths only where it is asked to be
  if (send(socket.fd(), &request, sizeof(request), 0) < 0) return failed(errno);
  std::vector<std::byte> buffer(size_t{1} << 16);
  for (;;) {
    const auto got = recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed(got < 0 ? errno : EIO);
    auto rest = std::span<const std::byte>(buffer).first(static_cast<size_t>(got));
    while (rest.size() >= sizeof(nlmsghdr)) {
      const auto head = number_in<nlmsghdr>(rest);
      if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > rest.size()) return failed(EBADMSG);
      const auto body = rest.subspan(sizeof(head), head.nlmsg_len - sizeof(head));
      if (head.nlmsg_type == NLMSG_DONE) return {};
      if (head.nlmsg_type == NLMSG_ERROR) return failed(-number_in<int>(body));
      each(body);
      rest = rest.subspan(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), rest.size()));
    }
  }
}

}  // namespace xbond::bpf
