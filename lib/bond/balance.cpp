// balance-tlb and balance-alb: when channels are assigned anew and learning packets are due (bond_alb_monitor,
// bond_alb_handle_link_change in drivers/net/bonding/bond_alb.c).
#include "lib/bond/state.hpp"

namespace xbond::bond {

std::vector<Channels::Carrier> State::carriers() const {
  std::vector<Channels::Carrier> all;
  for (const Member& m : members) {
    if (usable(m)) all.push_back({.port = m.port, .speed_mbps = known_speed(m.report), .active = is_active(m)});
  }
  return all;
}

void State::balance(uint64_t now) {
  if (!is_load_balancing(params.mode) || !up) return;
  if (params.tlb_dynamic_lb && now >= rebalance_at_ms) {
    rebalance_at_ms = now + kRebalanceSeconds * 1000;
    channels.rebalance(carriers());
  }
  if (now >= learning_at_ms) {
    learn |= learning_at_ms != 0;
    learning_at_ms = now + uint64_t{params.lp_interval} * 1000;
  }
}

}  // namespace xbond::bond
