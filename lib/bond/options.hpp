// The options of a bond and of its members: names, values, ranges and what they depend on, in one table. Numbers are
// Linux's (drivers/net/bonding/bond_options.c, include/uapi/linux/if_bonding.h). No state here. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bpf_compat/result.hpp"
#include "lib/bond/params.hpp"

namespace xbond::bond {

enum class OptionId : uint8_t {
  mode,
  packets_per_slave,
  xmit_hash_policy,
  miimon,
  updelay,
  downdelay,
  peer_notif_delay,
  num_peer_notif,
  primary,
  primary_reselect,
  active_slave,
  fail_over_mac,
  all_slaves_active,
  resend_igmp,
  lp_interval,
  tlb_dynamic_lb,
  arp_interval,
  arp_ip_target,
  ns_ip6_target,
  arp_validate,
  arp_all_targets,
  arp_missed_max,
  lacp_rate,
  lacp_active,
  ad_select,
  ad_actor_sys_prio,
  ad_actor_system,
  ad_user_port_key,
  coupled_control,
  broadcast_neighbor,
  min_links,
  xdp_sees_slow_protocols,
  prio,
  queue_id,
  actor_port_prio,
};

enum class ValueKind : uint8_t {
  choice,   // one of the named values
  number,   // min..max, some numbers with a name
  device,   // a member's name; empty or `default`: none
  targets,  // addresses (targets.hpp)
  mac,      // a unicast Ethernet address; `default`: none
};

struct NamedValue {
  std::string_view name;
  int64_t value = 0;
  bool available = true;  // false: Linux has it, this program does not yet
};

struct Option {
  OptionId id{};
  std::string_view name;
  std::string_view help;
  ValueKind kind = ValueKind::number;
  bool of_member = false;
  bool no_members = false;  // can't change while the bond has members
  bool only_down = false;   // can't change while the bond is up
  uint8_t modes = 0xff;     // bit per Mode in which it can be set
  std::span<const NamedValue> names;
  int64_t standard = 0;  // the word `default`
  int64_t min = 0, max = 0;

  [[nodiscard]] constexpr bool allowed_in(Mode mode) const { return (modes >> static_cast<unsigned>(mode) & 1U) != 0; }
};

inline constexpr size_t kMaxDeviceName = 63;  // what an ethdev's name can hold

// In the order in which help and completion show them.
[[nodiscard]] std::span<const Option> all_options();
// nullptr: there is none of that name.
[[nodiscard]] const Option* find_option(std::string_view name, bool of_member);
// An available or unavailable value's name; "" when the number has none. For choices.
[[nodiscard]] std::string_view value_name(OptionId id, int64_t value);

// By name, number or the word `default`; blanks around it are ignored. For choices and numbers.
// EINVAL with the allowed values, EOPNOTSUPP for what Linux has and this program has not.
[[nodiscard]] Result<int64_t> parse_value(const Option& option, std::string_view text);

// Without the blanks around it.
[[nodiscard]] std::string_view trim(std::string_view text);

// For ValueKind::device: the name without blanks around it, empty for none. EINVAL: too long or not printable.
[[nodiscard]] Result<std::string> parse_device(const Option& option, std::string_view text);

// For ValueKind::mac: all zero for `default`. EINVAL: not an address of one station.
[[nodiscard]] Result<std::array<uint8_t, 6>> parse_mac(const Option& option, std::string_view text);

// `text` as it can stand in a one-line message: cut, and without control characters.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace xbond::bond
