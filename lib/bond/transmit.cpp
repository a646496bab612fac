#include "lib/bond/transmit.hpp"

#include <algorithm>

#include "lib/bond/mode_ab.hpp"
#include "lib/bond/mode_broadcast.hpp"
#include "lib/bond/mode_lacp.hpp"
#include "lib/bond/mode_rr.hpp"
#include "lib/bond/mode_tlb.hpp"
#include "lib/bond/mode_xor.hpp"
#include "lib/bond/modulo.hpp"

namespace xbond::bond {
namespace {

// By mode number.
constexpr std::array<ModeUnit, kModeCount> kUnits = [] {
  std::array<ModeUnit, kModeCount> units{};
  units[static_cast<size_t>(Mode::balance_rr)] = transmit_rr;
  units[static_cast<size_t>(Mode::active_backup)] = transmit_ab;
  units[static_cast<size_t>(Mode::balance_xor)] = transmit_xor;
  units[static_cast<size_t>(Mode::broadcast)] = transmit_broadcast;
  units[static_cast<size_t>(Mode::ieee8023ad)] = transmit_lacp;
  units[static_cast<size_t>(Mode::balance_tlb)] = transmit_tlb;
  units[static_cast<size_t>(Mode::balance_alb)] = transmit_alb;
  return units;
}();

uint16_t by_mode(const TxTable& table, LcoreState* states, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                 uint16_t n) noexcept {
  return kUnits[static_cast<size_t>(table.mode)](table, states[table.bond_index], path, by_port, pkts, n);
}

// What the outer bond gave to an inner one goes on by the inner one's own mode.
void pass_on(const TxTable& inner, LcoreState* states, Path path, port::TxBuffer* by_port,
             port::TxBuffer& given) noexcept {
  const uint16_t n = given.count;
  given.count = 0;
  if (n == 0) {
    return;
  }
  if (transmit(inner, states, path, by_port, given.pkts, n) != 0) {
    port::count_up(given.sent, n);
  } else {
    port::drop(given, given.pkts, n);
  }
}

// Buffers of bonds are nobody's to flush, so they must not become full: they get a little less than that at a time.
// Each flow's frames stay in order, since all of one piece is passed on before the next.
[[gnu::noinline]] uint16_t transmit_nested(const TxTable& table, LcoreState* states, Path path, port::TxBuffer* by_port,
                                           rte_mbuf** pkts, uint16_t n) noexcept {
  constexpr uint16_t kPiece = port::kFlushAt - 1;
  for (uint16_t at = 0; at < n; at += kPiece) {
    const uint16_t piece = std::min<uint16_t>(kPiece, n - at);
    if (by_mode(table, states, path, by_port, pkts + at, piece) == 0) {
      return 0;  // not for a later piece only: what decides it is in the table
    }
    for (uint16_t i = 0; i < table.usable; ++i) {
      if (table.inner[i] != nullptr) {
        pass_on(*table.inner[i], states, path, by_port, by_port[table.port[i]]);
      }
    }
  }
  return n;
}

}  // namespace

void TxTable::seal() noexcept {
  usable = std::min(usable, kMaxMembers);
  packets_per_slave = std::min(packets_per_slave, kMaxPacketsPerSlave);
  divide = usable != 0 ? modulo_magic(usable) : 0;
  // Linux sends IGMP by the first that can transmit where none is active.
  auto* const end = port.begin() + usable;
  igmp = active == port::kNoPort ? 0 : static_cast<uint16_t>(std::find(port.begin(), end, active) - port.begin());
  for (uint8_t& member : channel) {
    member = member < usable ? member : 0;
  }
  two_in_turn = usable == 2 && packets_per_slave == 1 && igmp < 2;
}

uint16_t transmit(const TxTable& table, LcoreState* states, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                  uint16_t n) noexcept {
  if (table.usable == 0) {
    return 0;
  }
  return table.nested ? transmit_nested(table, states, path, by_port, pkts, n)
                      : by_mode(table, states, path, by_port, pkts, n);
}

}  // namespace xbond::bond
