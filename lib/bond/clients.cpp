#include "lib/bond/clients.hpp"

#include <algorithm>
#include <utility>

namespace xbond::bond {
namespace {

// RLB_UPDATE_DELAY: from one update to the next, so as not to confuse clients. (Linux begins to wait when the next one
// is wanted, so that a cut is told two seconds late.)
constexpr uint64_t kUpdateDelayMs = 2000;
constexpr uint32_t kUpdateRetry = 3;  // RLB_UPDATE_RETRY
constexpr uint32_t kUpdateBurst = 2;  // RLB_ARP_BURST_SIZE
constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr size_t kAddresses = 12, kArpBytes = 28;

uint32_t place_of(const Ipv4& client) {
  return static_cast<uint32_t>(client[0] ^ client[1] ^ client[2] ^ client[3]);
}

template <size_t n>
std::array<uint8_t, n> address_at(std::span<const uint8_t> bytes, size_t at) {
  std::array<uint8_t, n> address{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), n, address.begin());
  return address;
}

uint16_t word_at(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

bool is_unicast(const Mac& mac) {
  return (mac[0] & 1U) == 0 && mac != Mac{};
}

}  // namespace

struct Clients::Arp {
  size_t at = 0;  // of the ARP header
  uint16_t operation = 0;
  Mac sender_mac{}, target_mac{};
  Ipv4 sender{}, target{};
  Tags tags;
};

std::optional<Clients::Arp> Clients::read(std::span<const uint8_t> frame) {
  constexpr uint16_t kArpType = 0x0806, kIpv4Type = 0x0800, kTag = 0x8100, kOuterTag = 0x88a8, kEthernet = 1;
  Arp arp;
  size_t at = kAddresses;
  for (; frame.size() >= at + 6 && arp.tags.size < arp.tags.bytes.size(); at += 4) {
    const uint16_t type = word_at(frame, at);
    if (type != kTag && type != kOuterTag) break;
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(at), 4, arp.tags.bytes.begin() + arp.tags.size);
    arp.tags.size += 4;
  }
  if (frame.size() < at + 2 + kArpBytes || word_at(frame, at) != kArpType) return std::nullopt;
  arp.at = at + 2;
  const auto body = frame.subspan(arp.at);
  if (word_at(body, 0) != kEthernet || word_at(body, 2) != kIpv4Type || body[4] != 6 || body[5] != 4) {
    return std::nullopt;
  }
  arp.operation = word_at(body, 6);
  arp.sender_mac = address_at<6>(body, 8);
  arp.sender = address_at<4>(body, 14);
  arp.target_mac = address_at<6>(body, 18);
  arp.target = address_at<4>(body, 24);
  return arp;
}

// rlb_next_rx_slave: the next one in order, but a faster one first.
const Clients::Carrier* Clients::next_carrier(const Members& members) {
  const Carrier* before = nullptr;
  const Carrier* after = nullptr;
  bool found = false;
  for (const Carrier& carrier : members.carriers) {
    const Carrier*& best = found ? after : before;
    if (best == nullptr || best->speed_mbps < carrier.speed_mbps) best = &carrier;
    found = found || carrier.port == last_;
  }
  if (after == nullptr || (before != nullptr && after->speed_mbps < before->speed_mbps)) after = before;
  if (after != nullptr) last_ = after->port;
  return after;
}

void Clients::push_update(const Entry& entry, const Members& members) {
  const auto carrier = std::find_if(members.carriers.begin(), members.carriers.end(),
                                    [&](const Carrier& c) { return c.port == entry.port; });
  if (carrier == members.carriers.end()) return;
  for (uint32_t i = 0; i < kUpdateBurst; ++i) {
    pending_.push_back({.port = entry.port,
                        .member_mac = carrier->mac,
                        .client_mac = entry.client_mac,
                        .own = entry.own,
                        .client = entry.client,
                        .tags = entry.tags});
  }
}

// rlb_choose_channel. kNoPort: nobody can transmit.
uint16_t Clients::assign(const Arp& arp, const Members& members) {
  Entry& entry = entries_[place_of(arp.target)];
  if (entry.assigned && entry.own == arp.sender && entry.client == arp.target) {
    if (arp.target_mac != kBroadcast) entry.client_mac = arp.target_mac;
    entry.own_mac = arp.sender_mac;
    if (entry.port != port::kNoPort) return entry.port;
  } else if (entry.assigned && members.active != port::kNoPort && entry.port != members.active) {
    // Another client's place: that one goes back to the bond's address.
    entry.port = members.active;
    push_update(entry, members);
  }
  const Carrier* carrier = next_carrier(members);
  if (carrier == nullptr) return port::kNoPort;
  entry = {.assigned = true,
           .tell = arp.target_mac != kBroadcast,
           .port = carrier->port,
           .own = arp.sender,
           .client = arp.target,
           .own_mac = arp.sender_mac,
           .client_mac = arp.target_mac,
           .tags = arp.tags};
  update_ = update_ || entry.tell;
  return entry.port;
}

// rlb_req_update_subnet_clients: a request, which everybody hears, brought all of them back to the active member.
void Clients::collapsed(const Ipv4& own, const Members& members) {
  for (Entry& entry : entries_) {
    if (!entry.assigned || entry.own != own || entry.client_mac == kBroadcast) continue;
    const auto carrier = std::find_if(members.carriers.begin(), members.carriers.end(),
                                      [&](const Carrier& c) { return c.port == entry.port; });
    if (carrier == members.carriers.end() || carrier->mac == members.bond) continue;
    entry.tell = update_ = true;
  }
}

// rlb_arp_xmit
std::optional<uint16_t> Clients::sent(std::span<uint8_t> frame, const Members& members, uint64_t now) {
  constexpr uint16_t kRequest = 1, kReply = 2;
  const std::optional<Arp> read_arp = read(frame);
  if (!read_arp) return std::nullopt;
  Arp arp = *read_arp;
  if (std::find(members.own.begin(), members.own.end(), arp.sender_mac) == members.own.end()) return std::nullopt;
  // Where the ARP header does not say who the client is, the frame may.
  if (!is_unicast(arp.target_mac)) arp.target_mac = address_at<6>(frame, 0);
  if (!is_unicast(arp.target_mac)) arp.target_mac = kBroadcast;
  if (arp.operation == kReply) {
    const uint16_t port = assign(arp, members);
    const auto carrier = std::find_if(members.carriers.begin(), members.carriers.end(),
                                      [&](const Carrier& c) { return c.port == port; });
    if (carrier == members.carriers.end()) return std::nullopt;
    std::copy(carrier->mac.begin(), carrier->mac.end(), frame.begin() + 6);
    std::copy(carrier->mac.begin(), carrier->mac.end(), frame.begin() + static_cast<std::ptrdiff_t>(arp.at) + 8);
    return port;
  }
  if (arp.operation == kRequest) {
    (void)assign(arp, members);
    not_before_ = now + kUpdateDelayMs;  // the update has to come after the request's effect
    collapsed(arp.sender, members);
  }
  return std::nullopt;
}

// rlb_arp_recv
void Clients::received(std::span<const uint8_t> frame) {
  constexpr uint16_t kReply = 2;
  const std::optional<Arp> arp = read(frame);
  if (!arp) return;
  // Somebody else has an address that was the host's: no more updates with it.
  for (Entry& entry : entries_) {
    if (entry.assigned && entry.own == arp->sender && entry.own_mac != arp->sender_mac) entry = {};
  }
  if (arp->operation != kReply || !is_unicast(arp->sender_mac)) return;
  Entry& entry = entries_[place_of(arp->sender)];
  if (!entry.assigned || entry.own != arp->target || entry.client != arp->sender) return;
  if (entry.client_mac == arp->sender_mac) return;
  entry.client_mac = arp->sender_mac;
  entry.tell = update_ = true;
}

// rlb_clear_slave
void Clients::lost(uint16_t port, const Members& members) {
  for (Entry& entry : entries_) {
    if (!entry.assigned || entry.port != port) continue;
    const Carrier* heir = next_carrier(members);
    entry.port = heir != nullptr ? heir->port : port::kNoPort;
    if (heir == nullptr || entry.client_mac == kBroadcast) continue;
    entry.tell = update_ = true;
    retry_ = kUpdateRetry;  // clients that miss it would be cut off
  }
  if (last_ == port) last_ = port::kNoPort;
}

// rlb_req_update_slave_clients
void Clients::address_changed(uint16_t port) {
  for (Entry& entry : entries_) {
    if (!entry.assigned || entry.port != port || entry.client_mac == kBroadcast) continue;
    entry.tell = update_ = true;
    retry_ = kUpdateRetry;
  }
}

// The part of bond_alb_monitor that is rlb's.
void Clients::round(const Members& members, uint64_t now) {
  if (std::exchange(rebalance_, false)) {
    for (Entry& entry : entries_) {
      if (!entry.assigned) continue;
      const Carrier* carrier = next_carrier(members);
      if (carrier == nullptr || carrier->port == entry.port) continue;
      entry.port = carrier->port;
      // (The kernel would tell a client whose address it does not know, too.)
      entry.tell = entry.client_mac != kBroadcast;
      update_ = update_ || entry.tell;
    }
  }
  if (!update_ || now < not_before_) return;
  for (Entry& entry : entries_) {
    if (!entry.assigned || !entry.tell) continue;
    push_update(entry, members);
    if (retry_ == 0) entry.tell = false;
  }
  not_before_ = now + kUpdateDelayMs;
  if (retry_ != 0) {
    --retry_;
  } else {
    update_ = false;
  }
}

std::vector<ClientUpdate> Clients::take_updates() {
  return std::exchange(pending_, {});
}

std::set<Tags> Clients::tags() const {
  std::set<Tags> all;
  for (const Entry& entry : entries_) {
    if (entry.assigned && entry.tags.size != 0) all.insert(entry.tags);
  }
  return all;
}

std::optional<uint16_t> Clients::port_of(const Ipv4& client) const {
  const Entry& entry = entries_[place_of(client)];
  if (!entry.assigned || entry.client != client || entry.port == port::kNoPort) return std::nullopt;
  return entry.port;
}

}  // namespace xbond::bond
