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
constexpr uint8_t kAnyMode = 0xff;
constexpr uint8_t kHasPrimary = bit(Mode::active_backup);

constexpr std::array kModes{
    NamedValue{"balance-rr", 0},         NamedValue{"active-backup", 1},  NamedValue{"balance-xor", 2},
    NamedValue{"broadcast", 3, false},   NamedValue{"802.3ad", 4, false}, NamedValue{"balance-tlb", 5, false},
    NamedValue{"balance-alb", 6, false},
};
constexpr std::array kPolicies{
    NamedValue{"layer2", 0},   NamedValue{"layer3+4", 1}, NamedValue{"layer2+3", 2},
    NamedValue{"encap2+3", 3}, NamedValue{"encap3+4", 4}, NamedValue{"vlan+srcmac", 5},
};
constexpr std::array kReselect{NamedValue{"always", 0}, NamedValue{"better", 1}, NamedValue{"failure", 2}};
constexpr std::array kSwitch{NamedValue{"off", 0}, NamedValue{"on", 1}};
constexpr std::array kOff{NamedValue{"off", 0}};

constexpr std::array kOptions{
    Option{.id = OptionId::mode,
           .name = "mode",
           .help = "how frames are spread over the members",
           .kind = ValueKind::choice,
           .no_members = true,
           .only_down = true,
           .modes = kAnyMode,
           .names = kModes},
    Option{.id = OptionId::xmit_hash_policy,
           .name = "xmit_hash_policy",
           .help = "headers that choose the member in balance-xor",
           .kind = ValueKind::choice,
           .modes = kAnyMode,
           .names = kPolicies},
    Option{.id = OptionId::miimon,
           .name = "miimon",
           .help = "link check interval in milliseconds, 0: members count as up",
           .modes = kAnyMode,
           .names = kOff,
           .standard = 100,
           .max = kIntMax},
    Option{.id = OptionId::updelay,
           .name = "updelay",
           .help = "milliseconds before a link that came up is used, a multiple of miimon",
           .modes = kAnyMode,
           .names = kOff,
           .max = kIntMax},
    Option{.id = OptionId::downdelay,
           .name = "downdelay",
           .help = "milliseconds before a link that went down is given up, a multiple of miimon",
           .modes = kAnyMode,
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
           .modes = kAnyMode,
           .names = kReselect},
    Option{.id = OptionId::active_slave,
           .name = "active_slave",
           .help = "member to make active now",
           .kind = ValueKind::device,
           .modes = kHasPrimary},
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
           .modes = kAnyMode,
           .names = kSwitch},
    Option{.id = OptionId::num_peer_notif,
           .name = "num_grat_arp",
           .help = "announcements to peers after a failover",
           .modes = kAnyMode,
           .names = kOff,
           .standard = 1,
           .max = 255},
    Option{.id = OptionId::num_peer_notif,
           .name = "num_unsol_na",
           .help = "the same as num_grat_arp",
           .modes = kAnyMode,
           .names = kOff,
           .standard = 1,
           .max = 255},
    Option{.id = OptionId::peer_notif_delay,
           .name = "peer_notif_delay",
           .help = "milliseconds between announcements, a multiple of miimon",
           .modes = kAnyMode,
           .names = kOff,
           .max = 300000},
    Option{.id = OptionId::prio,
           .name = "prio",
           .help = "the greater, the sooner this member becomes the active one",
           .of_member = true,
           .modes = kHasPrimary,
           .min = std::numeric_limits<int32_t>::min(),
           .max = kIntMax},
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

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

std::string printable(std::string_view text) {
  constexpr size_t kMost = 64;
  std::string out(text.substr(0, kMost));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c >= 0x7f; }, '?');
  if (text.size() > kMost) out += "...";
  return out;
}

}  // namespace xbond::bond
