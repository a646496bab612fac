#include "lib/port/mtu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/port/port.hpp"

namespace xbond::port {
namespace {

// Programs need the frame in one piece, with up to two VLAN tags.
constexpr uint32_t kFrameOverhead = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;

// ethdev's own rule: where the driver tells no overhead, it is that of an untagged frame with its checksum.
uint32_t driver_maximum(const rte_eth_dev_info& info) {
  const uint32_t most = info.max_mtu != 0 ? info.max_mtu : UINT16_MAX;
  if (info.max_rx_pktlen == 0 || (info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu)) return most;
  constexpr uint32_t kOverhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  return std::min(most, info.max_rx_pktlen > kOverhead ? info.max_rx_pktlen - kOverhead : 0);
}

}  // namespace

Status mtu_possible(const std::string& port, uint16_t mtu, const rte_eth_dev_info& info, uint16_t frame_room) {
  const uint32_t least = info.min_mtu, most = driver_maximum(info);
  if (mtu < least || mtu > most)
    return fail(EINVAL, fmt::format("{}: MTU {} is beyond what the driver takes ({} to {})", port, mtu, least, most));
  if (mtu + kFrameOverhead > frame_room)
    return fail(EINVAL, fmt::format("{}: MTU {} needs mbufs for {} bytes and the pool's hold {}", port, mtu,
                                    mtu + kFrameOverhead, frame_room));
  return {};
}

uint16_t Port::mtu() const {
  uint16_t mtu = 0;
  return rte_eth_dev_get_mtu(id_, &mtu) == 0 ? mtu : 0;
}

Status Port::set_mtu(uint16_t wanted, Restart restart) {
  rte_eth_dev_info info{};
  if (const int status = rte_eth_dev_info_get(id_, &info); status != 0) return refusal(-status, "tell its limits");
  if (Status possible = mtu_possible(name_, wanted, info, frame_room_); !possible) return possible;
  const uint16_t before = mtu();
  Status status =
      reconfigure([&] { return rte_eth_dev_set_mtu(id_, wanted); }, [&] { return rte_eth_dev_set_mtu(id_, before); },
                  restart, fmt::format("set the MTU to {}", wanted));
  // A driver that cannot change it has nothing to change here.
  if (!status && status.error().code == ENOTSUP && wanted == before) return {};
  return status;
}

}  // namespace xbond::port
