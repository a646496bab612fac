// One kernel tap: the descriptor of /dev/net/tun that stands for it, and its settings as the kernel keeps them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bpf_compat/result.hpp"
#include "lib/port/port.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::host {

// What the host's administrator can change.
struct LinkSettings {
  port::Mac mac{};
  uint32_t mtu = 0;
  bool up = false;  // administrative state (IFF_UP), not carrier
  bool operator==(const LinkSettings&) const = default;
};

// EINVAL with the reason if the kernel would refuse `name` or turn it into another one.
Status check_name(std::string_view name);

// Owns the tap: it goes with this object, and with the process however that ends. (A persistent tap that somebody made
// for us beforehand is taken over and stays.) Functions may be called from any one thread at a time; each may wait for
// the kernel's rtnl lock.
class TapDevice {
 public:
  // Down, without carrier, non-blocking, no offloads (the kernel computes every checksum before we read a frame).
  // Errors: EINVAL name, MAC or MTU; EPERM no CAP_NET_ADMIN; EBUSY a tap of that name is in use; EEXIST another
  // netdevice has the name; ENOENT / ENODEV / EACCES no tun driver or no access to it.
  static Result<TapDevice> create(std::string_view name, const port::Mac& mac, uint16_t mtu);

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] int ifindex() const noexcept { return ifindex_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }  // as asked, also after a rename

  Status set_carrier(bool up);
  Status set_mac(const port::Mac& mac);
  Status set_mtu(uint16_t mtu);

  // As the kernel has them now. EBADFD: somebody deleted the tap. ENODEV: it was moved to another network namespace
  // (frames still flow through the descriptor).
  [[nodiscard]] Result<LinkSettings> settings() const;

 private:
  TapDevice(UniqueFd fd, UniqueFd socket, std::string name)
      : fd_(std::move(fd)), socket_(std::move(socket)), name_(std::move(name)) {}
  Status attach();
  Status configure(const port::Mac& mac, uint16_t mtu);
  Status lengthen_queue();
  [[nodiscard]] Error failed(std::string_view what, int code) const;

  UniqueFd fd_;
  UniqueFd socket_;  // for the requests that the tun descriptor does not take
  std::string name_;
  int ifindex_ = 0;
};

}  // namespace xbond::host
