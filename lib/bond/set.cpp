// Setting options. Everything is checked before anything changes: a refused call leaves no trace.
#include <fmt/format.h>

#include "lib/bond/state.hpp"

namespace xbond::bond {

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
  return option.kind == ValueKind::device ? set_device(option, value, now, log) : set_number(option, value, now, log);
}

Status State::set_number(const Option& option, std::string_view value, uint64_t now, Log& log) {
  const auto parsed = parse_value(option, value);
  if (!parsed) return parsed.error();
  const int64_t number = *parsed;
  switch (option.id) {
    case OptionId::mode:
      params.mode = static_cast<Mode>(number);
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
      if (params.mode == Mode::active_backup) select_active(now, log);
      return {};
    case OptionId::all_slaves_active:
      params.all_slaves_active = number != 0;
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
  m.prio = static_cast<int32_t>(*parsed);
  if (primary() != nullptr) {
    log.push_back(about(m, "prio updated, but will not affect failover re-selection as primary slave have been set"));
  } else {
    select_active(now, log);
  }
  return {};
}

void State::set_miimon(uint32_t miimon, uint64_t now, Log& log) {
  const bool changed = miimon != params.miimon;
  params.miimon = miimon;
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
