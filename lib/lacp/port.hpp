// A port's variables: what the machines of 802.1AX read and write. Inside the room only; others see lacp.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/lacp/counters.hpp"
#include "lib/lacp/history.hpp"
#include "lib/lacp/link_key.hpp"
#include "lib/lacp/marker.hpp"
#include "lib/lacp/pdu.hpp"
#include "lib/lacp/types.hpp"

namespace xbond::lacp {

// Ports that agree in key, speed and partner. Each port brings one along, as in Linux, so there is always a free one.
struct Aggregator {
  uint16_t id = 0;
  bool active = false;      // carries the bond's traffic; at most one does
  bool individual = false;  // half duplex, or a partner that does not aggregate: one port
  uint16_t actor_key = 0;
  uint32_t speed_mbps = 0;  // beside the key: speeds without a code share the key's code 0
  Mac partner_system{};
  uint16_t partner_system_priority = 0;
  uint16_t partner_key = 0;

  [[nodiscard]] bool has_partner() const noexcept { return partner_system != Mac{}; }
};

// What the partner is taken for while it has not spoken (Linux's partner_admin).
inline constexpr Info kDefaultPartner{65535, Mac{}, 1, 255, 1, 0};

// Grouped by machine, for the reader; a bond has 16 of them at most, so padding costs nothing.
struct Port {       // NOLINT(clang-analyzer-optin.performance.Padding)
  uint16_t id = 0;  // the caller's
  Mac permanent_mac{};
  Link link;

  Info actor;                        // operational
  Info partner = kDefaultPartner;    // operational
  bool enabled = false;              // the link can carry frames
  bool lacp_enabled = false;         // … and LACP: full duplex
  bool begin = true;                 // start over at the next tick
  bool selected = false;             //
  bool matched = false;              // the partner knows us
  bool ntt = false;                  // need to transmit
  bool churn_restart = false;        //
  bool rate_unacknowledged = false;  // we asked for fast PDUs at run time; the partner has not heard it yet
  Aggregator own;                    // the one that this port brings along
  Aggregator* aggregator = nullptr;  // the one that it belongs to

  ReceiveState receive = ReceiveState::initialize;
  Time current_while = kNever;  // when the partner's information runs out
  Time last_pdu = 0;
  PeriodicState periodic = PeriodicState::no_periodic;
  Time periodic_due = kNever;
  MuxState mux = MuxState::detached;
  Time wait_while = kNever;
  ChurnState actor_churn = ChurnState::monitor;
  ChurnState partner_churn = ChurnState::monitor;
  Time actor_churn_due = kNever;
  Time partner_churn_due = kNever;
  uint16_t actor_churn_count = 0;
  uint16_t partner_churn_count = 0;

  MarkerResponder marker;
  Counters counters;
  Refused refused;
  Time last_loopback_notice = 0;
  History history;

  // The link works and the machines have caught up with it.
  [[nodiscard]] bool running() const noexcept { return enabled && !begin; }
  [[nodiscard]] bool in_active_aggregator() const noexcept { return aggregator != nullptr && aggregator->active; }

  template <class From, class To>
  void note(Time now, Machine machine, From from, To to, Reason reason) noexcept {
    history.add({now, machine, reason, static_cast<uint16_t>(from), static_cast<uint16_t>(to)});
  }
};

using Ports = std::vector<std::unique_ptr<Port>>;  // in the order of enslaving

}  // namespace xbond::lacp
