#include "lib/bond/mode_ab.hpp"

namespace xbond::bond {

uint16_t transmit_ab(const TxTable& table, LcoreState& /*state*/, Path /*path*/, port::TxBuffer* by_port,
                     rte_mbuf** pkts, uint16_t n) noexcept {
  // Members may be usable while none is chosen yet (updelay of the one to come).
  if (table.active == port::kNoPort) {
    return 0;
  }
  port::append(by_port[table.active], pkts, n);
  return n;
}

}  // namespace xbond::bond
