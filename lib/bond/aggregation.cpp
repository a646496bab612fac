// 802.3ad: the LACP group is kept in step with the bond's options, members and links, and answers who may carry frames.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

lacp::Time to_lacp(uint64_t now_ms) {
  return now_ms * lacp::kMillisecond;
}

// As bond_3ad_handle_link_change hears of it: delays of the link monitor included.
lacp::Link lacp_link(const Member& m) {
  return {.up = m.link == Link::up || m.link == Link::fail,
          .speed_mbps = m.report.speed_mbps,
          .full_duplex = m.report.full_duplex};
}

// Why the last of a port's machines moved.
std::string_view last_reason(const lacp::Group& group, uint16_t port) {
  const auto info = group.port(port);
  for (auto t = info->history.rbegin(); t != info->history.rend(); ++t) {
    if (t->machine == lacp::Machine::mux) return lacp::name(t->reason);
  }
  return "";
}

}  // namespace

bool State::distributing(uint16_t port) const {
  if (!lacp) return false;
  const auto usable = lacp->group.usable();
  return std::find(usable.begin(), usable.end(), port) != usable.end();
}

void State::sync_lacp(uint64_t now_ms, Log& log) {
  if (params.mode != Mode::ieee8023ad) {
    lacp.reset();
    return;
  }
  const lacp::Time now = to_lacp(now_ms);
  if (!lacp) {
    auto group = lacp::Group::create(mac, params.lacp, [this](uint16_t port, std::span<const uint8_t> frame) {
      if (send_pdu) send_pdu(port, frame);
    });
    if (!group) {
      log.push_back(group.error().text);
      return;
    }
    lacp.emplace(Aggregation{.group = std::move(group.value()), .mac = mac});
  }
  lacp::Group& group = lacp->group;
  if (lacp->mac != mac) {
    lacp->mac = mac;
    group.set_bond_mac(mac, now);
  }
  if (Status ok = group.set_options(params.lacp, now); !ok) log.push_back(ok.error().text);
  sync_lacp_ports(now, log);
  if (group.up() != up) group.set_up(up, now);
  tell_lacp(log);
}

void State::sync_lacp_ports(lacp::Time now, Log& log) {
  lacp::Group& group = lacp->group;
  for (const uint16_t port : group.ports()) {
    if (find(port) == nullptr) (void)group.remove_port(port, now);
  }
  for (const Member& m : members) {
    const lacp::Link link = lacp_link(m);
    if (!group.port(m.port)) {
      Status added = group.add_port(
          {.id = m.port, .mac = m.permanent_mac, .link = link, .actor_port_prio = m.actor_port_prio}, now);
      if (!added) log.push_back(about(m, added.error().text));
      continue;
    }
    group.link(m.port, link, now);
    (void)group.set_port_priority(m.port, m.actor_port_prio, now);
  }
}

// What the machines did since the last time, for the log.
void State::tell_lacp(Log& log) {
  const lacp::Changes changes = lacp->group.take_changes();
  for (size_t i = 0; i < changes.notices; ++i) {
    const lacp::Notice& notice = changes.notice[i];
    const Member* m = find(notice.port);
    switch (notice.kind) {
      case lacp::Notice::Kind::loopback:
        if (m == nullptr) break;
        log.push_back(about(*m,
                            "An illegal loopback occurred on slave; check that all members are connected to 802.3ad "
                            "compliant switch ports"));
        break;
      case lacp::Notice::Kind::no_response:
        log.emplace_back("Warning: No 802.3ad response from the link partner for any adapters in the bond");
        break;
      case lacp::Notice::Kind::speed_unknown:
        if (m == nullptr) break;
        log.push_back(about(*m, "the driver tells no speed: the port stays out of every aggregator"));
        break;
    }
  }
  if (!changes.usable) return;
  for (Member& m : members) {
    const bool now = distributing(m.port);
    if (now == m.distributing) continue;
    m.distributing = now;
    const std::string_view reason = last_reason(lacp->group, m.port);
    if (now) {
      log.push_back(
          about(m, fmt::format("LACP: carries frames, aggregator {}", lacp->group.port(m.port)->aggregator_id)));
    } else {
      log.push_back(
          about(m, fmt::format("LACP: carries no frames any more ({})", reason.empty() ? "bond is down" : reason)));
    }
  }
}

lacp::Outcome State::receive_slow(uint16_t port, std::span<const uint8_t> frame, uint64_t now_ms) {
  return lacp ? lacp->group.receive(port, frame, to_lacp(now_ms)) : lacp::Outcome::not_a_member;
}

void State::tick_lacp(uint64_t now_ms) {
  if (lacp) lacp->group.tick(to_lacp(now_ms));
}

std::optional<uint64_t> State::lacp_deadline_ms() const {
  const auto next = lacp ? lacp->group.next_deadline() : std::nullopt;
  if (!next) return std::nullopt;
  return (*next + lacp::kMillisecond - 1) / lacp::kMillisecond;
}

}  // namespace xbond::bond
