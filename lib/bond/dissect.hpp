// The innermost flow of a frame, for the policies encap2+3 and encap3+4: what Linux's flow dissector finds with
// bonding's keys (__skb_flow_dissect in net/core/flow_dissector.c). Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/bond/frame.hpp"

namespace xbond::bond {

struct Flow {
  uint32_t addresses = 0;  // source ^ destination of the innermost IP header that was read
  uint32_t ports = 0;      // or the word of an ICMP query
};

// The walk ends there, whether the frame lies in one piece or in several: chains of IPv6 extension headers that only an
// attacker sends are longer.
inline constexpr uint32_t kDissectAtMost = 2048;

// `frame`: at least up to and with the ethertype that `start` names. nullopt: a header is cut, broken or unknown.
std::optional<Flow> dissect(std::span<const uint8_t> frame, const Start& start) noexcept;

}  // namespace xbond::bond
