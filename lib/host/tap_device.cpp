#include "lib/host/tap_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace xbond::host {
namespace {

// The kernel's default of 500 loses frames of one jumbo-sized TCP window while this process waits for a CPU.
constexpr int kQueueLength = 1000;

ifreq request(std::string_view name) noexcept {
  ifreq out{};
  std::memcpy(out.ifr_name, name.data(), std::min(name.size(), sizeof out.ifr_name - 1));
  return out;
}

// ioctl() with errno as the result: 0 or a positive error number.
int control(int fd, unsigned long operation, void* argument) noexcept {
  return ioctl(fd, operation, argument) == 0 ? 0 : errno;
}

Error open_failed(std::string_view name, int code) {
  const char* advice = code == ENOENT || code == ENODEV || code == ENXIO ? "load the kernel's tun module"
                       : code == EACCES || code == EPERM                 ? "no access to the device"
                                                                         : "cannot open the device";
  return fail(code, fmt::format("tap {}: /dev/net/tun: {} ({}); PASS frames are dropped and counted, host=off silences",
                                name, advice, std::strerror(code)));
}

}  // namespace

Status check_name(std::string_view name) {
  // '%' is a number template to the kernel, '/' and ':' would break sysfs and address labels.
  const auto bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f || c == '/' || c == '%' || c == ':';
  };
  // Checked first, and the text not repeated: it may hold control characters.
  if (std::any_of(name.begin(), name.end(), bad))
    return fail(EINVAL, "tap name: spaces, control characters, '/', ':' and '%' are not allowed in a netdevice name");
  if (name.empty()) return fail(EINVAL, "tap name: is empty");
  if (name.size() >= IFNAMSIZ)
    return fail(EINVAL, fmt::format("tap name {:.32}: is longer than {} characters", name, IFNAMSIZ - 1));
  if (name == "." || name == "..") return fail(EINVAL, fmt::format("tap name {}: is not a netdevice name", name));
  return {};
}

Error TapDevice::failed(std::string_view what, int code) const {
  if (code == EBADFD) return fail(code, fmt::format("tap {}: {}: the tap was deleted on the host", name_, what));
  return fail(code, fmt::format("tap {}: {}: {}", name_, what, std::strerror(code)));
}

Result<TapDevice> TapDevice::create(std::string_view name, const port::Mac& mac, uint16_t mtu) {
  if (auto valid = check_name(name); !valid) return valid.error();
  UniqueFd fd(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return open_failed(name, errno);
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errno, fmt::format("tap {}: no control socket: {}", name, std::strerror(errno)));

  TapDevice tap(std::move(fd), std::move(socket), std::string(name));
  if (auto attached = tap.attach(); !attached) return attached.error();
  if (auto configured = tap.configure(mac, mtu); !configured) return configured.error();
  return tap;
}

// Makes the netdevice, or takes a free tap of that name.
Status TapDevice::attach() {
  ifreq ask = request(name_);
  ask.ifr_flags = IFF_TAP | IFF_NO_PI;
  const int error = control(fd(), TUNSETIFF, &ask);
  if (error == EPERM)
    return fail(EPERM, fmt::format("tap {}: needs CAP_NET_ADMIN; without the tap PASS frames are dropped and counted, "
                                   "host=off silences this",
                                   name_));
  if (error == EBUSY) return fail(EBUSY, fmt::format("tap {}: a tap of that name is in use", name_));
  if (error != 0 && if_nametoindex(name_.c_str()) != 0)
    return fail(EEXIST, fmt::format("tap {}: another netdevice has that name", name_));
  if (error != 0) return failed("cannot create", error);
  if (name_ != ask.ifr_name)
    return fail(EINVAL, fmt::format("tap {}: the kernel named it {} instead", name_, ask.ifr_name));

  ifreq index = request(name_);
  if (const int code = control(socket_.get(), SIOCGIFINDEX, &index); code != 0) return failed("no ifindex", code);
  ifindex_ = index.ifr_ifindex;
  return {};
}

Status TapDevice::configure(const port::Mac& mac, uint16_t mtu) {
  // A tap is born with carrier: take it away before anybody can set it up.
  if (auto status = set_carrier(false); !status) return status;
  if (ioctl(fd(), TUNSETOFFLOAD, 0UL) != 0) return failed("cannot switch the offloads off", errno);
  if (auto status = set_mac(mac); !status) return status;
  if (auto status = set_mtu(mtu); !status) return status;
  return lengthen_queue();
}

Status TapDevice::lengthen_queue() {
  ifreq ask = request(name_);
  if (const int code = control(socket_.get(), SIOCGIFTXQLEN, &ask); code != 0) return failed("no txqueuelen", code);
  if (ask.ifr_qlen >= kQueueLength) return {};
  ask.ifr_qlen = kQueueLength;
  const int code = control(socket_.get(), SIOCSIFTXQLEN, &ask);
  // A tap lent to an ordinary user keeps the length that its maker gave it.
  if (code != 0 && code != EPERM) return failed("cannot set txqueuelen", code);
  return {};
}

Status TapDevice::set_carrier(bool up) {
  int value = up ? 1 : 0;
  if (const int code = control(fd(), TUNSETCARRIER, &value); code != 0) return failed("cannot set carrier", code);
  return {};
}

Status TapDevice::set_mac(const port::Mac& mac) {
  ifreq ask{};
  ask.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(ask.ifr_hwaddr.sa_data, mac.data(), mac.size());
  const int code = control(fd(), SIOCSIFHWADDR, &ask);
  if (code == EADDRNOTAVAIL)
    return fail(EINVAL, fmt::format("tap {}: MAC {:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x} is no unicast address",
                                    name_, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]));
  if (code != 0) return failed("cannot set the MAC", code);
  return {};
}

Status TapDevice::set_mtu(uint16_t mtu) {
  // Read first: an ordinary user with a lent tap may not set it, but need not if it is right.
  auto now = settings();
  if (!now) return now.error();
  if (now->mtu == mtu) return {};
  ifreq ask{};
  if (const int code = control(fd(), TUNGETIFF, &ask); code != 0) return failed("cannot set the MTU", code);
  ask.ifr_mtu = mtu;
  const int code = control(socket_.get(), SIOCSIFMTU, &ask);
  if (code == EINVAL) return fail(EINVAL, fmt::format("tap {}: the kernel refuses MTU {}", name_, mtu));
  if (code != 0) return failed(fmt::format("cannot set MTU {}", mtu), code);
  return {};
}

Result<LinkSettings> TapDevice::settings() const {
  // The name may have been changed on the host: ask the descriptor for it.
  ifreq ask{};
  if (const int code = control(fd(), TUNGETIFF, &ask); code != 0) return failed("no settings", code);
  const std::string current(ask.ifr_name, strnlen(ask.ifr_name, sizeof ask.ifr_name));

  ask = request(current);
  const int found = control(socket_.get(), SIOCGIFINDEX, &ask);
  // Another device may have taken the name of one that was moved away.
  if (found != 0 || ask.ifr_ifindex != ifindex_)
    return fail(ENODEV, fmt::format("tap {}: is in another network namespace", name_));

  LinkSettings out;
  if (const int code = control(socket_.get(), SIOCGIFFLAGS, &ask); code != 0) return failed("no flags", code);
  out.up = (ask.ifr_flags & IFF_UP) != 0;
  if (const int code = control(socket_.get(), SIOCGIFMTU, &ask); code != 0) return failed("no MTU", code);
  out.mtu = static_cast<uint32_t>(ask.ifr_mtu);
  if (const int code = control(fd(), SIOCGIFHWADDR, &ask); code != 0) return failed("no MAC", code);
  std::memcpy(out.mac.data(), ask.ifr_hwaddr.sa_data, out.mac.size());
  return out;
}

}  // namespace xbond::host
