// What a Bond holds, and the rules that change it. Inside of the room: others include bond.hpp. Thread: the bond's
// writer. Monotonic milliseconds are passed in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/bond/bond.hpp"
#include "lib/bond/options.hpp"

namespace xbond::bond {

using Log = std::vector<std::string>;

// As the kernel's BOND_LINK_*: fail and back are the times of downdelay and updelay.
enum class Link : uint8_t { up, fail, down, back };

struct Member {
  uint16_t port = 0;
  std::string name;
  Mac permanent_mac{};
  LinkReport report;  // as last told
  Link link = Link::down;
  uint64_t since_ms = 0;     // fail, back: when it began
  uint64_t deadline_ms = 0;  // fail, back: when it ends
  uint32_t failures = 0;
  int32_t prio = 0;
};

// Delays are kept in steps of miimon, so that they scale with it as in the kernel.
struct Params {
  Mode mode = Mode::balance_rr;
  Policy policy = Policy::layer2;
  Reselect reselect = Reselect::always;
  bool all_slaves_active = false;
  uint8_t num_peer_notif = 1;
  uint32_t packets_per_slave = 1;
  uint32_t miimon = 100;
  uint32_t updelay = 0, downdelay = 0, peer_notif_delay = 0;
  std::string primary;  // may name a device that is not a member (yet)

  [[nodiscard]] uint64_t ms(uint32_t steps) const { return uint64_t{steps} * miimon; }
};

// What others act on; two of them tell what a call changed.
struct View {
  TxTable table;
  bool up = false;
  bool carrier = false;
  std::optional<uint16_t> active;
  std::vector<uint16_t> inactive;
};

struct State {
  std::string name;
  uint8_t index = 0;
  bool up = false;
  Params params;
  std::vector<Member> members;     // in order of enslaving
  std::vector<uint16_t> ports;     // theirs
  std::optional<uint16_t> active;  // every mode has one: the kernel's curr_active_slave
  bool link_carrier = false;       // some member can transmit; the bond's own up or down does not count
  bool force_primary = false;      // the next choice takes the primary whatever primary_reselect says
  Mac mac{};
  bool mac_is_set = false;  // by set_mac: members don't change it

  [[nodiscard]] const Member* find(uint16_t port) const;
  [[nodiscard]] Member* find(uint16_t port);
  [[nodiscard]] const Member* find(std::string_view member) const;
  [[nodiscard]] const Member* primary() const { return find(params.primary); }
  [[nodiscard]] bool is_active(const Member& m) const { return active == m.port; }

  // --- members.cpp
  Status add(NewMember added, uint64_t now, Log& log);
  Status remove(uint16_t port, uint64_t now, Log& log);

  // --- usable.cpp
  // Can carry frames, were the bond up.
  [[nodiscard]] bool usable(const Member& m) const;
  [[nodiscard]] bool any_usable() const;
  [[nodiscard]] bool inactive(const Member& m) const;
  [[nodiscard]] TxTable table() const;
  [[nodiscard]] View view() const;
  [[nodiscard]] Changes since(const View& before, Log log) const;

  // --- select.cpp
  // Makes the best member the active one (the kernel's bond_select_active_slave).
  void select_active(uint64_t now, Log& log);
  void change_active(Member* chosen, uint64_t now, Log& log);
  // True when link_carrier changed.
  bool set_carrier();
  void update_carrier(Log& log);  // and tells

  // --- monitor.cpp
  // Brings every member's link state up to what was reported, and runs delays that ended. Nothing while the bond is
  // down or miimon is 0, as in the kernel.
  void monitor(uint64_t now, Log& log);
  void start_delay(Member& m, Link link, uint64_t now) const;
  [[nodiscard]] std::optional<uint64_t> next_deadline() const;

  // --- set.cpp
  Status set(const Option& option, std::string_view value, uint64_t now, Log& log);
  Status set_of_member(Member& m, const Option& option, std::string_view value, uint64_t now, Log& log);

 private:
  [[nodiscard]] Member* best();
  [[nodiscard]] Member* primary_or_current();
  [[nodiscard]] Link inspect(Member& m, bool& skip_updelay, uint64_t now, Log& log) const;
  // True when the active member has to be chosen anew.
  [[nodiscard]] bool commit(Member& m, Link link, Log& log);
  bool monitor_pass(uint64_t now, Log& log);

  [[nodiscard]] Status check_dependencies(const Option& option) const;
  Status set_number(const Option& option, std::string_view value, uint64_t now, Log& log);
  Status set_device(const Option& option, std::string_view value, uint64_t now, Log& log);
  void set_miimon(uint32_t miimon, uint64_t now, Log& log);
  Status set_delay(std::string_view what, uint32_t& steps, int64_t value, Log& log) const;
  void set_primary(std::string device, uint64_t now, Log& log);
  Status set_active(const std::string& device, uint64_t now, Log& log);
};

// "(slave NAME): " and the text, as the kernel's slave_info() puts it.
[[nodiscard]] std::string about(const Member& m, std::string_view text);
[[nodiscard]] std::string mac_text(const Mac& mac);
// 0: unknown. Some drivers say UINT32_MAX.
[[nodiscard]] uint32_t known_speed(const LinkReport& report);

// --- show.cpp
[[nodiscard]] std::string show_text(const State& state, std::string_view kernel_release);
[[nodiscard]] std::string show_json(const State& state);

}  // namespace xbond::bond
