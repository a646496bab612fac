#include "lib/bond/mode_broadcast.hpp"

namespace xbond::bond {
namespace {

// Every segment has a count of its own: whoever frees the frame gives each of them back.
void share(rte_mbuf* frame, int16_t more) noexcept {
  for (rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    rte_mbuf_refcnt_update(segment, more);
  }
}

}  // namespace

// One frame in several queues instead of copies: drivers only read what they send. (So MBUF_FAST_FREE is off.)
uint16_t transmit_broadcast(const TxTable& table, LcoreState& /*state*/, Path /*path*/, port::TxBuffer* by_port,
                            rte_mbuf** pkts, uint16_t n) noexcept {
  if (table.usable > 1) {
    const auto more = static_cast<int16_t>(table.usable - 1);
    for (uint16_t i = 0; i < n; ++i) {
      share(pkts[i], more);
    }
  }
  for (uint16_t member = 0; member < table.usable; ++member) {
    port::append(by_port[table.port[member]], pkts, n);
  }
  return n;
}

}  // namespace xbond::bond
