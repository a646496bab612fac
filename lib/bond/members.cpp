// Members come and go.
#include <fmt/format.h>

#include "lib/bond/state.hpp"

namespace xbond::bond {

Status State::add(NewMember added, uint64_t now, Log& log) {
  if (find(added.port) != nullptr || find(added.name) != nullptr) {
    return fail(EBUSY, fmt::format("{}: {} is a member already", name, printable(added.name)));
  }
  if (added.port == port::kNoPort || added.name.empty()) {
    return fail(EINVAL, fmt::format("{}: a member needs a port and a name", name));
  }
  if (members.size() >= kMaxMembers) {
    return fail(ENOSPC, fmt::format("{}: {} can't be added, a bond holds at most {} members", name,
                                    printable(added.name), kMaxMembers));
  }
  Member m{
      .port = added.port, .name = std::move(added.name), .permanent_mac = added.permanent_mac, .report = added.link};
  mac_of_new(m);
  start_arp(m, now);
  if (params.miimon == 0 && params.arp_interval == 0) {
    m.link = Link::up;
  } else if (added.link.up && params.updelay != 0 && params.arp_interval == 0) {
    start_delay(m, Link::back, now);
  } else {
    m.link = added.link.up ? Link::up : Link::down;
  }
  if (m.name == params.primary) force_primary = true;
  members.push_back(std::move(m));
  ports.push_back(added.port);

  set_carrier();
  // Other modes choose when they have none; active-backup may prefer the new one.
  if (uses_primary(params.mode) || !active) select_active(now, log);
  const Member& now_in = members.back();
  log.push_back(about(now_in, fmt::format("Enslaving as {} interface with {} link",
                                          !uses_primary(params.mode) || is_active(now_in) ? "an active" : "a backup",
                                          now_in.link != Link::down ? "an up" : "a down")));
  monitor(now, log);
  return {};
}

Status State::remove(uint16_t port, uint64_t now, Log& log) {
  const Member* leaving = find(port);
  if (leaving == nullptr) return fail(ENOENT, fmt::format("{}: port {} is not a member", name, port));
  const bool was_active = is_active(*leaving);
  log.push_back(about(
      *leaving, fmt::format("Releasing {} interface", !uses_primary(params.mode) || was_active ? "active" : "backup")));
  if (candidate == port) candidate.reset();
  if (leaving->permanent_mac == mac && members.size() > 1 && mac_rule() != MacRule::bond_has_theirs) {
    log.push_back(
        about(*leaving, fmt::format("the permanent HWaddr of slave - {} - is still in use by bond - set the HWaddr "
                                    "of slave to a different address to avoid conflicts",
                                    mac_text(mac))));
  }
  std::erase_if(members, [port](const Member& m) { return m.port == port; });
  std::erase(ports, port);
  if (was_active) {
    active.reset();
    select_active(now, log);
  }
  monitor(now, log);
  return {};
}

}  // namespace xbond::bond
