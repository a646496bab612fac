// The codec: byte-exact both ways, and hostile frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/lacp/pdu.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {
namespace {

constexpr Mac kSource{0x02, 0, 0, 0, 0x0a, 0};

Pdu sample() {
  Pdu pdu;
  pdu.actor = {1000, {0x02, 0xaa, 0, 0, 0, 1}, 335, 255, 1, 0xc7};
  pdu.partner = {65535, {}, 1, 255, 1, 2};
  return pdu;
}

std::vector<uint8_t> bytes(const Frame& frame) {
  return {frame.begin(), frame.end()};
}

TEST(PduCodec, EncodesByteForByteWhatLinuxSent) {
  const auto recorded = read_pcap("lacp_fast.tcg-s0.pcap");
  ASSERT_FALSE(recorded.empty());
  EXPECT_EQ(bytes(encode(sample(), kSource)), recorded.front().bytes);
}

TEST(PduCodec, EveryRecordedFrameSurvivesDecodingAndEncoding) {
  std::size_t frames = 0;
  for (const char* file : kRecordings) {
    for (const Recorded& recorded : read_pcap(file)) {
      const Decoded decoded = decode(recorded.bytes);
      ASSERT_EQ(decoded.kind, FrameKind::lacpdu);
      EXPECT_EQ(decoded.unknown_tlvs, 0U);
      EXPECT_FALSE(decoded.malformed_tail);
      EXPECT_EQ(bytes(encode(decoded.pdu, recorded.source())), recorded.bytes);
      ++frames;
    }
  }
  EXPECT_GT(frames, 300U);
}

TEST(PduCodec, FieldsLieWhereTheStandardPutsThem) {
  Pdu pdu;
  pdu.actor = {0x1112, {0x21, 0x22, 0x23, 0x24, 0x25, 0x26}, 0x3132, 0x4142, 0x5152, 0x61};
  pdu.partner = {0x7172, {0x81, 0x82, 0x83, 0x84, 0x85, 0x86}, 0x9192, 0xa1a2, 0xb1b2, 0xc1};
  pdu.collector_max_delay = 0xd1d2;
  const Frame frame = encode(pdu, kSource);
  const std::vector<uint8_t> head(frame.begin(), frame.begin() + 14 + 62);
  const std::vector<uint8_t> expected{
      0x01, 0x80, 0xc2, 0,    0,    2,    0x02, 0,    0,    0,    0x0a, 0,    0x88, 0x09,  // Ethernet
      1,    1,                                                                             // version
      1,    20,   0x11, 0x12, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x31, 0x32, 0x41, 0x42, 0x51, 0x52,
      0x61, 0,    0,    0,  // actor
      2,    20,   0x71, 0x72, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x91, 0x92, 0xa1, 0xa2, 0xb1, 0xb2,
      0xc1, 0,    0,    0,                                                                          // partner
      3,    16,   0xd1, 0xd2, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,  // collector
      0,    0,    0,    0};
  EXPECT_EQ(head, expected);
  EXPECT_TRUE(std::all_of(frame.begin() + 14 + 62, frame.end(), [](uint8_t byte) { return byte == 0; }));
  EXPECT_EQ(decode(frame).pdu, pdu);
}

TEST(PduCodec, RefusesEveryShorterFrame) {
  const Frame frame = encode(sample(), kSource);
  for (std::size_t length = 0; length < frame.size(); ++length) {
    // A copy of its own, so that a read past the end is seen by the sanitizer.
    const std::vector<uint8_t> cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(decode(cut).kind, FrameKind::too_short) << length;
  }
  EXPECT_EQ(decode({}).kind, FrameKind::too_short);
}

TEST(PduCodec, RefusesOtherDestinationsEthertypesAndSubtypes) {
  Frame frame = encode(sample(), kSource);
  for (std::size_t at : {std::size_t{0}, std::size_t{5}, std::size_t{12}, std::size_t{13}}) {
    Frame other = frame;
    other[at] ^= 1;
    EXPECT_EQ(decode(other).kind, FrameKind::not_slow_protocol) << at;
  }
  for (unsigned subtype = 0; subtype < 256; ++subtype) {
    frame[14] = static_cast<uint8_t>(subtype);
    const FrameKind kind = decode(frame).kind;
    if (subtype == 1) {
      EXPECT_EQ(kind, FrameKind::lacpdu);
    } else if (subtype == 2) {
      EXPECT_EQ(kind, FrameKind::marker);
    } else {
      EXPECT_EQ(kind, FrameKind::unknown_subtype) << subtype;
    }
  }
}

TEST(PduCodec, RefusesWrongLengthsOfActorAndPartner) {
  const Frame frame = encode(sample(), kSource);
  for (std::size_t at : {std::size_t{14 + 3}, std::size_t{14 + 23}}) {
    for (unsigned length = 0; length < 256; ++length) {
      Frame other = frame;
      other[at] = static_cast<uint8_t>(length);
      EXPECT_EQ(decode(other).kind, length == 20 ? FrameKind::lacpdu : FrameKind::bad_tlv_length) << length;
    }
  }
}

TEST(PduCodec, DoesNotCheckVersionTlvTypesAndReservedBytes) {
  Frame frame = encode(sample(), kSource);
  frame[14 + 1] = 7;      // version
  frame[14 + 2] = 99;     // actor's TLV type
  frame[14 + 22] = 98;    // partner's
  frame[14 + 42] = 97;    // collector's
  frame[14 + 43] = 0;     // and its length
  frame[14 + 19] = 0xff;  // reserved
  frame[14 + 109] = 0xff;
  const Decoded decoded = decode(frame);
  EXPECT_EQ(decoded.kind, FrameKind::lacpdu);
  EXPECT_EQ(decoded.pdu.version, 7);
  EXPECT_EQ(decoded.pdu.actor, sample().actor);
  EXPECT_EQ(decoded.pdu.partner, sample().partner);
}

TEST(PduCodec, TakesVersion2WithItsTlvs) {
  Pdu pdu = sample();
  pdu.version = 2;
  Frame frame = encode(pdu, kSource);
  std::vector<uint8_t> longer(frame.begin(), frame.end());
  const std::vector<uint8_t> tlvs{4, 6, 0, 0x80, 0xc2, 1, 5, 20, 0, 0, 0,  0, 0, 0, 0, 0,
                                  0, 0, 0, 0,    0,    0, 0, 0,  0, 0, 77, 3, 1, 0, 0};
  std::copy(tlvs.begin(), tlvs.end(), longer.begin() + 14 + 58);
  longer.insert(longer.end(), 200, 0);  // a long LACPDU, or padding
  const Decoded decoded = decode(longer);
  EXPECT_EQ(decoded.kind, FrameKind::lacpdu);
  EXPECT_EQ(decoded.pdu, pdu);
  EXPECT_EQ(decoded.unknown_tlvs, 3U);
  EXPECT_FALSE(decoded.malformed_tail);
}

TEST(PduCodec, ToleratesATailThatDoesNotAddUp) {
  for (const std::vector<uint8_t>& tail :
       {std::vector<uint8_t>{9, 0}, {9, 1}, {9, 53}, {9, 255}, {4, 6, 0, 0, 0, 0, 9, 1}}) {
    Frame frame = encode(sample(), kSource);
    std::copy(tail.begin(), tail.end(), frame.begin() + 14 + 58);
    const Decoded decoded = decode(frame);
    EXPECT_EQ(decoded.kind, FrameKind::lacpdu);
    EXPECT_TRUE(decoded.malformed_tail);
    EXPECT_EQ(decoded.pdu, sample());
  }
}

TEST(PduCodec, TailThatEndsWithTheFrameIsRead) {
  Frame frame = encode(sample(), kSource);
  frame[14 + 58] = 9;
  frame[14 + 59] = 52;  // up to the last byte
  const Decoded decoded = decode(frame);
  EXPECT_FALSE(decoded.malformed_tail);
  EXPECT_EQ(decoded.unknown_tlvs, 1U);
}

TEST(MarkerCodec, AnswersWithTheSameBytesAndTheResponseType) {
  Frame marker{};
  const Frame header = encode(Pdu{}, {0x02, 0, 0, 0, 0x0b, 7});
  std::copy_n(header.begin(), 14, marker.begin());
  const std::vector<uint8_t> body{2, 1, 1, 16, 0x12, 0x34, 2, 3, 4, 5, 6, 7, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0};
  std::copy(body.begin(), body.end(), marker.begin() + 14);
  marker[120] = 0x5a;  // reserved bytes come back too, as from Linux
  ASSERT_EQ(decode(marker).kind, FrameKind::marker);

  Frame expected = marker;
  std::copy(kSource.begin(), kSource.end(), expected.begin() + 6);
  expected[14 + 2] = 2;
  std::vector<uint8_t> longer(marker.begin(), marker.end());
  longer.resize(1500, 0xaa);
  EXPECT_EQ(marker_response(marker, kSource), expected);
  EXPECT_EQ(marker_response(longer, kSource), expected);
  EXPECT_EQ(decode(expected).kind, FrameKind::marker_response);
  expected[14 + 2] = 3;
  EXPECT_EQ(decode(expected).kind, FrameKind::marker_unknown);
  EXPECT_EQ(decode(std::span(expected).first(123)).kind, FrameKind::too_short);
}

TEST(LinkKey, HasLinuxsSpeedCodes) {
  const std::vector<std::pair<uint32_t, uint16_t>> codes{
      {10, 2},     {100, 3},     {1000, 4},    {2500, 5},    {5000, 6},    {10000, 7},
      {14000, 8},  {20000, 9},   {25000, 10},  {40000, 11},  {50000, 12},  {56000, 13},
      {80000, 14}, {100000, 15}, {200000, 16}, {400000, 17}, {800000, 18}, {1600000, 19}};
  for (const auto& [mbps, code] : codes) EXPECT_EQ(speed_code(mbps), code) << mbps;
  for (uint32_t mbps : {0U, 9U, 11U, 10001U, 4294967295U}) EXPECT_EQ(speed_code(mbps), 0) << mbps;
}

TEST(LinkKey, IsUserKeySpeedAndDuplex) {
  EXPECT_EQ(oper_key(5, {true, 10000, true}), 335);  // as in the recordings
  EXPECT_EQ(oper_key(9, {true, 10000, true}), 591);
  EXPECT_EQ(oper_key(5, {false, 10000, true}), 320);
  EXPECT_EQ(oper_key(5, {true, 10000, false}), 334);
  EXPECT_EQ(oper_key(0, {true, 800000, true}), 37);
  EXPECT_EQ(oper_key(1023, {true, 1600000, true}), 0xffc0 | 19 << 1 | 1);
  EXPECT_EQ(oper_key(5, {true, 0, true}), 320);
  EXPECT_EQ(oper_key(5, {true, UINT32_MAX, true}), 320);
}

TEST(Names, CoverEveryValue) {
  EXPECT_EQ(name(ReceiveState::current), "CURRENT");
  EXPECT_EQ(name(PeriodicState::slow), "SLOW_PERIODIC");
  EXPECT_EQ(name(MuxState::collecting_distributing), "COLLECTING_DISTRIBUTING");
  EXPECT_EQ(name(ChurnState::none), "none");
  EXPECT_EQ(name(Machine::choice), "active aggregator");
  EXPECT_EQ(name(Reason::begin), "port starts");
  EXPECT_EQ(name(Reason::administrative), "bond set down");
  EXPECT_EQ(name(static_cast<Reason>(200)), "");
  EXPECT_EQ(state_name(Machine::link, 1), "up");
  EXPECT_EQ(state_name(Machine::receive, 3), "EXPIRED");
  EXPECT_EQ(state_name(Machine::periodic, 0), "NO_PERIODIC");
  EXPECT_EQ(state_name(Machine::mux, 2), "ATTACHED");
  EXPECT_EQ(state_name(Machine::actor_churn, 1), "churned");
  EXPECT_EQ(state_name(Machine::partner_churn, 0), "monitoring");
  EXPECT_EQ(state_name(Machine::selection, 3), "");
  EXPECT_EQ(state_name(Machine::mux, 99), "");
}

}  // namespace
}  // namespace xbond::lacp
