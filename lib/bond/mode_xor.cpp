#include "lib/bond/mode_xor.hpp"

#include "lib/bond/hash.hpp"
#include "lib/bond/modulo.hpp"

namespace xbond::bond {
namespace {

// Two members, the usual bond: each frame is stored at both tails and only one of them moves on, which costs less than
// a branch that no predictor can learn. Even's tail falls behind by the odd frames so far.
void scatter_two(port::TxBuffer& even, port::TxBuffer& odd, rte_mbuf* const* pkts, const uint32_t* hashes,
                 uint32_t n) noexcept {
  rte_mbuf** to_even = even.pkts + even.count;
  rte_mbuf** to_odd = odd.pkts + odd.count;
  ptrdiff_t odds = 0;
  ptrdiff_t behind = 0;  // -odds, kept apart: an address can add it but not subtract
  const auto one = [&](uint32_t i) {
    const ptrdiff_t is_odd = hashes[i] & 1u;
    rte_mbuf* m = pkts[i];
    to_even[behind + i] = m;
    to_odd[odds] = m;
    behind -= is_odd;
    odds += is_odd;
  };
  uint32_t left = n;
  for (; left >= 4; left -= 4, pkts += 4, hashes += 4, to_even += 4) {
    one(0);
    one(1);
    one(2);
    one(3);
  }
  for (; left > 0; --left, ++pkts, ++hashes, ++to_even) {
    one(0);
  }
  even.count = static_cast<uint16_t>(even.count + n - static_cast<uint32_t>(odds));
  odd.count = static_cast<uint16_t>(odd.count + static_cast<uint32_t>(odds));
}

// Any number: each member's tail is kept beside the others', so that a frame costs one look-up.
template <class Reduce>
void scatter(const TxTable& table, port::TxBuffer* by_port, rte_mbuf* const* pkts, const uint32_t* hashes, uint32_t n,
             Reduce reduce) noexcept {
  rte_mbuf** tails[kMaxMembers];
  for (uint32_t i = 0; i < table.usable; ++i) {
    port::TxBuffer& buffer = by_port[table.port[i]];
    tails[i] = buffer.pkts + buffer.count;
  }
  for (uint32_t i = 0; i < n; ++i) {
    *tails[reduce(hashes[i])]++ = pkts[i];
  }
  for (uint32_t i = 0; i < table.usable; ++i) {
    port::TxBuffer& buffer = by_port[table.port[i]];
    buffer.count = static_cast<uint16_t>(tails[i] - buffer.pkts);
  }
}

}  // namespace

uint16_t transmit_xor(const TxTable& table, LcoreState& /*state*/, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                      uint16_t n) noexcept {
  if (table.usable == 1) {
    port::append(by_port[table.port[0]], pkts, n);
    return n;
  }
  uint32_t hashes[port::kMaxBurst];
  hash_burst(table.policy, path, pkts, n, hashes);
  if (table.usable == 2) {
    scatter_two(by_port[table.port[0]], by_port[table.port[1]], pkts, hashes, n);
  } else if ((table.usable & (table.usable - 1)) == 0) {
    scatter(table, by_port, pkts, hashes, n, [mask = table.usable - 1u](uint32_t h) { return h & mask; });
  } else {
    scatter(table, by_port, pkts, hashes, n,
            [divide = table.divide, by = table.usable](uint32_t h) { return modulo(h, divide, by); });
  }
  for (uint16_t i = 0; i < table.usable; ++i) {
    port::flush_full(by_port[table.port[i]]);
  }
  return n;
}

}  // namespace xbond::bond
