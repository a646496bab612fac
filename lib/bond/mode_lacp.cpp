#include "lib/bond/mode_lacp.hpp"

#include <array>

#include "lib/bond/mode_broadcast.hpp"
#include "lib/bond/mode_xor.hpp"
#include "lib/bond/neighbour.hpp"

namespace xbond::bond {
namespace {

// One tag: it is beside the frame where a VLAN device of the host's sends.
constexpr uint32_t kTags = 1;

[[gnu::noinline]] uint16_t apart(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port,
                                 rte_mbuf** pkts, uint16_t n) noexcept {
  rte_mbuf* rest[port::kMaxBurst];
  uint16_t left = 0;
  for (uint16_t i = 0; i < n; ++i) {
    std::array<uint8_t, kEtherHeader + kTags * 4 + kIpv6Header + 1> copy;
    if (goes_to_every(table, path, headers(pkts[i], copy))) {
      transmit_broadcast(table, state, path, by_port, pkts + i, 1);
    } else {
      rest[left++] = pkts[i];
    }
  }
  if (left != 0) {
    transmit_xor(table, state, path, by_port, rest, left);
  }
  return n;
}

}  // namespace

bool goes_to_every(const TxTable& table, Path path, std::span<const uint8_t> frame) noexcept {
  return table.broadcast_neighbor && path == Path::host && neighbour_kind(frame, kTags) != Neighbour::neither;
}

uint16_t transmit_lacp(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                       uint16_t n) noexcept {
  return table.broadcast_neighbor && path == Path::host ? apart(table, state, path, by_port, pkts, n)
                                                        : transmit_xor(table, state, path, by_port, pkts, n);
}

}  // namespace xbond::bond
