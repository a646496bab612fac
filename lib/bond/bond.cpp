#include "lib/bond/bond.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/bond/state.hpp"

namespace xbond::bond {

// Only gives State's name to the header; the rules are in state.hpp.
struct Bond::Held {
  State state;
};

namespace {

// Linux's dev_valid_name(): the bond's tap has to get this name.
Status check_name(std::string_view name) {
  constexpr size_t kMost = 15;
  const bool clean =
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c != 0x7f && c != '/' && c != ':'; });
  if (clean && !name.empty() && name.size() <= kMost && name != "." && name != "..") return {};
  return fail(EINVAL, fmt::format("bond name ({}) is invalid: 1 to {} characters without blanks, '/' and ':'",
                                  printable(name), kMost));
}

Result<const Option*> known_option(std::string_view name, bool of_member) {
  if (const Option* option = find_option(name, of_member)) return option;
  std::string names;
  for (const Option& option : all_options()) {
    if (option.of_member == of_member) names += fmt::format("{}{}", names.empty() ? "" : ", ", option.name);
  }
  return fail(ENOENT, fmt::format("no such option ({}); options: {}", printable(name), names));
}

// Mode first, for what it allows; miimon next, for the delays that are rounded to it.
int rank(std::string_view option) {
  return option == "mode" ? 0 : option == "miimon" ? 1 : 2;
}

// As with netlink: one of the two monitors, not both in one request.
Status check_monitors(std::span<const std::pair<std::string_view, std::string_view>> options) {
  const auto given = [&](std::string_view name) {
    return std::any_of(options.begin(), options.end(), [&](const auto& option) {
      return option.first == name && option.second != "0" && option.second != "off" && option.second != "default";
    });
  };
  if (given("miimon") && given("arp_interval")) {
    return fail(EINVAL, "option arp_interval: ARP monitoring cannot be used with MII monitoring");
  }
  return {};
}

Changes finish(State& state, const View& before, Log log, uint64_t now) {
  state.sync_lacp(now, log);
  state.update_carrier(log);
  return state.since(before, std::move(log), now);
}

}  // namespace

Bond::Bond(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Bond::Bond(Bond&&) noexcept = default;
Bond& Bond::operator=(Bond&&) noexcept = default;
Bond::~Bond() = default;

Result<Bond> Bond::create(std::string name, uint8_t bond_index,
                          std::span<const std::pair<std::string, std::string>> options) {
  if (Status ok = check_name(name); !ok) return ok.error();
  auto held = std::make_unique<Held>();
  held->state.name = std::move(name);
  held->state.index = bond_index;
  Bond bond(std::move(held));

  std::vector<std::pair<std::string_view, std::string_view>> ordered(options.begin(), options.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
  if (Status ok = check_monitors(ordered); !ok) return ok.error();
  for (const auto& [option, value] : ordered) {
    if (auto ok = bond.set_option(option, value, 0); !ok) return ok.error();
  }
  return bond;
}

const std::string& Bond::name() const {
  return held_->state.name;
}

uint8_t Bond::index() const {
  return held_->state.index;
}

Mode Bond::mode() const {
  return held_->state.params.mode;
}

Policy Bond::policy() const {
  return held_->state.params.policy;
}

bool Bond::up() const {
  return held_->state.up;
}

bool Bond::carrier() const {
  return held_->state.up && held_->state.link_carrier;
}

uint32_t Bond::speed_mbps() const {
  const State& state = held_->state;
  uint32_t sum = 0, least = 0;
  for (const Member& m : state.members) {
    const uint32_t speed = m.link == Link::up && m.report.up ? known_speed(m.report) : 0;
    sum += speed;
    if (speed != 0 && (least == 0 || speed < least)) least = speed;
  }
  return mode() == Mode::broadcast ? least : sum;
}

std::span<const uint16_t> Bond::ports() const {
  return held_->state.ports;
}

std::optional<uint16_t> Bond::active() const {
  return held_->state.active;
}

bool Bond::member_inactive(uint16_t port) const {
  const Member* m = std::as_const(held_->state).find(port);
  return m != nullptr && held_->state.inactive(*m);
}

uint32_t Bond::miimon_ms() const {
  return held_->state.params.miimon;
}

uint32_t Bond::announcements() const {
  return held_->state.params.num_peer_notif;
}

uint64_t Bond::announcement_delay_ms() const {
  return held_->state.params.ms(held_->state.params.peer_notif_delay);
}

Mac Bond::mac() const {
  return held_->state.mac;
}

Mac Bond::member_mac(uint16_t port) const {
  return std::as_const(held_->state).find(port)->mac;
}

const std::string& Bond::member_name(uint16_t port) const {
  return std::as_const(held_->state).find(port)->name;
}

const Params& Bond::params() const {
  return held_->state.params;
}

Result<Changes> Bond::set_mac(const Mac& mac, uint64_t now_ms) {
  const bool multicast = (mac[0] & 1U) != 0;
  if (multicast || mac == Mac{}) {
    return fail(EADDRNOTAVAIL, fmt::format("{}: {} is not a unicast MAC address", name(), mac_text(mac)));
  }
  State& state = held_->state;
  const View before = state.view();
  // Linux takes it and does nothing: the active member's address is the bond's.
  const bool follows = mode() == Mode::active_backup && state.params.fail_over_mac == FailOverMac::active;
  if (!follows || state.members.empty()) state.set_mac(mac);
  return finish(state, before, {}, now_ms);
}

void Bond::set_addresses(Addresses addresses) {
  held_->state.addresses = std::move(addresses);
}

void Bond::saw_frames(uint16_t port, uint64_t now_ms) {
  if (Member* m = held_->state.find(port)) held_->state.saw_frames(*m, now_ms);
}

void Bond::received(uint16_t port, std::span<const uint8_t> frame, uint64_t now_ms) {
  State& state = held_->state;
  Member* m = state.find(port);
  if (m == nullptr) return;
  state.received(*m, frame, now_ms);
  if (mode() == Mode::balance_alb && state.up) state.clients.received(frame);
}

Bond::HostArp Bond::host_arp(std::span<uint8_t> frame, uint64_t now_ms) {
  State& state = held_->state;
  const View before = state.view();
  HostArp answer;
  answer.by = state.host_arp(frame, now_ms).value_or(before.table.active);
  answer.changes = finish(state, before, {}, now_ms);
  return answer;
}

std::optional<uint16_t> Bond::promiscuous_member() const {
  return held_->state.promiscuous();
}

std::set<Tags> Bond::learning_tags() const {
  return held_->state.clients.tags();
}

bool Bond::wants_load(uint64_t now_ms) const {
  const State& state = held_->state;
  return is_load_balancing(mode()) && state.params.tlb_dynamic_lb && now_ms >= state.rebalance_at_ms;
}

void Bond::measured(std::span<const uint64_t, kChannels> bytes, uint64_t unbalanced) {
  held_->state.channels.measured(bytes, unbalanced);
}

Changes Bond::set_up(bool up, uint64_t now_ms) {
  State& state = held_->state;
  const View before = state.view();
  Log log;
  state.up = up;
  state.arp_at_ms = now_ms;
  state.monitor(now_ms, log);
  return finish(state, before, std::move(log), now_ms);
}

Result<Changes> Bond::set_option(std::string_view option, std::string_view value, uint64_t now_ms) {
  const auto known = known_option(option, false);
  if (!known) return known.error();
  State& state = held_->state;
  const View before = state.view();
  Log log;
  if (Status ok = state.set(**known, value, now_ms, log); !ok) return ok.error();
  return finish(state, before, std::move(log), now_ms);
}

Result<Changes> Bond::set_member_option(uint16_t port, std::string_view option, std::string_view value,
                                        uint64_t now_ms) {
  const auto known = known_option(option, true);
  if (!known) return known.error();
  State& state = held_->state;
  Member* m = state.find(port);
  if (m == nullptr) return fail(ENOENT, fmt::format("{}: port {} is not a member", state.name, port));
  const View before = state.view();
  Log log;
  if (Status ok = state.set_of_member(*m, **known, value, now_ms, log); !ok) return ok.error();
  return finish(state, before, std::move(log), now_ms);
}

Result<Changes> Bond::add_member(NewMember member, uint64_t now_ms) {
  State& state = held_->state;
  const View before = state.view();
  Log log;
  if (Status ok = state.add(std::move(member), now_ms, log); !ok) return ok.error();
  return finish(state, before, std::move(log), now_ms);
}

Result<Changes> Bond::remove_member(uint16_t port, uint64_t now_ms) {
  State& state = held_->state;
  const View before = state.view();
  Log log;
  if (Status ok = state.remove(port, now_ms, log); !ok) return ok.error();
  return finish(state, before, std::move(log), now_ms);
}

Changes Bond::link(uint16_t port, const LinkReport& report, uint64_t now_ms) {
  State& state = held_->state;
  Member* m = state.find(port);
  if (m == nullptr || m->report == report) return {};
  const View before = state.view();
  Log log;
  m->report = report;
  state.monitor(now_ms, log);
  return finish(state, before, std::move(log), now_ms);
}

Changes Bond::tick(uint64_t now_ms) {
  State& state = held_->state;
  const View before = state.view();
  Log log;
  state.monitor(now_ms, log);
  state.tick_lacp(now_ms);
  state.arp_monitor(now_ms, log);
  state.balance(now_ms);
  state.balance_receive(now_ms);
  return finish(state, before, std::move(log), now_ms);
}

std::optional<uint64_t> Bond::next_deadline_ms() const {
  const State& state = held_->state;
  std::optional<uint64_t> next = state.next_deadline();
  if (const auto lacp = state.lacp_deadline_ms()) next = std::min(next.value_or(*lacp), *lacp);
  return next;
}

void Bond::on_slow_protocol_frame(lacp::Send send) {
  held_->state.send_pdu = std::move(send);
}

Changes Bond::slow_protocol(uint16_t port, std::span<const uint8_t> frame, uint64_t now_ms) {
  State& state = held_->state;
  const View before = state.view();
  state.receive_slow(port, frame, now_ms);
  return finish(state, before, {}, now_ms);
}

bool Bond::farewells_pending() const {
  const State& state = held_->state;
  return state.lacp && state.lacp->group.farewells_pending();
}

std::string Bond::show_lacp(uint64_t now_ms) const {
  return lacp_table(held_->state, now_ms);
}

std::string Bond::lacp_json(uint64_t now_ms) const {
  return bond::lacp_json(held_->state, now_ms);
}

TxTable Bond::table() const {
  return held_->state.table();
}

std::string Bond::show(std::string_view kernel_release) const {
  return show_text(held_->state, kernel_release);
}

std::string Bond::json() const {
  return show_json(held_->state);
}

std::vector<std::string> Bond::option_names() {
  std::vector<std::string> names;
  for (const Option& option : all_options()) {
    if (!option.of_member) names.emplace_back(option.name);
  }
  return names;
}

std::vector<std::string> Bond::option_values(std::string_view option) {
  std::vector<std::string> values;
  const Option* known = find_option(option, false);
  if (known == nullptr || known->kind != ValueKind::choice) return values;
  for (const NamedValue& v : known->names) {
    if (v.available) values.emplace_back(v.name);
  }
  return values;
}

}  // namespace xbond::bond
