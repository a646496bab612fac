// What a Bond holds, and the rules that change it. Inside of the room: others include bond.hpp. Thread: the bond's
// writer. Monotonic milliseconds are passed in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/json.hpp"
#include "lib/bond/bond.hpp"
#include "lib/bond/channels.hpp"
#include "lib/bond/clients.hpp"
#include "lib/bond/options.hpp"
#include "lib/lacp/lacp.hpp"

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
  Mac mac{};                 // what it should carry
  // ARP monitor: when it was last heard of, when it last asked, when it came up; each target's last answer.
  uint64_t last_rx_ms = 0, last_tx_ms = 0, last_up_ms = 0;
  std::array<uint64_t, kMaxTargets> arp_rx_ms{}, ns_rx_ms{};
  uint32_t failures = 0;
  int32_t prio = 0;
  uint16_t queue_id = 0;
  uint16_t actor_port_prio = 255;
  bool distributing = false;  // 802.3ad: as last told in the log
};

// 802.3ad's machines.
struct Aggregation {
  lacp::Group group;
  Mac mac{};  // the bond's, as the group knows it
};

// What others act on; two of them tell what a call changed.
struct View {
  TxTable table;
  bool up = false;
  bool carrier = false;
  std::optional<uint16_t> active;
  std::vector<uint16_t> inactive;
  Mac mac{};
  std::vector<std::pair<uint16_t, Mac>> macs;
  std::optional<uint16_t> promiscuous;
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
  bool mac_is_set = false;            // by set_mac: members don't change it
  std::optional<uint16_t> candidate;  // ARP monitor, while none is active: who asks (the kernel's current_arp_slave)
  uint64_t arp_at_ms = 0;             // its next round
  std::vector<uint16_t> probes;       // members that are to ask, until since() takes them
  Addresses addresses;                // the host's, on the bond
  Channels channels;                  // balance-tlb, balance-alb
  uint64_t rebalance_at_ms = 0;
  uint64_t learning_at_ms = 0;
  Clients clients;                    // balance-alb
  uint64_t clients_at_ms = 0;         // their next round
  std::vector<Teach> teach;           // until since() takes them
  uint64_t promiscuous_until_ms = 0;  // balance-alb: while the active member hears what was for another one; 0: not
  bool learn = false;                 // learning packets are due, until since() takes it
  std::optional<Aggregation> lacp;    // in 802.3ad
  lacp::Send send_pdu;                // where its frames go

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
  // What changed, with what is to be sent.
  [[nodiscard]] Changes since(const View& before, Log log, uint64_t now);

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

  // --- arp_monitor.cpp, arp_receive.cpp
  void arp_monitor(uint64_t now, Log& log);                                // a round, when it is time
  void start_arp(Member& m, uint64_t now) const;                           // a new member: nothing heard yet
  void saw_frames(Member& m, uint64_t now) const;                          // it received something
  void received(Member& m, std::span<const uint8_t> frame, uint64_t now);  // ARP or neighbour discovery

  // --- balance.cpp: balance-tlb, balance-alb
  void balance(uint64_t now);  // when it is time, or the members changed
  [[nodiscard]] std::vector<Channels::Carrier> carriers() const;

  // --- balance_receive.cpp: balance-alb
  void balance_receive(uint64_t now);                                         // a round, when it is time
  void members_changed(const View& before, const View& after, uint64_t now);  // what it means for the clients
  std::optional<uint16_t> host_arp(std::span<uint8_t> frame, uint64_t now);
  [[nodiscard]] std::optional<uint16_t> promiscuous() const;

  // --- macs.cpp
  void set_mac(const Mac& wanted);
  void mac_of_new(Member& m);                          // before it is among the members
  void mac_of_active(Member* before, Member& chosen);  // it becomes the active one

  // --- aggregation.cpp
  // Tells the group what changed. The last step of every call that changes the bond.
  void sync_lacp(uint64_t now, Log& log);
  void tick_lacp(uint64_t now);
  lacp::Outcome receive_slow(uint16_t port, std::span<const uint8_t> frame, uint64_t now);
  [[nodiscard]] std::optional<uint64_t> lacp_deadline_ms() const;
  [[nodiscard]] bool distributing(uint16_t port) const;

  // --- set.cpp
  Status set(const Option& option, std::string_view value, uint64_t now, Log& log);
  Status set_of_member(Member& m, const Option& option, std::string_view value, uint64_t now, Log& log);

 private:
  enum class MacRule : uint8_t {
    all_have_it,      // every member carries the bond's
    active_has_it,    // the active one does, others their own
    bond_has_theirs,  // the bond carries the active one's
  };
  [[nodiscard]] MacRule mac_rule() const;
  void fill_channels(TxTable& table) const;
  struct ClientMembers;
  [[nodiscard]] ClientMembers client_members() const;
  [[nodiscard]] bool within(uint64_t last, uint64_t intervals, uint64_t now) const;
  [[nodiscard]] uint64_t last_rx(const Member& m) const;
  [[nodiscard]] bool validates(const Member& m) const;
  void probe(Member& m, uint64_t now);
  static void count_failure(Member& m);
  void arp_balancing(uint64_t now, Log& log);
  [[nodiscard]] Link arp_backup_state(const Member& m, uint64_t now) const;
  void arp_backup_inspect(uint64_t now, Log& log);
  void arp_backup_probe(uint64_t now, Log& log);
  void accept(Member& m, const Ipv4& from, const Ipv4& to, uint64_t now) const;
  void accept(Member& m, const Ipv6& from, const Ipv6& to, uint64_t now) const;
  void set_mode(Mode mode, Log& log);
  void set_arp_interval(uint32_t interval, uint64_t now, Log& log);
  void sync_lacp_ports(lacp::Time now, Log& log);
  void tell_lacp(Log& log);
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

// --- show_8023ad.cpp: the kernel's lines for 802.3ad, and the same as JSON members
void show_8023ad(const State& state, std::string& out);
void show_8023ad_member(const State& state, const Member& m, std::string& out);
void json_8023ad(const State& state, json::Writer& w);
void json_8023ad_member(const State& state, const Member& m, json::Writer& w);

// --- show_lacp.cpp: all that the machines know
[[nodiscard]] std::string lacp_table(const State& state, uint64_t now_ms);
[[nodiscard]] std::string lacp_json(const State& state, uint64_t now_ms);

}  // namespace xbond::bond
