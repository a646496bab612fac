#include "lib/lacp/types.hpp"

#include <span>

namespace xbond::lacp {

namespace {

using namespace std::string_view_literals;

constexpr std::array kReceive{"INITIALIZE"sv, "PORT_DISABLED"sv, "LACP_DISABLED"sv,
                              "EXPIRED"sv,    "DEFAULTED"sv,     "CURRENT"sv};
constexpr std::array kPeriodic{"NO_PERIODIC"sv, "FAST_PERIODIC"sv, "SLOW_PERIODIC"sv};
constexpr std::array kMux{"DETACHED"sv,   "WAITING"sv,      "ATTACHED"sv,
                          "COLLECTING"sv, "DISTRIBUTING"sv, "COLLECTING_DISTRIBUTING"sv};
constexpr std::array kChurn{"monitoring"sv, "churned"sv, "none"sv};
constexpr std::array kMachine{"link"sv, "receive"sv,     "periodic"sv,      "selection"sv,
                              "mux"sv,  "actor churn"sv, "partner churn"sv, "active aggregator"sv};
constexpr std::array kLink{"down"sv, "up"sv};
constexpr std::array kReason{"port starts"sv,
                             "link up"sv,
                             "link down"sv,
                             "speed, duplex or user key changed"sv,
                             "half duplex"sv,
                             "LACP possible"sv,
                             "PDU received"sv,
                             "no PDU in time"sv,
                             "partner wants fast"sv,
                             "partner wants slow"sv,
                             "both sides passive"sv,
                             "one side active"sv,
                             "partner changed"sv,
                             "partner lost"sv,
                             "joined aggregator"sv,
                             "no aggregator selected"sv,
                             "wait over"sv,
                             "partner in sync"sv,
                             "partner out of sync"sv,
                             "partner collects"sv,
                             "partner does not collect"sv,
                             "aggregator not active"sv,
                             "coupled_control changed"sv,
                             "in sync"sv,
                             "no sync in time"sv,
                             "sync lost"sv,
                             "better aggregator"sv,
                             "no aggregator with a link"sv,
                             "member left"sv,
                             "bond set down"sv};
static_assert(kReason.size() == static_cast<std::size_t>(Reason::administrative) + 1);
static_assert(kMachine.size() == static_cast<std::size_t>(Machine::choice) + 1);

std::string_view pick(std::span<const std::string_view> names, std::size_t index) noexcept {
  return index < names.size() ? names[index] : std::string_view{};
}

}  // namespace

std::string_view name(ReceiveState value) noexcept {
  return pick(kReceive, static_cast<std::size_t>(value));
}
std::string_view name(PeriodicState value) noexcept {
  return pick(kPeriodic, static_cast<std::size_t>(value));
}
std::string_view name(MuxState value) noexcept {
  return pick(kMux, static_cast<std::size_t>(value));
}
std::string_view name(ChurnState value) noexcept {
  return pick(kChurn, static_cast<std::size_t>(value));
}
std::string_view name(Machine value) noexcept {
  return pick(kMachine, static_cast<std::size_t>(value));
}
std::string_view name(Reason value) noexcept {
  return pick(kReason, static_cast<std::size_t>(value));
}

std::string_view state_name(Machine machine, uint16_t value) noexcept {
  switch (machine) {
    case Machine::link:
      return pick(kLink, value);
    case Machine::receive:
      return pick(kReceive, value);
    case Machine::periodic:
      return pick(kPeriodic, value);
    case Machine::mux:
      return pick(kMux, value);
    case Machine::actor_churn:
    case Machine::partner_churn:
      return pick(kChurn, value);
    case Machine::selection:
    case Machine::choice:
      break;
  }
  return {};
}

}  // namespace xbond::lacp
