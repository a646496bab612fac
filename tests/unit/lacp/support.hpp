// What the tests of the room share: recordings, ports, and a world of groups joined by simulated wires.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/lacp/lacp.hpp"
#include "lib/lacp/port.hpp"

namespace xbond::lacp {

// A frame of a recording; time from the recording's first frame on.
struct Recorded {
  Time at = 0;
  std::vector<uint8_t> bytes;

  [[nodiscard]] Mac source() const { return {bytes[6], bytes[7], bytes[8], bytes[9], bytes[10], bytes[11]}; }
};

inline constexpr std::array kRecordings{
    "lacp_fast.tcg-s0.pcap",      "lacp_fast.tcg-s1.pcap",      "lacp_mute.uml-s0.pcap", "lacp_mute.uml-s1.pcap",
    "lacp_passive.uml-s0.pcap",   "lacp_passive.uml-s1.pcap",   "lacp_slow.tcg-s0.pcap", "lacp_slow.tcg-s1.pcap",
    "lacp_slow_fast.uml-s0.pcap", "lacp_slow_fast.uml-s1.pcap", "live.tcg-ora0.pcap",    "live.tcg-ora1.pcap"};

// Empty when the file is missing or damaged.
std::vector<Recorded> read_pcap(const std::string& name);

inline constexpr Link k10G{true, 10000, true};
inline constexpr Link kDown{};

constexpr Mac system_mac(uint8_t node) {
  return {0x02, 0xaa, 0, 0, 0, node};
}
constexpr Mac port_mac(uint8_t node, uint8_t port) {
  return {0x02, 0, 0, 0, node, port};
}

// A port whose link is up, past BEGIN, before the first step of any machine.
Port fresh_port(uint16_t number = 1);
// What a partner that agrees with `port` sends.
Pdu pdu_from_partner(const Port& port, uint8_t partner_state, uint8_t system = 0xbb, uint16_t number = 1);

// One PDU as it left.
struct Sent {
  Time at = 0;
  std::size_t node = 0;
  uint16_t port = 0;
  FrameKind kind = FrameKind::lacpdu;
  Pdu pdu;
};

// Groups and wires; time moves from deadline to deadline, so every test runs in virtual time.
class World {
 public:
  struct Pipe {  // one direction
    std::size_t node = 0;
    uint16_t port = 0;
    std::size_t to_node = 0;
    uint16_t to_port = 0;
    Time delay = 100'000;
    std::function<bool(Time)> loses;  // whether a frame sent now is lost
  };

  // Opens the bond at once unless `up` is false. Node numbers count from 0.
  std::size_t add(const Options& options, bool up = true, std::optional<uint8_t> system = std::nullopt);
  void enslave(std::size_t node, uint16_t port, const Link& link = k10G, uint16_t priority = 255);
  // Both directions. Links stay as they were told.
  void wire(std::size_t a, uint16_t port_a, std::size_t b, uint16_t port_b, Time delay = 100'000);
  // Enslaves on both sides and wires.
  void join(std::size_t a, uint16_t port_a, std::size_t b, uint16_t port_b, const Link& link = k10G);
  void cut(std::size_t node, uint16_t port);  // both directions, silently
  Pipe& pipe(std::size_t from_node, uint16_t from_port);
  void link(std::size_t node, uint16_t port, const Link& link) { group(node).link(port, link, now); }
  void set(std::size_t node, const std::function<void(Options&)>& change);

  void run_until(Time until);
  void run_for(Time span) { run_until(now + span); }
  // Until the condition holds; the time it took, or nothing within `limit`.
  std::optional<Time> run_while_not(const std::function<bool()>& condition, Time limit);

  Group& group(std::size_t node) { return *groups_[node]; }
  [[nodiscard]] PortInfo port(std::size_t node, uint16_t port) const { return groups_[node]->port(port).value(); }
  [[nodiscard]] std::size_t usable(std::size_t node) const { return groups_[node]->usable().size(); }
  // LACPDUs that a port sent since `from`.
  [[nodiscard]] std::vector<Sent> sent_by(std::size_t node, uint16_t port, Time from = 0) const;
  // How often a node's usable set changed.
  [[nodiscard]] unsigned usable_changes(std::size_t node) const { return usable_changes_[node]; }

  Time now = kSecond;
  std::vector<Sent> sent;
  // Called after each step of time; for properties.
  std::function<void()> after_step;
  // How much later than its deadline a group is called.
  std::function<Time()> lateness;

 private:
  struct Flying {
    Time at = 0;
    std::size_t node = 0;
    uint16_t port = 0;
    std::vector<uint8_t> bytes;
  };

  void carry(std::size_t node, uint16_t port, std::span<const uint8_t> frame);
  void deliver();
  // When a group will be called: its deadline, and lateness once chosen.
  Time call_time(std::size_t node);

  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<unsigned> usable_changes_;
  std::vector<Time> called_at_;  // when each group is called next
  std::vector<Pipe> pipes_;
  std::deque<Flying> flying_;
};

// No window of one second holds more than three of a port's LACPDUs.
::testing::AssertionResult at_most_three_a_second(const std::vector<Sent>& pdus);

}  // namespace xbond::lacp
