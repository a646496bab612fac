#include "lib/bond/mode_xor.hpp"

#include "lib/bond/hash.hpp"
#include "lib/bond/modulo.hpp"

namespace xbond::bond {
namespace {

// Two members, the usual bond: both tails stay in registers, and each frame is stored at both, which costs less than a
// branch that no predictor can learn.
void scatter_two(port::TxBuffer& even, port::TxBuffer& odd, rte_mbuf* const* pkts, const uint32_t* hashes,
                 uint16_t n) noexcept {
  rte_mbuf** to_even = even.pkts + even.count;
  rte_mbuf** to_odd = odd.pkts + odd.count;
  for (uint16_t i = 0; i < n; ++i) {
    const uint32_t is_odd = hashes[i] & 1u;
    *to_even = pkts[i];
    *to_odd = pkts[i];
    to_even += is_odd ^ 1u;
    to_odd += is_odd;
  }
  even.count = static_cast<uint16_t>(to_even - even.pkts);
  odd.count = static_cast<uint16_t>(to_odd - odd.pkts);
}

template <class Reduce>
void scatter(const TxTable& table, port::TxBuffer* by_port, rte_mbuf* const* pkts, const uint32_t* hashes, uint16_t n,
             Reduce reduce) noexcept {
  for (uint16_t i = 0; i < n; ++i) {
    port::TxBuffer& buffer = by_port[table.port[reduce(hashes[i])]];
    buffer.pkts[buffer.count++] = pkts[i];
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
