// The inside of a Group: its ports, and the order in which their machines run. Inside the room only.
#pragma once

#include <array>
#include <cstddef>

#include "lib/lacp/history.hpp"
#include "lib/lacp/lacp.hpp"
#include "lib/lacp/port.hpp"
#include "lib/lacp/transmit.hpp"

namespace xbond::lacp {

struct Group::State {
  Mac bond_mac{};
  Options options;
  Send send;
  bool up = false;
  Time latest = 0;  // time never runs backwards
  Time next_tick = 0;
  Time select_due = kNever;
  Ports ports;
  Wires wires;
  uint16_t last_aggregator_id = 0;
  uint16_t active_id = 0;  // the active aggregator's, 0 for none: to notice a change
  Counters departed;       // of ports that left
  History history;

  std::array<uint16_t, kMaxPorts> usable{};
  std::size_t usable_count = 0;
  std::array<uint16_t, kMaxPorts> collecting{};
  std::size_t collecting_count = 0;
  bool carrier = false;
  Changes changes;

  [[nodiscard]] const Mac& system() const noexcept;
  [[nodiscard]] Port* find(uint16_t id) const noexcept;
  Time advance(Time now) noexcept;
  void notify(Notice::Kind kind, uint16_t port) noexcept;

  // The port's part in the bond's traffic.
  [[nodiscard]] bool may_collect(const Port& port) const noexcept;
  [[nodiscard]] bool may_distribute(const Port& port) const noexcept;
  // Brings usable, collecting and carrier up to date. At the end of every call that may change them.
  void refresh() noexcept;

  void choose_active(Time now, Reason why = Reason::better_aggregator) noexcept;
  void run_machines(Time now);
  void run_port(Port& port, Time now);

  void transmit(Port& port, Time now);      // if it wants and may
  void transmit_all(Time now);              //
  void say_farewell(Port& port, Time now);  // at once, or as soon as the limit allows
  void send_farewells(Time now);
  void restart(Port& port, Time now);  // BEGIN at the next tick
  void halt(Port& port, Time now);     // the bond goes down: BEGIN's states, until it is opened again

  void apply_link(Port& port, const Link& link, Time now);
  void update_actor(Port& port) noexcept;
  Outcome take(Port& port, std::span<const uint8_t> frame, Time now);
  Outcome take_lacpdu(Port& port, const Pdu& pdu, Time now);
  Outcome answer_marker(Port& port, std::span<const uint8_t> frame, Time now);
  [[nodiscard]] uint16_t next_port_number() const noexcept;
  [[nodiscard]] uint16_t next_aggregator_id() noexcept;
};

}  // namespace xbond::lacp
