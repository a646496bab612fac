#include "lib/bond/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace xbond::bond {
namespace {

constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();

constexpr uint8_t bit(Mode mode) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(mode));
}
constexpr uint8_t bits(bool (*has)(Mode)) {
  uint8_t modes = 0;
  for (uint8_t mode = 0; mode < kModeCount; ++mode) {
    if (has(static_cast<Mode>(mode))) modes = static_cast<uint8_t>(modes | 1U << mode);
  }
  return modes;
}
constexpr uint8_t kLacp = bit(Mode::ieee8023ad);
constexpr uint8_t kHasPrimary = bits(uses_primary);
constexpr uint8_t kCanArp = bits(can_monitor_by_arp);
constexpr uint8_t kBalancesLoad = bits(is_load_balancing);

constexpr std::array kModes{
    NamedValue{"balance-rr", 0},  NamedValue{"active-backup", 1}, NamedValue{"balance-xor", 2},
    NamedValue{"broadcast", 3},   NamedValue{"802.3ad", 4},       NamedValue{"balance-tlb", 5},
    NamedValue{"balance-alb", 6},
};
constexpr std::array kPolicies{
    NamedValue{"layer2", 0},   NamedValue{"layer3+4", 1}, NamedValue{"layer2+3", 2},
    NamedValue{"encap2+3", 3}, NamedValue{"encap3+4", 4}, NamedValue{"vlan+srcmac", 5},
};
constexpr std::array kReselect{NamedValue{"always", 0}, NamedValue{"better", 1}, NamedValue{"failure", 2}};
constexpr std::array kRate{NamedValue{"slow", 0}, NamedValue{"fast", 1}};
constexpr std::array kSelect{NamedValue{"stable", 0}, NamedValue{"bandwidth", 1}, NamedValue{"count", 2},
                             NamedValue{"actor_port_prio", 3}};
constexpr std::array kFailOverMac{NamedValue{"none", 0}, NamedValue{"active", 1}, NamedValue{"follow", 2}};
constexpr std::array kArpValidate{
    NamedValue{"none", 0},   NamedValue{"active", 1},        NamedValue{"backup", 2},        NamedValue{"all", 3},
    NamedValue{"filter", 4}, NamedValue{"filter_active", 5}, NamedValue{"filter_backup", 6},
};
constexpr std::array kArpAllTargets{NamedValue{"any", 0}, NamedValue{"all", 1}};
constexpr std::array kSwitch{NamedValue{"off", 0}, NamedValue{"on", 1}};
constexpr std::array kOff{NamedValue{"off", 0}};

constexpr std::array kOptions{
    Option{.id = OptionId::mode,
           .name = "mode",
           .help = "how frames are spread over the members",
           .kind = ValueKind::choice,
           .no_members = true,
           .only_down = true,
           .names = kModes},
    Option{.id = OptionId::xmit_hash_policy,
           .name = "xmit_hash_policy",
           .help = "headers that choose the member in balance-xor, 802.3ad, balance-tlb and balance-alb",
           .kind = ValueKind::choice,
           .names = kPolicies},
    Option{.id = OptionId::miimon,
           .name = "miimon",
           .help = "link check interval in milliseconds, 0: members count as up",
           .names = kOff,
           .standard = 100,
           .max = kIntMax},
    Option{.id = OptionId::updelay,
           .name = "updelay",
           .help = "milliseconds before a link that came up is used, a multiple of miimon",
           .names = kOff,
           .max = kIntMax},
    Option{.id = OptionId::downdelay,
           .name = "downdelay",
           .help = "milliseconds before a link that went down is given up, a multiple of miimon",
           .names = kOff,
           .max = kIntMax},
    Option{.id = OptionId::primary,
           .name = "primary",
           .help = "member to prefer as the active one",
           .kind = ValueKind::device,
           .modes = kHasPrimary},
    Option{.id = OptionId::primary_reselect,
           .name = "primary_reselect",
           .help = "when a preferred member that is up again becomes active",
           .kind = ValueKind::choice,
           .names = kReselect},
    Option{.id = OptionId::active_slave,
           .name = "active_slave",
           .help = "member to make active now",
           .kind = ValueKind::device,
           .modes = kHasPrimary},
    Option{.id = OptionId::fail_over_mac,
           .name = "fail_over_mac",
           .help = "which MAC addresses the members of active-backup carry",
           .kind = ValueKind::choice,
           .no_members = true,
           .names = kFailOverMac},
    Option{.id = OptionId::packets_per_slave,
           .name = "packets_per_slave",
           .help = "frames to one member before the next, 0: at random",
           .modes = bit(Mode::balance_rr),
           .standard = 1,
           .max = 65535},
    Option{.id = OptionId::all_slaves_active,
           .name = "all_slaves_active",
           .help = "take what backup members receive",
           .kind = ValueKind::choice,
           .names = kSwitch},
    Option{.id = OptionId::num_peer_notif,
           .name = "num_grat_arp",
           .help = "announcements to peers after a failover",
           .names = kOff,
           .standard = 1,
           .max = 255},
    Option{.id = OptionId::num_peer_notif,
           .name = "num_unsol_na",
           .help = "the same as num_grat_arp",
           .names = kOff,
           .standard = 1,
           .max = 255},
    Option{.id = OptionId::peer_notif_delay,
           .name = "peer_notif_delay",
           .help = "milliseconds between announcements, a multiple of miimon",
           .names = kOff,
           .max = 300000},
    Option{.id = OptionId::lacp_active,
           .name = "lacp_active",
           .help = "off: no LACPDU before the partner sends one",
           .kind = ValueKind::choice,
           .only_down = true,
           .modes = kLacp,
           .names = kSwitch,
           .standard = 1},
    Option{.id = OptionId::lacp_rate,
           .name = "lacp_rate",
           .help = "how often the partner is asked for LACPDUs: each 30 s or each second",
           .kind = ValueKind::choice,
           .only_down = true,
           .modes = kLacp,
           .names = kRate},
    Option{.id = OptionId::ad_select,
           .name = "ad_select",
           .help = "what makes an aggregator the active one",
           .kind = ValueKind::choice,
           .only_down = true,
           .names = kSelect},
    Option{.id = OptionId::ad_actor_sys_prio,
           .name = "ad_actor_sys_prio",
           .help = "system priority in LACPDUs",
           .modes = kLacp,
           .standard = 65535,
           .min = 1,
           .max = 65535},
    Option{.id = OptionId::ad_actor_system,
           .name = "ad_actor_system",
           .help = "system MAC address in LACPDUs instead of the bond's",
           .kind = ValueKind::mac,
           .modes = kLacp},
    Option{.id = OptionId::ad_user_port_key,
           .name = "ad_user_port_key",
           .help = "upper ten bits of the port key",
           .only_down = true,
           .modes = kLacp,
           .max = 1023},
    Option{.id = OptionId::coupled_control,
           .name = "coupled_control",
           .help = "off: collecting and distributing are states of their own",
           .kind = ValueKind::choice,
           .only_down = true,
           .modes = kLacp,
           .names = kSwitch,
           .standard = 1},
    Option{.id = OptionId::min_links,
           .name = "min_links",
           .help = "ports that the active aggregator needs for the bond to have carrier",
           .max = kIntMax},
    Option{.id = OptionId::actor_port_prio,
           .name = "actor_port_prio",
           .help = "port priority in LACPDUs, for ad_select actor_port_prio",
           .of_member = true,
           .modes = kLacp,
           .standard = 255,
           .max = 65535},
    Option{.id = OptionId::xdp_sees_slow_protocols,
           .name = "xdp-sees-slow-protocols",
           .help = "on: programs run on LACPDUs, as in the kernel; off: a program that drops all keeps the link",
           .kind = ValueKind::choice,
           .modes = kLacp,
           .names = kSwitch},
    Option{.id = OptionId::resend_igmp,
           .name = "resend_igmp",
           .help = "IGMP reports after a failover, 200 ms apart",
           .names = kOff,
           .standard = 1,
           .max = 255},
    Option{.id = OptionId::arp_interval,
           .name = "arp_interval",
           .help = "milliseconds between ARP and neighbour probes, in place of miimon",
           .modes = kCanArp,
           .names = kOff,
           .max = kIntMax},
    Option{.id = OptionId::arp_ip_target,
           .name = "arp_ip_target",
           .help = "IPv4 address to probe; -ADDRESS takes one away",
           .kind = ValueKind::targets},
    Option{.id = OptionId::ns_ip6_target,
           .name = "ns_ip6_target",
           .help = "IPv6 address to probe; -ADDRESS takes one away",
           .kind = ValueKind::targets},
    Option{.id = OptionId::arp_validate,
           .name = "arp_validate",
           .help = "whose probes are checked; filter: only ARP counts as received",
           .kind = ValueKind::choice,
           .modes = kCanArp,
           .names = kArpValidate},
    Option{.id = OptionId::arp_all_targets,
           .name = "arp_all_targets",
           .help = "whether one target that answers is enough",
           .kind = ValueKind::choice,
           .names = kArpAllTargets},
    Option{.id = OptionId::arp_missed_max,
           .name = "arp_missed_max",
           .help = "intervals without an answer that a link survives",
           .modes = kCanArp,
           .standard = 2,
           .min = 1,
           .max = 255},
    Option{.id = OptionId::lp_interval,
           .name = "lp_interval",
           .help = "seconds between learning packets of balance-tlb and balance-alb",
           .standard = 1,
           .min = 1,
           .max = kIntMax},
    Option{.id = OptionId::tlb_dynamic_lb,
           .name = "tlb_dynamic_lb",
           .help = "balance by measured load, or by hash alone",
           .kind = ValueKind::choice,
           .only_down = true,
           .modes = kBalancesLoad,
           .names = kSwitch,
           .standard = 1},
    Option{.id = OptionId::broadcast_neighbor,
           .name = "broadcast_neighbor",
           .help = "ARP and neighbour discovery by every member of 802.3ad",
           .kind = ValueKind::choice,
           .modes = kLacp,
           .names = kSwitch},
    Option{.id = OptionId::queue_id,
           .name = "queue_id",
           .help = "shown only: transmit queues of a bond in Linux",
           .of_member = true,
           .max = 65535},
    Option{.id = OptionId::prio,
           .name = "prio",
           .help = "the greater, the sooner this member becomes the active one",
           .of_member = true,
           .modes = kHasPrimary,
           .min = std::numeric_limits<int32_t>::min(),
           .max = kIntMax},
};

// "balance-rr (0), active-backup (1), …": what can be chosen here.
std::string available(const Option& option) {
  std::string out;
  for (const NamedValue& v : option.names) {
    if (v.available) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", v.name, v.value);
  }
  return out;
}

Error invalid(const Option& option, std::string_view text) {
  std::string line = fmt::format("option {}: invalid value ({}), allowed values ", option.name, printable(text));
  if (option.kind == ValueKind::choice) {
    line += available(option);
  } else {
    line += fmt::format("{} - {}", option.min, option.max);
  }
  return fail(EINVAL, std::move(line));
}

const NamedValue* find_choice(const Option& option, std::string_view word) {
  for (const NamedValue& v : option.names) {
    if (v.name == word || fmt::to_string(v.value) == word) return &v;
  }
  return nullptr;
}

// The kernel's words for the ends of a range, and names of single numbers.
const int64_t* find_number_name(const Option& option, std::string_view word) {
  if (word == "minval") return &option.min;
  if (word == "maxval") return &option.max;
  for (const NamedValue& v : option.names) {
    if (v.name == word) return &v.value;
  }
  return nullptr;
}

bool is_number(std::string_view word, bool negative_too) {
  if (negative_too && word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Digits that need not fit: leading zeros are Linux's decimal, not octal.
bool read_number(std::string_view word, int64_t& number) {
  const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
  return result.ec == std::errc{} && result.ptr == word.data() + word.size();
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::span<const Option> all_options() {
  return kOptions;
}

const Option* find_option(std::string_view name, bool of_member) {
  const auto* it = std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& option) {
    return option.name == name && option.of_member == of_member;
  });
  return it == kOptions.end() ? nullptr : &*it;
}

std::string_view value_name(OptionId id, int64_t value) {
  for (const Option& option : kOptions) {
    if (option.id != id) continue;
    for (const NamedValue& v : option.names) {
      if (v.value == value) return v.name;
    }
  }
  return {};
}

Result<int64_t> parse_value(const Option& option, std::string_view text) {
  const std::string_view word = trim(text);
  if (word == "default") return option.standard;

  if (option.kind == ValueKind::choice) {
    // "01" is 1 for Linux too.
    int64_t number = 0;
    const bool numeric = is_number(word, false) && read_number(word, number);
    const NamedValue* found = find_choice(option, numeric ? fmt::to_string(number) : std::string(word));
    if (found == nullptr) return invalid(option, text);
    if (!found->available) {
      return fail(EOPNOTSUPP, fmt::format("option {}: {} ({}) is not supported by this version, allowed values {}",
                                          option.name, found->name, found->value, available(option)));
    }
    return found->value;
  }

  if (const int64_t* named = find_number_name(option, word)) return *named;
  int64_t number = 0;
  if (!is_number(word, option.min < 0) || !read_number(word, number)) return invalid(option, text);
  if (number < option.min || number > option.max) return invalid(option, text);
  return number;
}

Result<std::string> parse_device(const Option& option, std::string_view text) {
  const std::string_view word = trim(text);
  if (word == "default") return std::string();
  const bool clean = std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!clean || word.size() > kMaxDeviceName) {
    return fail(EINVAL,
                fmt::format("option {}: invalid value ({}), allowed values a device name of at most {} characters",
                            option.name, printable(text), kMaxDeviceName));
  }
  return std::string(word);
}

Result<std::array<uint8_t, 6>> parse_mac(const Option& option, std::string_view text) {
  const std::string_view word = trim(text);
  std::array<uint8_t, 6> mac{};
  if (word == "default") return mac;
  bool valid = word.size() == 17;
  for (size_t i = 0; valid && i < mac.size(); ++i) {
    const char* at = word.data() + i * 3;
    const auto [end, ec] = std::from_chars(at, at + 2, mac[i], 16);
    valid = ec == std::errc{} && end == at + 2 && (i == 5 || *end == ':');
  }
  if (!valid || (mac[0] & 1U) != 0 || mac == std::array<uint8_t, 6>{}) {
    return fail(EINVAL, fmt::format("option {}: invalid value ({}), allowed values a MAC address of one station, such "
                                    "as 02:00:00:00:00:01",
                                    option.name, printable(text)));
  }
  return mac;
}

std::string printable(std::string_view text) {
  constexpr size_t kMost = 64;
  std::string out(text.substr(0, kMost));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c >= 0x7f; }, '?');
  if (text.size() > kMost) out += "...";
  return out;
}

}  // namespace xbond::bond
