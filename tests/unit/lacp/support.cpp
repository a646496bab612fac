#include "tests/unit/lacp/support.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace xbond::lacp {

namespace {

uint32_t little32(const std::vector<char>& file, std::size_t at) {
  uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8U | static_cast<uint8_t>(file[at + i]);
  return value;
}

}  // namespace

std::vector<Recorded> read_pcap(const std::string& name) {
  std::ifstream stream(std::string(XBOND_LACP_DATA) + "/" + name, std::ios::binary);
  const std::vector<char> file(std::istreambuf_iterator<char>(stream), {});
  std::vector<Recorded> frames;
  if (file.size() < 24) return frames;
  const Time fraction = little32(file, 0) == 0xa1b23c4d ? 1 : 1000;
  std::optional<Time> first;
  for (std::size_t at = 24; at + 16 <= file.size();) {
    const Time time = little32(file, at) * kSecond + little32(file, at + 4) * fraction;
    const std::size_t length = little32(file, at + 8);
    at += 16;
    if (length > file.size() - at) return {};
    if (!first) first = time;
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    frames.push_back({time - *first, {begin, begin + static_cast<std::ptrdiff_t>(length)}});
    at += length;
  }
  return frames;
}

Port fresh_port(uint16_t number) {
  Port port;
  port.id = number;
  port.permanent_mac = port_mac(0xaa, static_cast<uint8_t>(number));
  port.link = k10G;
  port.enabled = true;
  port.lacp_enabled = true;
  port.begin = false;
  port.receive = ReceiveState::port_disabled;
  port.own.id = number;
  port.actor = {65535,  system_mac(0xaa),
                15,     255,
                number, static_cast<uint8_t>(state::kActivity | state::kAggregation | state::kDefaulted)};
  return port;
}

Pdu pdu_from_partner(const Port& port, uint8_t partner_state, uint8_t system, uint16_t number) {
  Pdu pdu;
  pdu.actor = {65535, system_mac(system), 15, 255, number, partner_state};
  pdu.partner = port.actor;
  return pdu;
}

std::size_t World::add(const Options& options, bool up, std::optional<uint8_t> system) {
  const std::size_t node = groups_.size();
  const Mac mac = system_mac(system.value_or(static_cast<uint8_t>(node + 1)));
  auto made = Group::create(mac, options,
                            [this, node](uint16_t port, std::span<const uint8_t> frame) { carry(node, port, frame); });
  groups_.push_back(std::make_unique<Group>(std::move(made.value())));
  usable_changes_.push_back(0);
  called_at_.push_back(kNever);
  if (up) groups_.back()->set_up(true, now);
  return node;
}

void World::enslave(std::size_t node, uint16_t port, const Link& link, uint16_t priority) {
  const Mac mac = port_mac(static_cast<uint8_t>(node + 1), static_cast<uint8_t>(port));
  ASSERT_TRUE(group(node).add_port({port, mac, link, priority}, now).ok());
}

void World::wire(std::size_t a, uint16_t port_a, std::size_t b, uint16_t port_b, Time delay) {
  pipes_.push_back({a, port_a, b, port_b, delay, {}});
  pipes_.push_back({b, port_b, a, port_a, delay, {}});
}

void World::join(std::size_t a, uint16_t port_a, std::size_t b, uint16_t port_b, const Link& link) {
  enslave(a, port_a, link);
  enslave(b, port_b, link);
  wire(a, port_a, b, port_b);
}

void World::cut(std::size_t node, uint16_t port) {
  std::erase_if(pipes_, [=](const Pipe& pipe) {
    return (pipe.node == node && pipe.port == port) || (pipe.to_node == node && pipe.to_port == port);
  });
}

World::Pipe& World::pipe(std::size_t from_node, uint16_t from_port) {
  const auto found = std::find_if(pipes_.begin(), pipes_.end(),
                                  [=](const Pipe& pipe) { return pipe.node == from_node && pipe.port == from_port; });
  EXPECT_NE(found, pipes_.end());
  return *found;
}

void World::set(std::size_t node, const std::function<void(Options&)>& change) {
  Options options = group(node).options();
  change(options);
  ASSERT_TRUE(group(node).set_options(options, now).ok());
}

void World::carry(std::size_t node, uint16_t port, std::span<const uint8_t> frame) {
  const Decoded decoded = decode(frame);
  sent.push_back({now, node, port, decoded.kind, decoded.pdu});
  for (const Pipe& pipe : pipes_) {
    if (pipe.node != node || pipe.port != port || (pipe.loses && pipe.loses(now))) continue;
    const Time at = now + pipe.delay;
    const auto behind =
        std::find_if(flying_.begin(), flying_.end(), [at](const Flying& other) { return other.at > at; });
    flying_.insert(behind, {at, pipe.to_node, pipe.to_port, {frame.begin(), frame.end()}});
  }
}

void World::deliver() {
  while (!flying_.empty() && flying_.front().at <= now) {
    const Flying frame = flying_.front();
    flying_.pop_front();
    group(frame.node).receive(frame.port, frame.bytes, now);
  }
}

Time World::call_time(std::size_t node) {
  const Time deadline = groups_[node]->next_deadline().value_or(kNever);
  if (deadline == kNever || !lateness) return deadline;
  Time& called = called_at_[node];
  if (called == kNever) called = std::max(deadline, now) + lateness();
  return called;
}

void World::run_until(Time until) {
  while (true) {
    Time next = flying_.empty() ? kNever : flying_.front().at;
    for (std::size_t node = 0; node < groups_.size(); ++node) next = std::min(next, call_time(node));
    if (next > until) break;
    now = std::max(now, next);
    deliver();
    for (std::size_t node = 0; node < groups_.size(); ++node) {
      if (call_time(node) <= now) {
        called_at_[node] = kNever;
        groups_[node]->tick(now);
      }
      // After a tick at `now`, nothing may be due at `now`: the caller would spin.
      if (!lateness) {
        ASSERT_GT(groups_[node]->next_deadline().value_or(kNever), now);
      }
      if (groups_[node]->take_changes().usable) ++usable_changes_[node];
    }
    if (after_step) after_step();
  }
  now = std::max(now, until);
}

std::optional<Time> World::run_while_not(const std::function<bool()>& condition, Time limit) {
  const Time start = now;
  while (!condition()) {
    if (now - start >= limit) return std::nullopt;
    run_for(10 * kMillisecond);
  }
  return now - start;
}

std::vector<Sent> World::sent_by(std::size_t node, uint16_t port, Time from) const {
  std::vector<Sent> pdus;
  std::copy_if(sent.begin(), sent.end(), std::back_inserter(pdus), [=](const Sent& pdu) {
    return pdu.node == node && pdu.port == port && pdu.at >= from && pdu.kind == FrameKind::lacpdu;
  });
  return pdus;
}

::testing::AssertionResult at_most_three_a_second(const std::vector<Sent>& pdus) {
  for (std::size_t i = 0; i + 3 < pdus.size(); ++i) {
    if (pdus[i + 3].at - pdus[i].at < kSecond) {
      return ::testing::AssertionFailure() << "four PDUs within " << pdus[i + 3].at - pdus[i].at << " ns";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace xbond::lacp
