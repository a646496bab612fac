// Carrier of kernel netdevices by rtnetlink. Internal to the room. Thread: one at a time per socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::port {

// What the kernel says of one netdevice.
struct IfaceState {
  unsigned ifindex = 0;
  bool present = false;  // false: it is deleted, or has left this namespace
  bool up = false;       // frames can pass
};

using IfaceHandler = std::function<void(const IfaceState&)>;

// Hands over each RTM_NEWLINK and RTM_DELLINK in `datagram`, in order. What is malformed ends it or is skipped; no
// byte outside is read.
void parse_link_messages(std::span<const std::byte> datagram, const IfaceHandler& handler);

class RtnlSocket {
 public:
  // `notices`: join the link group (non-blocking); else a socket for query().
  static Result<RtnlSocket> open(bool notices);
  RtnlSocket(RtnlSocket&& other) noexcept;
  RtnlSocket& operator=(RtnlSocket&&) = delete;
  ~RtnlSocket();

  [[nodiscard]] int fd() const { return fd_; }

  enum class Got : uint8_t { messages, nothing, lost };  // lost: the kernel dropped or cut some, states are stale
  // Receives one datagram; those that others than the kernel sent are dropped.
  Got receive(const IfaceHandler& handler);

  // The state now. Nothing: it could not be asked for (the caller keeps what it knew).
  std::optional<IfaceState> query(unsigned ifindex);

 private:
  explicit RtnlSocket(int fd);
  int fd_;
  uint32_t sequence_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace xbond::port
