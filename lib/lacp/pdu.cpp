#include "lib/lacp/pdu.hpp"

#include <algorithm>

namespace xbond::lacp {

namespace {

constexpr uint16_t kEthertype = 0x8809;
constexpr uint8_t kSubtypeLacp = 1;
constexpr uint8_t kSubtypeMarker = 2;
constexpr uint8_t kTlvActor = 1;
constexpr uint8_t kTlvPartner = 2;
constexpr uint8_t kTlvCollector = 3;
constexpr uint8_t kTlvMarker = 1;
constexpr uint8_t kTlvMarkerResponse = 2;
constexpr uint8_t kInfoBytes = 20;
constexpr uint8_t kCollectorBytes = 16;

// Offsets from the subtype.
constexpr std::size_t kVersion = 1;
constexpr std::size_t kActor = 2;
constexpr std::size_t kPartner = kActor + kInfoBytes;
constexpr std::size_t kCollector = kPartner + kInfoBytes;
constexpr std::size_t kTail = kCollector + kCollectorBytes;
constexpr std::size_t kMarker = 2;

uint16_t load16(std::span<const uint8_t> bytes, std::size_t at) noexcept {
  return static_cast<uint16_t>(bytes[at] << 8U | bytes[at + 1]);
}

void store16(std::span<uint8_t> bytes, std::size_t at, uint16_t value) noexcept {
  bytes[at] = static_cast<uint8_t>(value >> 8U);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

// `tlv` starts at the TLV's type.
Info load_info(std::span<const uint8_t> tlv) noexcept {
  Info info;
  info.system_priority = load16(tlv, 2);
  std::copy_n(tlv.begin() + 4, info.system.size(), info.system.begin());
  info.key = load16(tlv, 10);
  info.port_priority = load16(tlv, 12);
  info.port = load16(tlv, 14);
  info.state = tlv[16];
  return info;
}

void store_info(std::span<uint8_t> tlv, uint8_t type, const Info& info) noexcept {
  tlv[0] = type;
  tlv[1] = kInfoBytes;
  store16(tlv, 2, info.system_priority);
  std::copy(info.system.begin(), info.system.end(), tlv.begin() + 4);
  store16(tlv, 10, info.key);
  store16(tlv, 12, info.port_priority);
  store16(tlv, 14, info.port);
  tlv[16] = info.state;
}

// TLVs of later versions lie between the collector's and the terminator.
void walk_tail(std::span<const uint8_t> pdu, Decoded& decoded) noexcept {
  std::size_t at = kTail;
  while (at + 1 < pdu.size() && pdu[at] != 0) {
    const std::size_t length = pdu[at + 1];
    if (length < 2 || length > pdu.size() - at) {
      decoded.malformed_tail = true;
      return;
    }
    ++decoded.unknown_tlvs;
    at += length;
  }
}

void decode_lacpdu(std::span<const uint8_t> pdu, Decoded& decoded) noexcept {
  if (pdu[kActor + 1] != kInfoBytes || pdu[kPartner + 1] != kInfoBytes) {
    decoded.kind = FrameKind::bad_tlv_length;
    return;
  }
  decoded.kind = FrameKind::lacpdu;
  decoded.pdu.version = pdu[kVersion];
  decoded.pdu.actor = load_info(pdu.subspan(kActor));
  decoded.pdu.partner = load_info(pdu.subspan(kPartner));
  decoded.pdu.collector_max_delay = load16(pdu, kCollector + 2);
  walk_tail(pdu, decoded);
}

FrameKind marker_kind(uint8_t tlv_type) noexcept {
  switch (tlv_type) {
    case kTlvMarker:
      return FrameKind::marker;
    case kTlvMarkerResponse:
      return FrameKind::marker_response;
    default:
      return FrameKind::marker_unknown;
  }
}

void store_header(Frame& frame, const Mac& source) noexcept {
  std::copy(kSlowProtocols.begin(), kSlowProtocols.end(), frame.begin());
  std::copy(source.begin(), source.end(), frame.begin() + 6);
  store16(frame, 12, kEthertype);
}

}  // namespace

Decoded decode(std::span<const uint8_t> frame) noexcept {
  Decoded decoded;
  if (frame.size() < kEthernetHeader) return decoded;
  if (!std::equal(kSlowProtocols.begin(), kSlowProtocols.end(), frame.begin()) || load16(frame, 12) != kEthertype) {
    decoded.kind = FrameKind::not_slow_protocol;
    return decoded;
  }
  const std::span<const uint8_t> pdu = frame.subspan(kEthernetHeader);
  if (pdu.size() < kPduBytes) return decoded;
  if (pdu[0] == kSubtypeLacp) {
    decode_lacpdu(pdu, decoded);
  } else {
    decoded.kind = pdu[0] == kSubtypeMarker ? marker_kind(pdu[kMarker]) : FrameKind::unknown_subtype;
  }
  return decoded;
}

Frame encode(const Pdu& pdu, const Mac& source) noexcept {
  Frame frame{};
  store_header(frame, source);
  const std::span<uint8_t> body = std::span(frame).subspan(kEthernetHeader);
  body[0] = kSubtypeLacp;
  body[kVersion] = pdu.version;
  store_info(body.subspan(kActor), kTlvActor, pdu.actor);
  store_info(body.subspan(kPartner), kTlvPartner, pdu.partner);
  body[kCollector] = kTlvCollector;
  body[kCollector + 1] = kCollectorBytes;
  store16(body, kCollector + 2, pdu.collector_max_delay);
  return frame;
}

Frame marker_response(std::span<const uint8_t> frame, const Mac& source) noexcept {
  Frame answer{};
  std::copy_n(frame.begin(), std::min(frame.size(), answer.size()), answer.begin());
  store_header(answer, source);
  answer[kEthernetHeader + kMarker] = kTlvMarkerResponse;
  return answer;
}

}  // namespace xbond::lacp
