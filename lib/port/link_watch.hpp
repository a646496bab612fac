// Link events: rtnetlink for ports whose driver always says "up" (net_af_packet, net_af_xdp), ethdev's LSC callback
// for the rest. Turns both into one readable file descriptor, so that the protocol thread polls links at once.
#pragma once

#include <memory>
#include <span>

#include "bpf_compat/result.hpp"
#include "lib/port/port.hpp"

namespace xbond::port {

class LinkWatch {
 public:
  static Result<std::unique_ptr<LinkWatch>> create();
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  // Starts (and stops) following a port; reads its operstate once at add.
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
