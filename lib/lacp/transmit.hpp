// The transmit machine's brakes: when a LACPDU may leave a port, and the last PDU of one that leaves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/lacp/pdu.hpp"
#include "lib/lacp/types.hpp"

namespace xbond::lacp {

struct Port;

inline constexpr unsigned kMaxPdusPerSecond = 3;
// Spreads three PDUs over their second, so that news never waits longer than this behind older news.
inline constexpr Time kPduSpacing = kSecond / kMaxPdusPerSecond + 1;
// A port that starts is quiet for two ticks (as in Linux), so that its first PDU tells a settled state.
inline constexpr Time kQuietStart = 2 * kTick;

// Times of the last PDUs on one wire. Any window of one second holds three at most, whatever happens.
class TxWindow {
 public:
  // When the next LACPDU may leave; `kNever` does not occur.
  [[nodiscard]] Time next() const noexcept;
  // The same for a last PDU, which waits only for the limit per second.
  [[nodiscard]] Time next_farewell() const noexcept;
  // When none of the past PDUs matters any more.
  [[nodiscard]] Time idle_from() const noexcept { return last_ ? after(*last_, kSecond) : 0; }
  void hold_until(Time at) noexcept { hold_ = at; }
  void sent(Time now) noexcept;

 private:
  std::array<std::optional<Time>, kMaxPdusPerSecond> times_{};
  std::size_t oldest_ = 0;
  std::optional<Time> last_;
  Time hold_ = 0;
};

// One wire, known by its port's id; outlives the membership by what its window still remembers.
struct Wire {
  uint16_t port = 0;
  bool member = false;
  TxWindow window;
  std::optional<Frame> farewell;  // waits for the window
};

// The wires of a group's ports, present and recently past. Bounded: the longest idle past one makes room.
class Wires {
 public:
  static constexpr std::size_t kMax = 64;
  static_assert(kMax > kMaxPorts);

  Wires() { wires_.reserve(kMax); }  // so that references stay
  // The wire of a port that becomes a member: an old one with its window, or a new one. Valid until the next call.
  Wire& enter(uint16_t port);
  // nullptr when there is none.
  Wire* find(uint16_t port) noexcept;
  [[nodiscard]] std::vector<Wire>& all() noexcept { return wires_; }
  [[nodiscard]] const std::vector<Wire>& all() const noexcept { return wires_; }
  // Forgets past wires that have nothing left to remember.
  void expire(Time now) noexcept;

 private:
  std::vector<Wire> wires_;
};

// The PDU that tells a port's present state; `last`: that it leaves.
Pdu pdu_of(const Port& port, bool last) noexcept;

// Whether the port has something to say and may say it, the window aside. A passive port says nothing before its
// partner has spoken.
bool wants_to_send(const Port& port) noexcept;

}  // namespace xbond::lacp
