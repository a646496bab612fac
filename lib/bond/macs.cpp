// Which MAC address each member carries: the bond's in most modes, its own in some (fail_over_mac, balance-tlb and
// balance-alb), where the active member has the bond's (drivers/net/bonding: bond_do_fail_over_mac, alb_swap_mac_addr).
#include <algorithm>
#include <utility>

#include "lib/bond/state.hpp"

namespace xbond::bond {

State::MacRule State::mac_rule() const {
  if (is_load_balancing(params.mode)) return MacRule::active_has_it;
  if (params.mode != Mode::active_backup) return MacRule::all_have_it;
  switch (params.fail_over_mac) {
    case FailOverMac::active:
      return MacRule::bond_has_theirs;
    case FailOverMac::follow:
      return MacRule::active_has_it;
    case FailOverMac::none:
      break;
  }
  return MacRule::all_have_it;
}

void State::mac_of_new(Member& m) {
  if (members.empty() && !mac_is_set) mac = m.permanent_mac;
  m.mac = mac_rule() == MacRule::all_have_it ? mac : m.permanent_mac;
}

void State::mac_of_active(Member* before, Member& chosen) {
  switch (mac_rule()) {
    case MacRule::all_have_it:
      return;
    case MacRule::bond_has_theirs:
      mac = chosen.mac;
      return;
    case MacRule::active_has_it:
      break;
  }
  if (chosen.mac == mac) return;
  if (before == nullptr || before->mac != mac) {
    const auto has_it = [&](const Member& m) { return m.mac == mac; };
    const auto it = std::find_if(members.begin(), members.end(), has_it);
    before = it != members.end() ? &*it : nullptr;
  }
  if (before != nullptr) before->mac = chosen.mac;
  chosen.mac = mac;
}

void State::set_mac(const Mac& wanted) {
  const Mac before = std::exchange(mac, wanted);
  mac_is_set = true;
  for (Member& m : members) {
    if (mac_rule() == MacRule::all_have_it || m.mac == before) m.mac = wanted;
  }
}

}  // namespace xbond::bond
