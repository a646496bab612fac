// What a received frame tells the ARP monitor (bond_rcv_validate, bond_arp_rcv, bond_na_rcv). Frames are hostile: only
// what is long enough and of the right kind is looked at.
#include <algorithm>

#include "lib/bond/state.hpp"

namespace xbond::bond {
namespace {

constexpr size_t kEthernet = 14, kArp = 28, kIpv6Bytes = 40;

uint16_t be16(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

template <size_t n>
std::array<uint8_t, n> address_at(std::span<const uint8_t> bytes, size_t at) {
  std::array<uint8_t, n> address{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), n, address.begin());
  return address;
}

// Sender and target of a probe or its answer.
struct Heard {
  bool ipv6 = false, reply = false;
  Ipv4 sender4{}, target4{};
  Ipv6 sender6{}, target6{};
};

bool read_arp(std::span<const uint8_t> arp, Heard& heard) {
  if (arp.size() < kArp || be16(arp, 0) != 1 || be16(arp, 2) != 0x0800 || arp[4] != 6 || arp[5] != 4) return false;
  heard.reply = be16(arp, 6) == 2;
  heard.sender4 = address_at<4>(arp, 14);
  heard.target4 = address_at<4>(arp, 24);
  return true;
}

bool read_neighbour(std::span<const uint8_t> ip, Heard& heard) {
  constexpr uint8_t kIcmp6 = 58, kSolicitation = 135, kAdvertisement = 136;
  if (ip.size() <= kIpv6Bytes || ip[6] != kIcmp6) return false;
  if (ip[kIpv6Bytes] != kSolicitation && ip[kIpv6Bytes] != kAdvertisement) return false;
  heard.ipv6 = true;
  heard.reply = true;
  heard.sender6 = address_at<16>(ip, 8);
  heard.target6 = address_at<16>(ip, 24);
  return true;
}

bool read(std::span<const uint8_t> frame, Heard& heard) {
  if (frame.size() < kEthernet) return false;
  size_t at = kEthernet;
  // Probes of VLAN devices above the bond.
  for (int tags = 0; tags < 2 && frame.size() >= at + 4; ++tags, at += 4) {
    const uint16_t type = be16(frame, at - 2);
    if (type != 0x8100 && type != 0x88a8) break;
  }
  const uint16_t type = be16(frame, at - 2);
  if (type == 0x0806) return read_arp(frame.subspan(at), heard);
  return type == 0x86dd && read_neighbour(frame.subspan(at), heard);
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

// bond_validate_arp, bond_validate_na: from a target, to an address of ours.
void State::accept(Member& m, const Ipv4& from, const Ipv4& to, uint64_t now) const {
  const auto target = std::find(params.arp_targets.begin(), params.arp_targets.end(), from);
  if (target == params.arp_targets.end() || !contains(addresses.v4, to)) return;
  m.last_rx_ms = now;
  m.arp_rx_ms[static_cast<size_t>(target - params.arp_targets.begin())] = now;
}

void State::accept(Member& m, const Ipv6& from, const Ipv6& to, uint64_t now) const {
  constexpr Ipv6 kAllNodes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const auto target = std::find(params.ns_targets.begin(), params.ns_targets.end(), from);
  if (target == params.ns_targets.end() || (to != kAllNodes && !contains(addresses.v6, to))) return;
  m.last_rx_ms = now;
  m.ns_rx_ms[static_cast<size_t>(target - params.ns_targets.begin())] = now;
}

void State::saw_frames(Member& m, uint64_t now) const {
  if (!validates(m) && (params.arp_validate & kValidateFilter) == 0) m.last_rx_ms = now;
}

void State::received(Member& m, std::span<const uint8_t> frame, uint64_t now) {
  Heard heard;
  if (params.arp_interval == 0 || !read(frame, heard)) return;
  if (!validates(m)) {
    m.last_rx_ms = now;
    return;
  }
  const auto check = [&](bool reversed) {
    if (heard.ipv6) {
      reversed ? accept(m, heard.target6, heard.sender6, now) : accept(m, heard.sender6, heard.target6, now);
    } else {
      reversed ? accept(m, heard.target4, heard.sender4, now) : accept(m, heard.sender4, heard.target4, now);
    }
  };
  const Member* current = active ? find(*active) : nullptr;
  const Member* sought = candidate ? find(*candidate) : nullptr;
  if (params.mode != Mode::active_backup || is_active(m) || candidate == m.port) {
    check(false);
  } else if (current != nullptr && last_rx(*current) > current->last_up_ms) {
    check(true);  // a backup hears the active one's own request, sent to everybody
  } else if (sought != nullptr && heard.reply && within(sought->last_tx_ms, 1, now)) {
    check(false);
  }
}

}  // namespace xbond::bond
