#include "lib/bond/mode_rr.hpp"

#include <rte_cycles.h>

#include <algorithm>

#include "lib/bond/frame.hpp"

namespace xbond::bond {
namespace {

constexpr uint8_t kIgmp = 2;
constexpr uint32_t kProtocolAt = kEtherHeader + 9;  // in an untagged IPv4 frame
constexpr uint32_t kShortestIgmp = kEtherHeader + 20;

// As Linux sees it: by ethertype and protocol, fragments included. Any frame.
bool is_igmp(Path path, const rte_mbuf* m) noexcept {
  std::array<uint8_t, kEtherHeader + kTagsAtMost * 4 + 20> copy;
  const std::span<const uint8_t> frame = headers(m, copy);
  if (frame.size() < kEtherHeader) {
    return false;
  }
  const uint32_t type_at = path == Path::host ? ethertype_offset_host(frame) : kEthertypeAt;
  return load_be16(frame.data() + type_at) == RTE_ETHER_TYPE_IPV4 && frame.size() >= type_at + 2 + 20 &&
         frame[type_at + 2 + 9] == kIgmp;
}

// False only where no frame of the burst can be IGMP. One byte of each decides; what it can't decide (short first
// segments, tags that the host path looks behind) is left to is_igmp().
bool maybe_igmp(Path path, rte_mbuf* const* pkts, uint16_t n) noexcept {
  if (path == Path::host) {
    return true;
  }
  bool maybe = false;
  for (uint16_t i = 0; i < n; ++i) {
    const rte_mbuf* m = pkts[i];
    if (m->data_len < kShortestIgmp) [[unlikely]] {
      return true;
    }
    maybe |= rte_pktmbuf_mtod(m, const uint8_t*)[kProtocolAt] == kIgmp;
  }
  return maybe;
}

// The place in the cycle of usable * packets_per_slave frames; a new table may have a shorter cycle than the last.
uint32_t place(const LcoreState& state, uint32_t cycle) noexcept {
  return state.rr_counter < cycle ? state.rr_counter : state.rr_counter % cycle;
}

uint32_t next_in_turn(const TxTable& table, LcoreState& state) noexcept {
  const uint32_t cycle = table.usable * table.packets_per_slave;
  const uint32_t at = place(state, cycle);
  state.rr_counter = at + 1 < cycle ? at + 1 : 0;
  return at / table.packets_per_slave;
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

void put(port::TxBuffer& buffer, rte_mbuf* m) noexcept {
  buffer.pkts[buffer.count++] = m;
}

// One by one: random choice, or a burst with IGMP in it.
template <bool kWithIgmp>
void one_by_one(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                uint16_t n) noexcept {
  const uint16_t igmp_port = table.active != port::kNoPort ? table.active : table.port[0];
  for (uint16_t i = 0; i < n; ++i) {
    if (kWithIgmp && is_igmp(path, pkts[i])) {
      put(by_port[igmp_port], pkts[i]);
      continue;
    }
    const uint32_t member = table.packets_per_slave == 0 ? next_at_random(table, state) : next_in_turn(table, state);
    put(by_port[table.port[member]], pkts[i]);
  }
  if (kWithIgmp) {
    port::flush_full(by_port[igmp_port]);
  }
}

// One frame each: member k of the cycle gets every usable-th frame.
void strided(const TxTable& table, LcoreState& state, port::TxBuffer* by_port, rte_mbuf** pkts, uint16_t n) noexcept {
  const uint32_t usable = table.usable;
  uint32_t member = place(state, usable);
  const uint32_t turns = n < usable ? n : usable;
  for (uint32_t first = 0; first < turns; ++first) {
    port::TxBuffer& buffer = by_port[table.port[member]];
    rte_mbuf** to = buffer.pkts + buffer.count;
    for (uint32_t i = first; i < n; i += usable) {
      *to++ = pkts[i];
    }
    buffer.count = static_cast<uint16_t>(to - buffer.pkts);
    member = member + 1 < usable ? member + 1 : 0;
  }
  state.rr_counter = (place(state, usable) + n) % usable;
}

// packets_per_slave > 1: each member gets its run as one piece.
void in_runs(const TxTable& table, LcoreState& state, port::TxBuffer* by_port, rte_mbuf** pkts, uint16_t n) noexcept {
  const uint32_t length = table.packets_per_slave;
  const uint32_t cycle = table.usable * length;
  uint32_t at = place(state, cycle);
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

}  // namespace

uint16_t transmit_rr(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                     uint16_t n) noexcept {
  if (maybe_igmp(path, pkts, n)) [[unlikely]] {
    one_by_one<true>(table, state, path, by_port, pkts, n);
  } else if (table.packets_per_slave == 1) {
    strided(table, state, by_port, pkts, n);
  } else if (table.packets_per_slave > 1) {
    in_runs(table, state, by_port, pkts, n);
  } else {
    one_by_one<false>(table, state, path, by_port, pkts, n);
  }
  for (uint16_t i = 0; i < table.usable; ++i) {
    port::flush_full(by_port[table.port[i]]);
  }
  return n;
}

}  // namespace xbond::bond
