// Setting options. Everything is checked before anything changes: a refused call leaves no trace.
#include <fmt/format.h>

#include <algorithm>

#include "lib/bond/state.hpp"
#include "lib/bond/targets.hpp"

namespace xbond::bond {
namespace {

constexpr uint32_t kStandardMiimon = 100;

}  // namespace

Status State::check_dependencies(const Option& option) const {
  if (!option.allowed_in(params.mode)) {
    const auto number = static_cast<int64_t>(params.mode);
    return fail(EACCES, fmt::format("option {}: mode dependency failed, not supported in mode {}({})", option.name,
                                    value_name(OptionId::mode, number), number));
  }
  if (option.no_members && !members.empty()) {
    return fail(ENOTEMPTY,
                fmt::format("option {}: unable to set option because the bond device has slaves", option.name));
  }
  if (option.only_down && up) {
    return fail(EBUSY, fmt::format("option {}: unable to set option because the bond is up", option.name));
  }
  return {};
}

Status State::set(const Option& option, std::string_view value, uint64_t now, Log& log) {
  if (Status ok = check_dependencies(option); !ok) return ok;
  if (option.kind == ValueKind::mac) {
    const auto address = parse_mac(option, value);
    if (!address) return address.error();
    params.lacp.ad_actor_system = *address;
    return {};
  }
  if (option.id == OptionId::arp_ip_target) return change_targets(params.arp_targets, option.name, trim(value));
  if (option.id == OptionId::ns_ip6_target) return change_targets(params.ns_targets, option.name, trim(value));
  return option.kind == ValueKind::device ? set_device(option, value, now, log) : set_number(option, value, now, log);
}

Status State::set_number(const Option& option, std::string_view value, uint64_t now, Log& log) {
  const auto parsed = parse_value(option, value);
  if (!parsed) return parsed.error();
  const int64_t number = *parsed;
  switch (option.id) {
    case OptionId::mode:
      set_mode(static_cast<Mode>(number), log);
      return {};
    case OptionId::packets_per_slave:
      params.packets_per_slave = static_cast<uint32_t>(number);
      return {};
    case OptionId::xmit_hash_policy:
      params.policy = static_cast<Policy>(number);
      return {};
    case OptionId::miimon:
      set_miimon(static_cast<uint32_t>(number), now, log);
      return {};
    case OptionId::updelay:
      return set_delay("up delay", params.updelay, number, log);
    case OptionId::downdelay:
      return set_delay("down delay", params.downdelay, number, log);
    case OptionId::peer_notif_delay:
      return set_delay("peer notification delay", params.peer_notif_delay, number, log);
    case OptionId::num_peer_notif:
      params.num_peer_notif = static_cast<uint8_t>(number);
      return {};
    case OptionId::primary_reselect:
      params.reselect = static_cast<Reselect>(number);
      if (uses_primary(params.mode)) select_active(now, log);
      return {};
    case OptionId::all_slaves_active:
      params.all_slaves_active = number != 0;
      return {};
    case OptionId::lacp_active:
      params.lacp.lacp_active = number != 0;
      return {};
    case OptionId::lacp_rate:
      params.lacp.lacp_rate = static_cast<lacp::Rate>(number);
      return {};
    case OptionId::ad_select:
      params.lacp.ad_select = static_cast<lacp::Select>(number);
      return {};
    case OptionId::ad_actor_sys_prio:
      params.lacp.ad_actor_sys_prio = static_cast<uint16_t>(number);
      return {};
    case OptionId::ad_user_port_key:
      params.lacp.ad_user_port_key = static_cast<uint16_t>(number);
      return {};
    case OptionId::coupled_control:
      params.lacp.coupled_control = number != 0;
      return {};
    case OptionId::min_links:
      params.lacp.min_links = static_cast<uint32_t>(number);
      return {};
    case OptionId::xdp_sees_slow_protocols:
      params.xdp_sees_slow_protocols = number != 0;
      return {};
    case OptionId::fail_over_mac:
      params.fail_over_mac = static_cast<FailOverMac>(number);
      return {};
    case OptionId::resend_igmp:
      params.resend_igmp = static_cast<uint8_t>(number);
      return {};
    case OptionId::lp_interval:
      params.lp_interval = static_cast<uint32_t>(number);
      learning_at_ms = std::min(learning_at_ms, now + uint64_t{params.lp_interval} * 1000);
      return {};
    case OptionId::tlb_dynamic_lb:
      params.tlb_dynamic_lb = number != 0;
      return {};
    case OptionId::arp_interval:
      set_arp_interval(static_cast<uint32_t>(number), now, log);
      return {};
    case OptionId::arp_validate:
      params.arp_validate = static_cast<uint8_t>(number);
      return {};
    case OptionId::arp_all_targets:
      params.arp_all_targets = static_cast<ArpAllTargets>(number);
      return {};
    case OptionId::arp_missed_max:
      params.arp_missed_max = static_cast<uint8_t>(number);
      return {};
    case OptionId::broadcast_neighbor:
      params.broadcast_neighbor = number != 0;
      return {};
    default:
      return fail(EINVAL, fmt::format("option {} is not an option of a bond", option.name));
  }
}

Status State::set_device(const Option& option, std::string_view value, uint64_t now, Log& log) {
  auto device = parse_device(option, value);
  if (!device) return device.error();
  if (option.id == OptionId::active_slave) return set_active(*device, now, log);
  set_primary(std::move(*device), now, log);
  return {};
}

Status State::set_of_member(Member& m, const Option& option, std::string_view value, uint64_t now, Log& log) {
  if (Status ok = check_dependencies(option); !ok) return ok;
  const auto parsed = parse_value(option, value);
  if (!parsed) return parsed.error();
  if (option.id == OptionId::actor_port_prio) {
    m.actor_port_prio = static_cast<uint16_t>(*parsed);
    return {};
  }
  if (option.id == OptionId::queue_id) {
    m.queue_id = static_cast<uint16_t>(*parsed);
    return {};
  }
  m.prio = static_cast<int32_t>(*parsed);
  if (primary() != nullptr) {
    log.push_back(about(m, "prio updated, but will not affect failover re-selection as primary slave have been set"));
  } else {
    select_active(now, log);
  }
  return {};
}

// bond_option_mode_set
void State::set_mode(Mode mode, Log& log) {
  if (!can_monitor_by_arp(mode)) {
    if (params.arp_interval != 0) {
      log.push_back(fmt::format("{} mode is incompatible with arp monitoring, start mii monitoring",
                                value_name(OptionId::mode, static_cast<int64_t>(mode))));
      params.arp_interval = 0;
    }
    if (params.miimon == 0) {
      params.miimon = kStandardMiimon;
      log.push_back(fmt::format("Setting MII monitoring interval to {}", params.miimon));
    }
  }
  if (mode == Mode::balance_alb) params.tlb_dynamic_lb = true;
  params.arp_validate = 0;  // not kept from mode to mode
  params.mode = mode;
}

void State::set_arp_interval(uint32_t interval, uint64_t now, Log& log) {
  if (interval != 0 && params.miimon != 0) {
    log.emplace_back("ARP monitoring cannot be used with MII monitoring. Disabling MII monitoring");
    params.miimon = 0;
  }
  params.arp_interval = interval;
  arp_at_ms = now;
  if (interval != 0 && params.arp_targets.empty() && params.ns_targets.empty()) {
    log.emplace_back("ARP monitoring has been set up, but no ARP targets have been specified");
  }
}

void State::set_miimon(uint32_t miimon, uint64_t now, Log& log) {
  const bool changed = miimon != params.miimon;
  params.miimon = miimon;
  if (miimon != 0 && params.arp_interval != 0) {
    log.emplace_back("MII monitoring cannot be used with ARP monitoring - disabling ARP monitoring...");
    params.arp_interval = 0;
    params.arp_validate = 0;
  }
  const auto tell = [&](std::string_view what, uint32_t steps) {
    if (!changed || steps == 0) return;
    log.push_back(
        fmt::format("Note: Updating {} (to {}) since it is a multiple of the miimon value", what, params.ms(steps)));
  };
  tell("updelay", params.updelay);
  tell("downdelay", params.downdelay);
  tell("peer_notif_delay", params.peer_notif_delay);
  monitor(now, log);
}

Status State::set_delay(std::string_view what, uint32_t& steps, int64_t value, Log& log) const {
  if (params.miimon == 0) {
    return fail(EPERM, fmt::format("Unable to set {} as MII monitoring is disabled", what));
  }
  steps = static_cast<uint32_t>(value / params.miimon);
  if (value % params.miimon != 0) {
    log.push_back(fmt::format("{} ({}) is not a multiple of miimon ({}), value rounded to {} ms", what, value,
                              params.miimon, params.ms(steps)));
  }
  return {};
}

// A device that is not a member yet is kept for the time when it becomes one.
void State::set_primary(std::string device, uint64_t now, Log& log) {
  const bool had = primary() != nullptr;
  params.primary = std::move(device);
  if (primary() != nullptr) {
    force_primary = true;
    select_active(now, log);
    return;
  }
  force_primary = false;
  if (had || params.primary.empty()) select_active(now, log);
  if (!params.primary.empty()) {
    log.push_back(fmt::format("Recording {} as primary, but it has not been enslaved yet", params.primary));
  }
}

Status State::set_active(const std::string& device, uint64_t now, Log& log) {
  if (device.empty()) {
    active.reset();
    select_active(now, log);
    return {};
  }
  const Member* named = find(device);
  if (named == nullptr) {
    return fail(EINVAL, fmt::format("option active_slave: (slave {}): Device is not our slave", device));
  }
  if (is_active(*named)) return {};
  if (!active || named->link != Link::up || !named->report.up) {
    return fail(EINVAL,
                fmt::format("option active_slave: (slave {0}): Could not set as active slave; either {0} is down or "
                            "the link is down",
                            device));
  }
  change_active(find(named->port), now, log);
  return {};
}

}  // namespace xbond::bond
