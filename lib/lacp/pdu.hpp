// Codec of LACPDUs and marker PDUs (IEEE 802.1AX 6.4.2, 6.5.3), as whole Ethernet frames. No allocation. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/lacp/types.hpp"

namespace xbond::lacp {

inline constexpr Mac kSlowProtocols{0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};
inline constexpr std::size_t kEthernetHeader = 14;
inline constexpr std::size_t kPduBytes = 110;  // from the subtype on
inline constexpr std::size_t kFrameBytes = kEthernetHeader + kPduBytes;
using Frame = std::array<uint8_t, kFrameBytes>;

// Actor or partner information; numbers in host order.
struct Info {
  uint16_t system_priority = 0;
  Mac system{};
  uint16_t key = 0;
  uint16_t port_priority = 0;
  uint16_t port = 0;
  uint8_t state = 0;  // state::k…
  bool operator==(const Info&) const = default;

  [[nodiscard]] bool has(uint8_t bits) const noexcept { return (state & bits) == bits; }
  void set(uint8_t bits, bool on) noexcept { state = static_cast<uint8_t>(on ? state | bits : state & ~bits); }
};

struct Pdu {
  uint8_t version = 1;
  Info actor;
  Info partner;
  uint16_t collector_max_delay = 0;
  bool operator==(const Pdu&) const = default;
};

// What a frame is. All from `not_slow_protocol` on are refused.
enum class FrameKind : uint8_t {
  lacpdu,
  marker,             // information: wants an answer
  marker_response,    //
  marker_unknown,     // another TLV where the marker's should be
  not_slow_protocol,  // destination or ethertype is another
  unknown_subtype,    // a slow protocol other than LACP and marker
  too_short,          // under 110 bytes of PDU
  bad_tlv_length      // of the actor's or the partner's TLV
};

struct Decoded {
  FrameKind kind = FrameKind::too_short;
  Pdu pdu;                      // of kind lacpdu
  uint32_t unknown_tlvs = 0;    // skipped, behind the three that we know
  bool malformed_tail = false;  // the TLVs behind them don't add up; nothing there matters, so the PDU counts
};

// Versions, TLV types and reserved fields are not checked (802.1AX 6.4.12, so that later versions stay readable), nor
// anything behind the collector's TLV.
Decoded decode(std::span<const uint8_t> frame) noexcept;

// The frame as Linux sends it: version 1, collector delay and all reserved bytes 0 unless `pdu` says otherwise.
Frame encode(const Pdu& pdu, const Mac& source) noexcept;

// The answer to a marker frame (decode() said `marker`): its bytes, with the TLV type of a response.
Frame marker_response(std::span<const uint8_t> frame, const Mac& source) noexcept;

}  // namespace xbond::lacp
