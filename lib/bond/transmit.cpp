#include "lib/bond/transmit.hpp"

#include <algorithm>

#include "lib/bond/mode_ab.hpp"
#include "lib/bond/mode_broadcast.hpp"
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
  units[static_cast<size_t>(Mode::ieee8023ad)] = transmit_xor;
  units[static_cast<size_t>(Mode::balance_tlb)] = transmit_tlb;
  units[static_cast<size_t>(Mode::balance_alb)] = transmit_alb;
  return units;
}();

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

uint16_t transmit(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                  uint16_t n) noexcept {
  if (table.usable == 0) {
    return 0;
  }
  return kUnits[static_cast<size_t>(table.mode)](table, state, path, by_port, pkts, n);
}

}  // namespace xbond::bond
