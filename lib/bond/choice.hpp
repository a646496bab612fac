// Which member one frame would take, and why: transmit() for a single frame, in words. For `bond hash`, and for the
// frames that control sends by a bond. Thread: any; not for the packet path.
#pragma once

#include <cstdint>
#include <span>

#include "lib/bond/hash.hpp"
#include "lib/bond/transmit.hpp"

namespace xbond::bond {

struct Choice {
  enum class Why : uint8_t {
    no_member,   // nothing is usable, or none is active where the mode asks for it
    active,      // active-backup: the active member
    igmp,        // balance-rr: IGMP goes to the active member
    in_turn,     // balance-rr: any, each in its turn
    every,       // broadcast, and 802.3ad's broadcast_neighbor: all of them
    hashed,      // usable[hash % count]
    channel,     // balance-tlb, balance-alb: the channel's member, by measured load
    unbalanced,  // balance-tlb, balance-alb: a frame that only the active member sends
  };
  Why why = Why::no_member;
  HashFields fields;              // by the bond's policy, whether or not its mode hashes
  uint32_t hash = 0;              // their value
  uint32_t channel = 0;           // Why::channel
  uint16_t port = port::kNoPort;  // kNoPort: no_member, in_turn, every
  uint16_t index = 0;             // Why::hashed, Why::channel: its place among the usable ones
};

// `frame`: from the destination MAC on. `table`: sealed.
[[nodiscard]] Choice choose(const TxTable& table, Path path, std::span<const uint8_t> frame) noexcept;

}  // namespace xbond::bond
