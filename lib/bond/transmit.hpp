// A bond's published transmit choice and the burst that uses it. Packet path.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "lib/bond/types.hpp"
#include "lib/port/tx_buffer.hpp"

namespace xbond::bond {

inline constexpr uint32_t kMaxPacketsPerSlave = 65535;  // Linux's limit
inline constexpr uint32_t kChannels = 256;              // of balance-tlb: Linux's TLB_HASH_TABLE_SIZE

// How members are named: ports by their ethdev id, bonds by their index behind those.
inline constexpr uint16_t kMemberIds = RTE_MAX_ETHPORTS + kMaxBonds;
constexpr uint16_t member_id(uint8_t bond_index) noexcept {
  return static_cast<uint16_t>(RTE_MAX_ETHPORTS + bond_index);
}
constexpr bool is_bond(uint16_t member) noexcept {
  return member >= RTE_MAX_ETHPORTS && member < kMemberIds;
}

// Immutable once published; built by the protocol thread, read by workers under QSBR.
struct TxTable {
  Mode mode = Mode::balance_rr;
  Policy policy = Policy::layer2;
  bool nested = false;  // some member is a bond; `active` is among the usable ones then, or kNoPort
  uint16_t usable = 0;  // members that can transmit, in member order
  uint16_t active =
      port::kNoPort;  // port of active-backup's active member; elsewhere of the current active one (IGMP in rr)
  uint32_t packets_per_slave = 1;            // balance-rr: 0 random, 1 each, n every n-th
  uint8_t bond_index = 0;                    // which of the worker's LcoreState entries is this bond's
  std::array<uint16_t, kMaxMembers> port{};  // [0, usable): ethdev port ids, or member_id() of bonds
  uint64_t divide = 0;                       // for hash % usable without a division (see modulo.hpp)
  uint16_t igmp = 0;         // balance-rr: position in `port` of the active member, or `usable` where it is not there
  bool two_in_turn = false;  // balance-rr's usual case: two members, one frame each, IGMP to one of them

  bool broadcast_neighbor = false;  // 802.3ad: the host's ARP and neighbour discovery by every usable member

  // balance-tlb, balance-alb
  bool dynamic = false;                                   // by measured load; else by hash % usable
  std::array<uint8_t, kChannels> channel{};               // by hash: position in `port`
  std::array<std::array<uint8_t, 6>, kMaxMembers> mac{};  // beside `port`: what such a frame says where it comes from

  // Beside `port`, where `nested`: the member's own table, which lives as long as this one; nullptr: a port.
  std::array<const TxTable*, kMaxMembers> inner{};

  // Sets what is derived (divide, igmp, two_in_turn), and bounds what the packet path relies on. Call after filling the
  // rest.
  void seal() noexcept;
};

// Per lcore and bond; written by its worker only. (Linux: rr_tx_counter is per CPU as well.)
struct LcoreState {
  uint32_t rr_counter = 0;
  uint32_t random = 0;  // xorshift state for packets_per_slave 0
  // balance-tlb and balance-alb: what was sent, since the start. Control reads them (port::read_counter).
  uint64_t unbalanced_bytes = 0;
  std::array<uint64_t, kChannels> channel_bytes{};
};

// Puts every frame of the burst into the tx buffer of the member that the bond's mode picks, and flushes buffers that
// became full. `states`: this worker's, by bond_index; `by_port`: its buffers, kMemberIds where a bond is nested.
// n <= port::kMaxBurst. Returns n, or 0 (nothing taken, the caller still owns the frames) when the bond has no usable
// member. A nested bond without one drops its share, counted in its buffer (TxBuffer::dropped).
uint16_t transmit(const TxTable& table, LcoreState* states, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                  uint16_t n) noexcept;

}  // namespace xbond::bond
