// The kernel netdevice (tap) behind a bond or a port: PASS goes there, the host's frames come from there.
#pragma once

#include <rte_mempool.h>
#include <rte_ring.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/port/port.hpp"

namespace xbond::host {

// A pair of single-producer single-consumer rings of mbuf pointers between the host thread and one worker.
struct Rings {
  rte_ring* to_host = nullptr;    // worker produces; a full ring is the worker's counted drop
  rte_ring* from_host = nullptr;  // host thread produces; a full ring is the host thread's counted drop
};

struct Counters {                                     // host thread writes, control reads (relaxed)
  uint64_t to_kernel = 0, to_kernel_dropped = 0;      // written to the tap; refused by it (e.g. interface down)
  uint64_t from_kernel = 0, from_kernel_dropped = 0;  // read from the tap; ring full or no mbuf
};

// Reported when the host changes the tap (ip link set NAME address|mtu|up|down), not when set_mac() or set_mtu() did.
// Called on the host thread, which moves no frames meanwhile; it may call the Host. A tap that is deleted on the host
// is reported once, as down; its frames are dropped and counted until remove().
struct TapChange {
  std::string name;  // as given to add(), whatever the host calls it now
  port::Mac mac;
  uint32_t mtu;
  bool up;
};

// Owns all taps and the thread that moves frames between them and the rings. The thread sleeps (epoll with a short
// adaptive timeout while traffic flows): it never spins. Member functions: control and protocol thread, both at once if
// need be; they may wait for the kernel's rtnl lock and for one round of the host thread.
class Host {
 public:
  static Result<std::unique_ptr<Host>> create(rte_mempool* pool, uint16_t workers,
                                              std::function<void(const TapChange&)> changed);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Errors: EPERM without CAP_NET_ADMIN, EBUSY / EEXIST a netdevice of that name exists (and is not a free tap), EINVAL
  // a name, MAC or MTU the kernel does not take. Returns a handle > 0. The tap starts down (the host sets it up) and
  // without carrier.
  Result<uint32_t> add(std::string_view name, const port::Mac& mac, uint16_t mtu);
  void remove(uint32_t handle);  // the caller guarantees that no worker uses its rings any more
  // One entry a worker; stable until remove().
  [[nodiscard]] std::vector<Rings> rings(uint32_t handle) const;
  Status set_carrier(uint32_t handle, bool up);
  Status set_mac(uint32_t handle, const port::Mac& mac);
  Status set_mtu(uint32_t handle, uint16_t mtu);
  [[nodiscard]] Counters counters(uint32_t handle) const;

 private:
  Host();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xbond::host
