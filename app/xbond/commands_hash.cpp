// bond hash: which member a frame would take, and why
#include <fmt/format.h>

#include <fstream>

#include "app/xbond/commands.hpp"
#include "bpf_compat/hex.hpp"
#include "bpf_compat/json.hpp"
#include "lib/bond/choice.hpp"
#include "lib/bond/options.hpp"

namespace xbond::app {
namespace {

using bond::Choice;
using bond::HashFields;

constexpr size_t kMaxFrame = 64 * 1024;

Result<std::vector<uint8_t>> parse_frame(std::string_view hex) {
  const auto bytes = parse_hex(hex);
  if (!bytes) {
    return fail(EINVAL, "frame: not bytes in hexadecimal, two digits each");
  }
  if (bytes->empty() || bytes->size() > kMaxFrame) {
    return fail(EINVAL, fmt::format("frame: {} bytes; between 1 and {} are possible", bytes->size(), kMaxFrame));
  }
  const auto* first = reinterpret_cast<const uint8_t*>(bytes->data());
  return std::vector<uint8_t>(first, first + bytes->size());
}

// The bond at the time of the question.
struct Asked {
  bond::TxTable table;
  std::map<uint16_t, std::string> names;  // of members, by port
  bond::Path path;

  [[nodiscard]] std::string_view policy() const {
    return bond::value_name(bond::OptionId::xmit_hash_policy, static_cast<int64_t>(table.policy));
  }
  [[nodiscard]] std::string_view mode() const {
    return bond::value_name(bond::OptionId::mode, static_cast<int64_t>(table.mode));
  }
  [[nodiscard]] std::string member(const Choice& choice) const {
    const auto it = names.find(choice.port);
    return it == names.end() ? std::string() : it->second;
  }
};

// The words that the policy mixed, by name.
std::vector<std::pair<const char*, uint32_t>> fields_of(const HashFields& fields) {
  switch (fields.kind) {
    case HashFields::Kind::none:
      break;
    case HashFields::Kind::ethernet:
      return {{"ethernet", fields.ethernet}};
    case HashFields::Kind::addresses:
      return {{"ethernet", fields.ethernet}, {"addresses", fields.addresses}};
    case HashFields::Kind::flow:
      return {{"addresses", fields.addresses}, {"ports", fields.ports}};
    case HashFields::Kind::vlan_srcmac:
      return {{"tag", fields.tag}, {"source_mac", fields.source_mac}};
  }
  return {};
}

std::string hash_text(const Asked& asked, const Choice& choice) {
  std::string from;
  for (const auto& [name, word] : fields_of(choice.fields)) {
    from += fmt::format("{}{} 0x{:08x}", from.empty() ? "" : ", ", name, word);
  }
  return fmt::format("hash 0x{:08x} by {} ({} path: {})", choice.hash, asked.policy(),
                     asked.path == bond::Path::xdp ? "xdp" : "host", from.empty() ? "no Ethernet header" : from);
}

std::string why_text(const Asked& asked, const Choice& choice) {
  const std::string member = asked.member(choice);
  switch (choice.why) {
    case Choice::Why::no_member:
      return "no usable member";
    case Choice::Why::active:
      return fmt::format("{}: the active member; active-backup does not hash", member);
    case Choice::Why::igmp:
      return fmt::format("{}: the active member; IGMP takes no turn", member);
    case Choice::Why::in_turn:
      return fmt::format("any of {} usable in turn; balance-rr does not hash ({})", asked.table.usable,
                         hash_text(asked, choice));
    case Choice::Why::every:
      return fmt::format("each of {} usable; {}", asked.table.usable,
                         asked.table.mode == bond::Mode::broadcast ? "broadcast does not hash"
                                                                   : "broadcast_neighbor sends such a frame by all");
    case Choice::Why::hashed:
      return fmt::format("{}: {}, {} % {} usable = {}", member, hash_text(asked, choice), choice.hash,
                         asked.table.usable, choice.index);
    case Choice::Why::channel:
      return fmt::format("{}: channel {} of {}, by load; {}", member, choice.channel, bond::kChannels,
                         asked.table.mode == bond::Mode::balance_alb
                             ? "the channel is the xor of the destination address's bytes"
                             : hash_text(asked, choice));
    case Choice::Why::unbalanced:
      return fmt::format("{}: the active member; {} does not balance such a frame", member, asked.mode());
  }
  return "";
}

const char* why_name(Choice::Why why) {
  constexpr const char* kNames[] = {"no_member", "active", "igmp",    "in_turn",
                                    "every",     "hashed", "channel", "unbalanced"};
  return kNames[static_cast<size_t>(why)];
}

std::string why_json(const Asked& asked, const Choice& choice) {
  json::Writer w;
  w.begin_object().member("policy", asked.policy()).member("hash", choice.hash).member("index", choice.index);
  const std::string member = asked.member(choice);
  w.key("member");
  member.empty() ? w.null() : w.value(member);
  w.member("why", why_name(choice.why));
  if (choice.why == Choice::Why::channel) {
    w.member("channel", choice.channel);
  }
  w.key("fields").begin_object();
  for (const auto& [name, word] : fields_of(choice.fields)) {
    w.member(name, word);
  }
  return w.end_object().end_object().take();
}

// FRAME: hexadecimal digits, or @FILE with a frame a line.
Result<std::vector<std::string>> lines_of(const std::string& what) {
  if (!what.starts_with('@')) {
    return std::vector<std::string>{what};
  }
  const std::string path = what.substr(1);
  std::ifstream file(path);
  if (!file) {
    return fail(ENOENT, fmt::format("{}: cannot be read", path));
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.size() > 3 * kMaxFrame) {
      return fail(EINVAL, fmt::format("{}: line {} is too long for a frame", path, lines.size() + 1));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// Without `path` a frame is seen as it comes in that mode: what XDP sends, or where XDP is not possible the host's.
bond::Path path_of(const std::string& given, bond::Mode mode) {
  if (given.empty()) {
    return bond::is_load_balancing(mode) ? bond::Path::host : bond::Path::xdp;
  }
  return given == "host" ? bond::Path::host : bond::Path::xdp;
}

Status bond_hash(Appliance& appliance, const control::Args& args, std::string& out) {
  const auto bond = appliance.find_bond(args.get("NAME"));
  if (!bond) {
    return bond.error();
  }
  const std::string& what = args.get("FRAME");
  const auto lines = lines_of(what);
  if (!lines) {
    return lines.error();
  }
  const Asked asked = appliance.with_core([&](Core& core) {
    const bond::Bond& b = *core.find_bond(bond.value()->name);
    Asked now{.table = b.table(), .names = {}, .path = path_of(args.get("xdp"), b.mode())};
    for (const uint16_t port : b.ports()) {
      now.names[port] = b.member_name(port);
    }
    return now;
  });
  for (size_t i = 0; i < lines->size(); ++i) {
    const std::string& line = (*lines)[i];
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    const auto frame = parse_frame(line);
    if (!frame) {
      return what.starts_with('@') ? fail(EINVAL, fmt::format("{}:{}: {}", what.substr(1), i + 1, frame.error().text))
                                   : frame.error();
    }
    const Choice choice = bond::choose(asked.table, asked.path, *frame);
    out += (args.has("json") ? why_json(asked, choice) : why_text(asked, choice)) + "\n";
  }
  return {};
}

}  // namespace

void add_hash_commands(control::CommandTable& table, Appliance& appliance) {
  table.add({"bond hash NAME FRAME [path xdp|host] [json]",
             "which member a frame (hex, or @FILE of lines) would take, and why",
             [&](const control::Args& args, std::string& out) { return bond_hash(appliance, args, out); }});
}

}  // namespace xbond::app
