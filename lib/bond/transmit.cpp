#include "lib/bond/transmit.hpp"

#include <algorithm>

#include "lib/bond/mode_ab.hpp"
#include "lib/bond/mode_rr.hpp"
#include "lib/bond/mode_xor.hpp"
#include "lib/bond/modulo.hpp"

namespace xbond::bond {
namespace {

// By mode number; a mode that is not here has no packet path.
constexpr std::array<ModeUnit, 3> kUnits = [] {
  std::array<ModeUnit, 3> units{};
  units[static_cast<size_t>(Mode::balance_rr)] = transmit_rr;
  units[static_cast<size_t>(Mode::active_backup)] = transmit_ab;
  units[static_cast<size_t>(Mode::balance_xor)] = transmit_xor;
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
