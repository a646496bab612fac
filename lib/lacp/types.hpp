// Names and numbers of 802.1AX that the room and its users share. Time is nanoseconds of any monotonic clock, passed in
// by the caller: the room reads none. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xbond::lacp {

using Time = uint64_t;
inline constexpr Time kMillisecond = 1'000'000;
inline constexpr Time kSecond = 1000 * kMillisecond;
inline constexpr Time kNever = UINT64_MAX;

// Saturates, so that no deadline wraps into the past.
constexpr Time after(Time now, Time delay) noexcept {
  return now > kNever - delay ? kNever : now + delay;
}

// Linux's tick: the machines look at each other once a tick.
inline constexpr Time kTick = 100 * kMillisecond;
inline constexpr Time kFastPeriod = 1 * kSecond;
inline constexpr Time kSlowPeriod = 30 * kSecond;
inline constexpr Time kShortTimeout = 3 * kFastPeriod;
inline constexpr Time kLongTimeout = 3 * kSlowPeriod;
inline constexpr Time kAggregateWait = 2 * kSecond;
inline constexpr Time kChurnDetection = 60 * kSecond;
inline constexpr Time kSelectDelay = 80 * kTick;  // from the first enslaving; 1 tick when the bond opens

using Mac = std::array<uint8_t, 6>;
inline constexpr std::size_t kMaxPorts = 16;  // of one group

// Bits of the state byte in actor and partner information.
namespace state {
inline constexpr uint8_t kActivity = 0x01;
inline constexpr uint8_t kTimeout = 0x02;  // set: short, the owner wants fast PDUs
inline constexpr uint8_t kAggregation = 0x04;
inline constexpr uint8_t kSynchronization = 0x08;
inline constexpr uint8_t kCollecting = 0x10;
inline constexpr uint8_t kDistributing = 0x20;
inline constexpr uint8_t kDefaulted = 0x40;
inline constexpr uint8_t kExpired = 0x80;
// In the order of the bits, from 0x01.
inline constexpr std::array<std::string_view, 8> kNames{"activity",   "timeout",      "aggregation", "synchronization",
                                                        "collecting", "distributing", "defaulted",   "expired"};
}  // namespace state

enum class ReceiveState : uint8_t { initialize, port_disabled, lacp_disabled, expired, defaulted, current };
enum class PeriodicState : uint8_t { no_periodic, fast, slow };  // PERIODIC_TX takes no time, so it is no state here
enum class MuxState : uint8_t { detached, waiting, attached, collecting, distributing, collecting_distributing };
enum class ChurnState : uint8_t { monitor, churned, none };

// What moved, in a history. `link`: 0 down, 1 up; `selection`: aggregator ids, 0 for none; `choice`: ids of the active
// aggregator; the others: their states.
enum class Machine : uint8_t { link, receive, periodic, selection, mux, actor_churn, partner_churn, choice };

enum class Reason : uint8_t {
  begin,                // the port (re)starts: enslaved, bond opened, link came up, key changed
  link_up,              //
  link_down,            //
  speed_changed,        // or duplex, or the user's part of the key
  half_duplex,          // LACP needs full duplex
  lacp_possible,        //
  pdu_received,         //
  timed_out,            // no PDU within the timeout
  partner_fast,         // the partner asks for PDUs each second
  partner_slow,         //
  nobody_active,        // both sides are passive
  somebody_active,      //
  new_partner,          // partner information differs from the recorded one
  partner_lost,         // partner information went back to the defaults
  joined,               // the port was given an aggregator
  not_selected,         // the port belongs to no aggregator
  wait_over,            // wait_while_timer ran out for all ports of the aggregator
  partner_in_sync,      //
  partner_out_of_sync,  //
  partner_collecting,   //
  partner_not_collecting,
  aggregator_inactive,  // another aggregator carries the traffic
  control_changed,      // coupled_control
  still_in_sync,        // when the churn timer ran out, or later
  no_sync,              // the churn timer ran out without synchronization
  sync_lost,            // after it had been reached
  better_aggregator,    // the ad_select policy prefers it
  no_aggregator,        // no port with a link is left
  member_left,          // the aggregator's own port was released; its ports moved
  administrative        // the bond was set down
};

std::string_view name(ReceiveState value) noexcept;
std::string_view name(PeriodicState value) noexcept;
std::string_view name(MuxState value) noexcept;
std::string_view name(ChurnState value) noexcept;  // as /proc/net/bonding has them
std::string_view name(Machine value) noexcept;
std::string_view name(Reason value) noexcept;

// One change of one machine.
struct Transition {
  Time at = 0;
  Machine machine = Machine::link;
  Reason reason = Reason::begin;
  uint16_t from = 0;
  uint16_t to = 0;
};

// The state's name where `value` is a Transition's from or to; for selection and choice empty (it is a number).
std::string_view state_name(Machine machine, uint16_t value) noexcept;

}  // namespace xbond::lacp
