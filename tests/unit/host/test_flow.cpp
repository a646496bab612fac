#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "lib/host/flow.hpp"

namespace xbond::host {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes ipv4(uint8_t last, uint16_t port, uint8_t protocol = 17, uint16_t fragment = 0) {
  Bytes out(60, 0);
  out[12] = 0x08;
  out[14] = 0x45;
  out[20] = static_cast<uint8_t>(fragment >> 8);
  out[21] = static_cast<uint8_t>(fragment);
  out[23] = protocol;
  out[29] = 1;
  out[33] = last;
  out[34] = static_cast<uint8_t>(port >> 8);
  out[35] = static_cast<uint8_t>(port);
  return out;
}

Bytes ipv6(uint8_t last, uint16_t port) {
  Bytes out(80, 0);
  out[12] = 0x86;
  out[13] = 0xdd;
  out[14] = 0x60;
  out[20] = 6;
  out[53] = last;
  out[54] = static_cast<uint8_t>(port >> 8);
  out[55] = static_cast<uint8_t>(port);
  return out;
}

Bytes tagged(Bytes frame) {
  const Bytes tag{0x81, 0x00, 0x00, 0x05};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  return frame;
}

// How many frames of 1024 that differ as `make` says go to each of 8 workers.
template <class Make>
std::vector<int> spread(Make make) {
  std::vector<int> out(8);
  for (uint32_t i = 0; i < 1024; ++i) ++out.at(pick_worker(make(i), 8));
  return out;
}

void expect_even(const std::vector<int>& counts) {
  for (const int count : counts) {
    EXPECT_GT(count, 80);
    EXPECT_LT(count, 180);
  }
}

TEST(Flow, SpreadsByPortAndAddress) {
  expect_even(spread([](uint32_t i) { return ipv4(1, static_cast<uint16_t>(i)); }));
  expect_even(spread([](uint32_t i) { return ipv6(1, static_cast<uint16_t>(i)); }));
  expect_even(spread([](uint32_t i) { return tagged(ipv4(1, static_cast<uint16_t>(i))); }));
  expect_even(spread([](uint32_t i) {
    auto frame = ipv4(static_cast<uint8_t>(i), 0, 1);
    frame[32] = static_cast<uint8_t>(i >> 8);
    return frame;
  }));
  expect_even(spread([](uint32_t i) {
    Bytes frame(60, 0);
    frame[4] = static_cast<uint8_t>(i >> 8);
    frame[5] = static_cast<uint8_t>(i);
    frame[12] = 0x88;
    frame[13] = 0xb5;
    return frame;
  }));
}

TEST(Flow, KeepsAFlowWhateverElseChanges) {
  const auto first = ipv4(1, 1000);
  auto later = first;
  later[18] = 7;    // identification
  later[22] = 3;    // TTL
  later[0] = 0xaa;  // next hop
  later[37] = 0;    // destination port stays, payload changes
  later.resize(1400, 0x5a);
  for (const uint16_t workers : {2, 3, 8, 64}) EXPECT_EQ(pick_worker(first, workers), pick_worker(later, workers));
}

TEST(Flow, FragmentsOfAPacketStayTogether) {
  for (const uint16_t workers : {2, 8, 64}) {
    std::set<uint16_t> seen;
    seen.insert(pick_worker(ipv4(1, 1000, 17, 0x2000), workers));    // first: ports
    seen.insert(pick_worker(ipv4(1, 0xbeef, 17, 0x2064), workers));  // middle: payload where the ports were
    seen.insert(pick_worker(ipv4(1, 0xdead, 17, 0x00c8), workers));  // last
    EXPECT_EQ(seen.size(), 1U);
  }
}

TEST(Flow, StaysInBoundsOnAnyFrame) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    // Exact size on the heap: a sanitizer sees each byte too many
    Bytes frame(random() % 70);
    for (auto& byte : frame) byte = static_cast<uint8_t>(random());
    if (frame.size() > 13 && round % 2 == 0) {
      frame[12] = round % 4 == 0 ? 0x08 : 0x86;
      frame[13] = round % 4 == 0 ? 0x00 : 0xdd;
    }
    const auto workers = static_cast<uint16_t>(1 + random() % 128);
    EXPECT_LT(pick_worker(frame, workers), workers);
  }
  EXPECT_EQ(pick_worker({}, 1), 0);
  EXPECT_EQ(pick_worker(ipv4(1, 1), 1), 0);
}

}  // namespace
}  // namespace xbond::host
