// Link events: rtnetlink for ports whose driver always says "up" (net_af_packet, net_af_xdp), ethdev's LSC callback
// for the rest. Turns both into one readable file descriptor, so that the protocol thread polls links at once.
// Thread: add and remove on control's, handle on the protocol thread; netdevices are those of create()'s namespace.
#pragma once

#include <memory>

#include "bpf_compat/result.hpp"
#include "lib/port/port.hpp"

namespace xbond::port {

class LinkWatch {
 public:
  static Result<std::unique_ptr<LinkWatch>> create();
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  // Starts (and stops) following a port; reads its operstate once at add. A port is removed before it is destroyed.
  // A netdevice that is deleted takes its port down for good: the driver's socket does not find a new one, even of the
  // same name. Errors: EEXIST it is followed already; the driver's errno.
  Status add(Port& port);
  void remove(Port& port);

  // Readable (level) when something may have changed. The caller then calls handle() and reads Port::link() anew.
  [[nodiscard]] int fd() const;
  void handle() noexcept;

 private:
  LinkWatch();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xbond::port
