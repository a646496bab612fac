#include "lib/bond/mode_rr.hpp"

#include <rte_cycles.h>

#include <algorithm>

#include "lib/bond/frame.hpp"

namespace xbond::bond {
namespace {

constexpr uint8_t kIgmp = 2;
constexpr uint32_t kProtocolAt = kEtherHeader + 9;  // in an untagged IPv4 frame
constexpr uint32_t kShortestIgmp = kEtherHeader + 20;

// As is_igmp(), within the loops that ask for each frame.
[[gnu::always_inline]] inline bool igmp(Path path, std::span<const uint8_t> frame) noexcept {
  if (frame.size() < kEtherHeader) {
    return false;
  }
  const uint32_t type_at = path == Path::host ? start_host(frame).type_at : kEthertypeAt;
  return load_be16(frame.data() + type_at) == RTE_ETHER_TYPE_IPV4 && frame.size() >= type_at + 2 + 20 &&
         frame[type_at + 2 + 9] == kIgmp;
}

bool is_igmp(Path path, const rte_mbuf* m) noexcept {
  std::array<uint8_t, kEtherHeader + kTagsAtMost * 4 + 20> copy;
  return igmp(path, headers(m, copy));
}

// False only where the frame can't be IGMP on the XDP path. One byte decides; what it can't decide (a short first
// segment) is left to is_igmp().
inline bool maybe_igmp(const rte_mbuf* m) noexcept {
  return m->data_len < kShortestIgmp || rte_pktmbuf_mtod(m, const uint8_t*)[kProtocolAt] == kIgmp;
}

// The place in the cycle of usable * packets_per_slave frames; a new table may have a shorter cycle than the last.
uint32_t place(const LcoreState& state, uint32_t cycle) noexcept {
  return state.rr_counter < cycle ? state.rr_counter : state.rr_counter % cycle;
}

// Whose turn it is, and the next one's.
uint32_t member_in_turn(const TxTable& table, const LcoreState& state) noexcept {
  return place(state, table.usable * table.packets_per_slave) / table.packets_per_slave;
}
void turn(const TxTable& table, LcoreState& state) noexcept {
  const uint32_t cycle = table.usable * table.packets_per_slave;
  const uint32_t next = place(state, cycle) + 1;
  state.rr_counter = next < cycle ? next : 0;
}

uint32_t next_at_random(const TxTable& table, LcoreState& state) noexcept {
  uint32_t x = state.random;
  if (x == 0) [[unlikely]] {
    x = static_cast<uint32_t>(rte_rdtsc()) | 1u;
  }
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  state.random = x;
  return static_cast<uint32_t>(uint64_t{x} * table.usable >> 32);
}

// Any burst. An IGMP frame leaves the turns as they are, except where it is the active member's turn anyway: its port
// is the same, and deal_two() need not look at the frames of that member. (Linux leaves its counter there, too.)
[[gnu::noinline]] void one_by_one(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port,
                                  rte_mbuf** pkts, uint16_t n) noexcept {
  const bool in_turn = table.packets_per_slave != 0;
  const uint16_t igmp = igmp_port(table);
  for (uint16_t i = 0; i < n; ++i) {
    uint16_t to = table.port[in_turn ? member_in_turn(table, state) : next_at_random(table, state)];
    if (to != igmp && is_igmp(path, pkts[i])) {
      to = igmp;
    } else if (in_turn) {
      turn(table, state);
    }
    port::TxBuffer& buffer = by_port[to];
    buffer.pkts[buffer.count++] = pkts[i];
  }
  for (uint16_t i = 0; i < table.usable; ++i) {
    port::flush_full(by_port[table.port[i]]);
  }
  port::flush_full(by_port[igmp]);
}

// Two members, packets_per_slave 1: the usual bond, with as little around the loop as can be. Looks at every second
// frame only, from kLook on, since the other ones' member is where IGMP goes anyway. False, and nothing done, where one
// of them may be IGMP.
template <uint32_t kLook>
bool deal_two(port::TxBuffer& first, port::TxBuffer& second, rte_mbuf* const* pkts, uint32_t n) noexcept {
  rte_mbuf** to_first = first.pkts + first.count;
  rte_mbuf** to_second = second.pkts + second.count;
  const auto pair = [](rte_mbuf* const* from, rte_mbuf** first_slot, rte_mbuf** second_slot) {
    rte_mbuf* const frames[2] = {from[0], from[1]};
    *first_slot = frames[0];
    *second_slot = frames[1];
    return !maybe_igmp(frames[kLook]);
  };
  rte_mbuf* const* end = pkts + n;
  // Eight pairs at a time: the exit of a longer loop is one that branch predictors miss.
  for (; pkts + 16 <= end; pkts += 16, to_first += 8, to_second += 8) {
    if (!pair(pkts, to_first, to_second) || !pair(pkts + 2, to_first + 1, to_second + 1) ||
        !pair(pkts + 4, to_first + 2, to_second + 2) || !pair(pkts + 6, to_first + 3, to_second + 3) ||
        !pair(pkts + 8, to_first + 4, to_second + 4) || !pair(pkts + 10, to_first + 5, to_second + 5) ||
        !pair(pkts + 12, to_first + 6, to_second + 6) || !pair(pkts + 14, to_first + 7, to_second + 7)) [[unlikely]] {
      return false;
    }
  }
  for (; pkts + 2 <= end; pkts += 2) {
    if (!pair(pkts, to_first++, to_second++)) [[unlikely]] {
      return false;
    }
  }
  if (pkts != end) {
    if (kLook == 0 && maybe_igmp(*pkts)) [[unlikely]] {
      return false;
    }
    *to_first++ = *pkts;
  }
  first.count = static_cast<uint16_t>(to_first - first.pkts);
  second.count = static_cast<uint16_t>(to_second - second.pkts);
  return true;
}

bool deal_two(const TxTable& table, LcoreState& state, port::TxBuffer* by_port, rte_mbuf* const* pkts,
              uint32_t n) noexcept {
  const uint32_t start = state.rr_counter & 1u;
  port::TxBuffer& first = by_port[table.port[start]];
  port::TxBuffer& second = by_port[table.port[start ^ 1u]];
  const bool done = start == table.igmp ? deal_two<1>(first, second, pkts, n) : deal_two<0>(first, second, pkts, n);
  if (done) [[likely]] {
    state.rr_counter = (start + n) & 1u;
    port::flush_full(first);
    port::flush_full(second);
  }
  return done;
}

// packets_per_slave 1: each member gets every usable-th frame. The burst holds no IGMP.
void deal(const TxTable& table, LcoreState& state, port::TxBuffer* by_port, rte_mbuf* const* pkts,
          uint32_t n) noexcept {
  const uint32_t usable = table.usable;
  uint32_t member = place(state, usable);
  state.rr_counter = (member + n) % usable;
  for (uint32_t first = 0; first < usable && first < n; ++first) {
    port::TxBuffer& buffer = by_port[table.port[member]];
    rte_mbuf** to = buffer.pkts + buffer.count;
    for (uint32_t i = first; i < n; i += usable) {
      *to++ = pkts[i];
    }
    buffer.count = static_cast<uint16_t>(to - buffer.pkts);
    port::flush_full(buffer);
    member = member + 1 < usable ? member + 1 : 0;
  }
}

// packets_per_slave > 1: each member gets its run as one piece.
[[gnu::noinline]] void in_runs(const TxTable& table, LcoreState& state, port::TxBuffer* by_port, rte_mbuf** pkts,
                               uint16_t n) noexcept {
  const uint32_t length = table.packets_per_slave;
  const uint32_t cycle = table.usable * length;
  const uint32_t at = place(state, cycle);
  uint32_t member = at / length;
  uint32_t left = length - at % length;
  for (uint16_t i = 0; i < n;) {
    const auto run = static_cast<uint16_t>(std::min<uint32_t>(left, n - i));
    port::append(by_port[table.port[member]], pkts + i, run);
    i = static_cast<uint16_t>(i + run);
    left = length;
    member = member + 1 < table.usable ? member + 1 : 0;
  }
  state.rr_counter = (at + n) % cycle;
}

bool any_maybe_igmp(rte_mbuf* const* pkts, uint16_t n) noexcept {
#pragma GCC unroll 4
  for (uint16_t i = 0; i < n; ++i) {
    if (maybe_igmp(pkts[i])) [[unlikely]] {
      return true;
    }
  }
  return false;
}

[[gnu::noinline]] void transmit_general(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port,
                                        rte_mbuf** pkts, uint16_t n) noexcept {
  // maybe_igmp() does not see behind the tags of the host path.
  if (table.packets_per_slave == 0 || path == Path::host || any_maybe_igmp(pkts, n)) {
    one_by_one(table, state, path, by_port, pkts, n);
  } else if (table.packets_per_slave == 1) {
    deal(table, state, by_port, pkts, n);
  } else {
    in_runs(table, state, by_port, pkts, n);
  }
}

}  // namespace

bool is_igmp(Path path, std::span<const uint8_t> frame) noexcept {
  return igmp(path, frame);
}

uint16_t transmit_rr(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                     uint16_t n) noexcept {
  if (!table.two_in_turn || path != Path::xdp || !deal_two(table, state, by_port, pkts, n)) [[unlikely]] {
    transmit_general(table, state, path, by_port, pkts, n);
  }
  return n;
}

}  // namespace xbond::bond
