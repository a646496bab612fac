// How the packet path reads a frame's first headers: words, tags, headers spread over segments. Thread: any.
#pragma once

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace xbond::bond {

inline constexpr uint32_t kEtherHeader = 14;
inline constexpr uint32_t kEthertypeAt = 12;
// Linux walks this many tags in front of a payload (VLAN_MAX_DEPTH).
inline constexpr uint32_t kTagsAtMost = 8;

// As they lie in memory; frames have no alignment.
inline uint16_t load16(const uint8_t* at) noexcept {
  uint16_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
inline uint32_t load32(const uint8_t* at) noexcept {
  uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
// In host order.
inline uint16_t load_be16(const uint8_t* at) noexcept {
  return rte_be_to_cpu_16(load16(at));
}

inline bool is_tag(uint16_t ethertype) noexcept {
  return ethertype == RTE_ETHER_TYPE_VLAN || ethertype == RTE_ETHER_TYPE_QINQ;
}

// Where Linux starts to look at a frame: at which ethertype, and where it takes the network header to begin.
struct Start {
  uint32_t type_at = kEthertypeAt;
  uint32_t network_at = kEtherHeader;

  [[nodiscard]] bool tag_beside() const noexcept { return type_at != kEthertypeAt; }
};

// For a frame that the host's stack sends (at least kEtherHeader bytes): the outer tag is beside the frame, not in it.
// Linux has no tag offload for MPLS, so there the tag stays inside, and the network header is behind it all the same.
inline Start start_host(std::span<const uint8_t> frame) noexcept {
  const uint8_t* data = frame.data();
  const uint32_t untagged = kEthertypeAt + 4;
  if (!is_tag(load_be16(data + kEthertypeAt)) || frame.size() < untagged + 2) {
    return {};
  }
  uint32_t at = untagged;
  for (uint32_t tags = 1; tags < kTagsAtMost && is_tag(load_be16(data + at)) && frame.size() >= at + 6; ++tags) {
    at += 4;
  }
  const uint16_t payload = load_be16(data + at);
  const bool mpls = payload == RTE_ETHER_TYPE_MPLS || payload == RTE_ETHER_TYPE_MPLSM;
  if (mpls) {
    return {.type_at = kEthertypeAt, .network_at = at + 2};
  }
  return {.type_at = untagged, .network_at = untagged + 2};
}

// The frame's first bytes in one piece: in place, or gathered into `copy` where they are spread over segments.
inline std::span<const uint8_t> headers(const rte_mbuf* m, std::span<uint8_t> copy) noexcept {
  if (m->nb_segs == 1 || m->data_len >= copy.size()) {
    return {rte_pktmbuf_mtod(m, const uint8_t*), m->data_len};
  }
  const auto wanted = std::min<uint32_t>(m->pkt_len, static_cast<uint32_t>(copy.size()));
  return {static_cast<const uint8_t*>(rte_pktmbuf_read(m, 0, wanted, copy.data())), wanted};
}

}  // namespace xbond::bond
