// Where frames can be redirected to, by ifindex. Part of a snapshot: immutable once published. Packet path.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/bond/transmit.hpp"
#include "lib/port/tx_buffer.hpp"

namespace xbond::xdp {

// A port or a bond as the target of a redirect. Its tap is none: the host's netdevice of that name stands for the same
// interface.
struct DeviceView {
  enum class Kind : uint8_t { none, port, bond };

  Kind kind = Kind::none;
  bool up = false;                       // administratively (IFF_UP)
  bool transmits = true;                 // XDP frames; a bond in balance-tlb, say, does not
  uint16_t port = port::kNoPort;         // of a port: its ethdev id
  uint32_t ifindex = 0;                  //
  uint32_t upper = 0;                    // ifindex of the bond that it is a member of; 0: none
  uint32_t longest = 0;                  // bytes of a frame: MTU, Ethernet header and one tag (xdp_ok_fwd_dev)
  const bond::TxTable* table = nullptr;  // of a bond
};

class Devices {
 public:
  void add(const DeviceView& device) {
    if (by_ifindex_.size() <= device.ifindex) {
      by_ifindex_.resize(device.ifindex + 1);
    }
    by_ifindex_[device.ifindex] = device;
  }

  // nullptr: there is no such interface.
  [[nodiscard]] const DeviceView* find(uint32_t ifindex) const noexcept {
    return ifindex < by_ifindex_.size() && by_ifindex_[ifindex].kind != DeviceView::Kind::none ? &by_ifindex_[ifindex]
                                                                                               : nullptr;
  }

 private:
  std::vector<DeviceView> by_ifindex_;
};

}  // namespace xbond::xdp
