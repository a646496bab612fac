#include "lib/bond/mode_tlb.hpp"

#include <algorithm>
#include <optional>

#include "lib/bond/hash.hpp"
#include "lib/bond/modulo.hpp"
#include "lib/bond/transport.hpp"

namespace xbond::bond {
namespace {

constexpr uint8_t kIgmp = 2;
constexpr uint8_t kNeighbourSolicitation = 135, kNeighbourAdvertisement = 136;
constexpr uint32_t kLooksAt = kEtherHeader + kTagsAtMost * 4 + kIpv6Header + 1;

// A frame that a member other than the active one may take: where its network header begins.
struct Balanced {
  uint16_t ethertype;
  const uint8_t* network;
};

// Neighbour discovery has to come from the address that it is about. Too short to tell counts as such, as in the
// kernel.
bool is_neighbour_discovery(std::span<const uint8_t> frame, uint32_t at) noexcept {
  if (frame[at + 6] != kIcmp6) {
    return false;
  }
  if (!holds(frame, at, kIpv6Header + 1)) {
    return true;
  }
  const uint8_t type = frame[at + kIpv6Header];
  return type == kNeighbourSolicitation || type == kNeighbourAdvertisement;
}

std::optional<Balanced> ip_header(Path path, std::span<const uint8_t> frame) noexcept {
  if (frame.size() < kEtherHeader) {
    return std::nullopt;
  }
  const Start start = path == Path::host ? start_host(frame) : Start{};
  const uint16_t ethertype = load_be16(frame.data() + start.type_at);
  const uint32_t at = start.network_at;
  const bool ipv4 = ethertype == RTE_ETHER_TYPE_IPV4 && holds(frame, at, kIpv4Header);
  const bool ipv6 =
      ethertype == RTE_ETHER_TYPE_IPV6 && holds(frame, at, kIpv6Header) && !is_neighbour_discovery(frame, at);
  if (!ipv4 && !ipv6) {
    return std::nullopt;
  }
  return Balanced{ethertype, frame.data() + at};
}

uint32_t xor_bytes(const uint8_t* bytes, uint32_t n) noexcept {
  uint32_t hash = 0;
  for (uint32_t i = 0; i < n; ++i) {
    hash ^= bytes[i];
  }
  return hash;
}

// The frame is the host's own, in one piece up to its Ethernet header or else left as it is.
void set_source(rte_mbuf* m, const std::array<uint8_t, 6>& mac) noexcept {
  if (m->data_len >= 12) {
    std::copy(mac.begin(), mac.end(), rte_pktmbuf_mtod(m, uint8_t*) + 6);
  }
}

// Under a bond in broadcast others send the same frame: it is theirs as it is. Out of memory it stays so here, too.
[[gnu::cold, gnu::noinline]] rte_mbuf* copy_of_shared(rte_mbuf* m) noexcept {
  rte_mbuf* copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
  if (copy == nullptr) {
    return m;
  }
  rte_pktmbuf_free(m);
  return copy;
}

void put(const TxTable& table, uint32_t member, port::TxBuffer* by_port, rte_mbuf* m) noexcept {
  const uint16_t port = table.port[member];
  if (port != table.active) {
    if (rte_mbuf_refcnt_read(m) != 1) [[unlikely]] {
      m = copy_of_shared(m);
    }
    if (rte_mbuf_refcnt_read(m) == 1) [[likely]] {
      set_source(m, table.mac[member]);
    }
  }
  port::TxBuffer& buffer = by_port[port];
  buffer.pkts[buffer.count++] = m;
}

// `balances(frame, i, channel)`: whether frame i may leave by any member, and its channel.
template <class Balances>
uint16_t spread(const TxTable& table, LcoreState& state, const uint32_t* hashes, port::TxBuffer* by_port,
                rte_mbuf** pkts, uint16_t n, Balances balances) noexcept {
  if (table.active == port::kNoPort) {
    return 0;
  }
  for (uint16_t i = 0; i < n; ++i) {
    std::array<uint8_t, kLooksAt> copy;
    uint32_t channel = hashes[i];
    const bool balanced = balances(headers(pkts[i], copy), channel);
    if (!balanced) {
      if (table.dynamic) {
        port::count_up(state.unbalanced_bytes, pkts[i]->pkt_len);
      }
      port::TxBuffer& buffer = by_port[table.active];
      buffer.pkts[buffer.count++] = pkts[i];
    } else if (table.dynamic) {
      channel &= kChannels - 1;
      port::count_up(state.channel_bytes[channel], pkts[i]->pkt_len);
      put(table, table.channel[channel], by_port, pkts[i]);
    } else {
      put(table, modulo(hashes[i], table.divide, table.usable), by_port, pkts[i]);
    }
  }
  for (uint16_t i = 0; i < table.usable; ++i) {
    port::flush_full(by_port[table.port[i]]);
  }
  port::flush_full(by_port[table.active]);
  return n;
}

}  // namespace

// bond_xmit_tlb_slave_get
bool tlb_balances(Path path, std::span<const uint8_t> frame) noexcept {
  return !frame.empty() && (frame[0] & 1U) == 0 && ip_header(path, frame).has_value();
}

// bond_xmit_alb_slave_get: `channel` is the xor of the destination address's bytes.
bool alb_balances(Path path, std::span<const uint8_t> frame, uint32_t& channel) noexcept {
  static constexpr uint8_t kBroadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  static constexpr uint8_t kAllNodes[6] = {0x33, 0x33, 0, 0, 0, 1};
  const std::optional<Balanced> ip = ip_header(path, frame);
  if (!ip || std::equal(frame.begin(), frame.begin() + 6, std::begin(kBroadcast))) {
    return false;
  }
  if (ip->ethertype == RTE_ETHER_TYPE_IPV4) {
    channel = xor_bytes(ip->network + 16, 4);
    return load32(ip->network + 16) != 0xffffffff && ip->network[9] != kIgmp;
  }
  const uint8_t* source = ip->network + 8;
  channel = xor_bytes(ip->network + 24, 16);
  const bool probe = std::all_of(source, source + 16, [](uint8_t byte) { return byte == 0; });  // duplicate detection
  return !probe && !std::equal(frame.begin(), frame.begin() + 6, std::begin(kAllNodes));
}

uint16_t transmit_tlb(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                      uint16_t n) noexcept {
  uint32_t hashes[port::kMaxBurst];
  hash_burst(table.policy, path, pkts, n, hashes);
  return spread(table, state, hashes, by_port, pkts, n,
                [path](std::span<const uint8_t> frame, uint32_t& /*channel*/) { return tlb_balances(path, frame); });
}

uint16_t transmit_alb(const TxTable& table, LcoreState& state, Path path, port::TxBuffer* by_port, rte_mbuf** pkts,
                      uint16_t n) noexcept {
  uint32_t hashes[port::kMaxBurst] = {};
  if (!table.dynamic) {
    hash_burst(table.policy, path, pkts, n, hashes);
  }
  return spread(table, state, hashes, by_port, pkts, n, [path](std::span<const uint8_t> frame, uint32_t& channel) {
    return alb_balances(path, frame, channel);
  });
}

}  // namespace xbond::bond
