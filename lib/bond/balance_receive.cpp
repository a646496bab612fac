// balance-alb: what happens to members, as its clients see it (bond_alb_handle_link_change, alb_fasten_mac_swap,
// rlb_teach_disabled_mac_on_primary in drivers/net/bonding/bond_alb.c).
#include <algorithm>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

constexpr uint64_t kPromiscuousMs = 10'000;  // RLB_PROMISC_TIMEOUT

bool can_transmit(const TxTable& table, uint16_t port) {
  const auto* const end = table.port.begin() + table.usable;
  return std::find(table.port.begin(), end, port) != end;
}

}  // namespace

struct State::ClientMembers {
  std::vector<Clients::Carrier> carriers;
  std::vector<Mac> own;
  Mac bond{};
  uint16_t active = port::kNoPort;

  [[nodiscard]] Clients::Members span() const {
    return {.carriers = carriers, .own = own, .bond = bond, .active = active};
  }
};

State::ClientMembers State::client_members() const {
  ClientMembers all{.carriers = {}, .own = {}, .bond = mac, .active = table().active};
  for (const Member& m : members) {
    all.own.push_back(m.mac);
    if (up && usable(m)) all.carriers.push_back({.port = m.port, .speed_mbps = known_speed(m.report), .mac = m.mac});
  }
  return all;
}

std::optional<uint16_t> State::host_arp(std::span<uint8_t> frame, uint64_t now) {
  if (params.mode != Mode::balance_alb || !up) return std::nullopt;
  const ClientMembers all = client_members();
  return clients.sent(frame, all.span(), now);
}

std::optional<uint16_t> State::promiscuous() const {
  return promiscuous_until_ms != 0 ? active : std::nullopt;
}

void State::balance_receive(uint64_t now) {
  if (params.mode != Mode::balance_alb || !up) return;
  if (promiscuous_until_ms != 0 && now >= promiscuous_until_ms) promiscuous_until_ms = 0;
  if (!clients.busy() || now < clients_at_ms) return;
  const ClientMembers all = client_members();
  clients.round(all.span(), now);
  clients_at_ms = now + kAlbRoundMs;
}

void State::members_changed(const View& before, const View& after, uint64_t now) {
  if (params.mode != Mode::balance_alb || !up) {
    clients.clear();
    promiscuous_until_ms = 0;
    return;
  }
  // Ends with the active member whose turn it was (bond_alb_handle_active_change).
  if (before.active != after.active) promiscuous_until_ms = 0;
  const bool was_busy = clients.busy();
  const ClientMembers all = client_members();
  for (uint16_t i = 0; i < before.table.usable; ++i) {
    if (!can_transmit(after.table, before.table.port[i])) clients.lost(before.table.port[i], all.span());
  }
  for (uint16_t i = 0; i < after.table.usable; ++i) {
    if (!can_transmit(before.table, after.table.port[i])) clients.order_rebalance();
  }
  // Peers go on sending to the address of a member that is down: the active one takes it over for a while.
  const auto take_over = [&](const Mac& address) {
    if (after.table.active == port::kNoPort || address == mac) return;
    teach.push_back({.port = after.table.active, .mac = address});
    promiscuous_until_ms = now + kPromiscuousMs;
  };
  for (const auto& [port, address] : after.macs) {
    const auto had =
        std::find_if(before.macs.begin(), before.macs.end(), [p = port](const auto& m) { return m.first == p; });
    const bool swapped = had != before.macs.end() && had->second != address;
    const bool usable_now = can_transmit(after.table, port);
    if (swapped && usable_now) clients.address_changed(port);
    if (!usable_now && (swapped || can_transmit(before.table, port))) take_over(address);
  }
  for (const auto& [port, address] : before.macs) {
    if (find(port) == nullptr) take_over(address);
  }
  if (!was_busy && clients.busy()) clients_at_ms = now + kAlbRoundMs;
}

}  // namespace xbond::bond
