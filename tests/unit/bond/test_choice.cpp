// What `bond hash` says of a frame is what transmit() does with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "lib/bond/choice.hpp"
#include "tests/unit/bond/ring_ports.hpp"

namespace xbond::bond::test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes tagged(Bytes frame) {
  const uint8_t tag[] = {0x81, 0x00, 0x20, 0x07};
  frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
  return frame;
}

// Frames of every kind that some mode treats apart.
std::vector<Bytes> all_kinds() {
  std::vector<Bytes> frames;
  for (uint32_t flow = 0; flow < 40; ++flow) {
    frames.push_back(udp_frame(flow, flow));
    frames.push_back(tagged(udp_frame(flow, flow)));
  }
  Bytes igmp = udp_frame(1, 0);
  igmp[14 + 9] = 2;
  frames.push_back(igmp);
  frames.push_back(tagged(igmp));
  Bytes to_all = udp_frame(2, 0);
  std::fill_n(to_all.begin(), 6, uint8_t{0xff});
  frames.push_back(to_all);
  Bytes group = udp_frame(3, 0);
  group[0] |= 1;
  frames.push_back(group);
  Bytes arp = udp_frame(4, 0);
  arp[12] = 0x08;
  arp[13] = 0x06;
  frames.push_back(arp);
  frames.push_back(Bytes(20, 0xab));
  return frames;
}

TxTable table_of(Mode mode, Policy policy, bool dynamic, const RingPorts& ports) {
  TxTable table;
  table.mode = mode;
  table.policy = policy;
  table.dynamic = dynamic;
  table.usable = static_cast<uint16_t>(ports.count());
  for (unsigned i = 0; i < ports.count(); ++i) {
    table.port[i] = ports.id(i);
    table.mac[i] = {2, 0, 0, 0, 9, static_cast<uint8_t>(i)};
  }
  for (uint32_t i = 0; i < kChannels; ++i) {
    table.channel[i] = static_cast<uint8_t>((i * 7) % ports.count());
  }
  table.active = ports.id(1);
  table.seal();
  return table;
}

class ChoiceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { start_eal(); }

  // The ports that a frame by itself leaves by.
  std::vector<uint16_t> left_by(const TxTable& table, RingPorts& ports, Path path, const Bytes& bytes) {
    rte_mbuf* frame = pool_.frame(bytes);
    if (transmit(table, &state_, path, ports.buffers(), &frame, 1) == 0) {
      rte_pktmbuf_free(frame);
    }
    ports.flush();
    std::vector<uint16_t> used;
    for (unsigned i = 0; i < ports.count(); ++i) {
      if (!ports.sent(i).empty()) {
        used.push_back(ports.id(i));
      }
    }
    return used;
  }

  Pool pool_;
  LcoreState state_;
};

TEST_F(ChoiceTest, IsWhatTransmitDoes) {
  RingPorts ports(3);
  for (uint8_t mode = 0; mode < kModeCount; ++mode) {
    for (const bool dynamic : {false, true}) {
      for (const Policy policy : {Policy::layer2, Policy::layer23, Policy::layer34, Policy::vlan_srcmac}) {
        const TxTable table = table_of(static_cast<Mode>(mode), policy, dynamic, ports);
        for (const Path path : {Path::xdp, Path::host}) {
          for (const Bytes& frame : all_kinds()) {
            const Choice choice = choose(table, path, frame);
            const std::vector<uint16_t> used = left_by(table, ports, path, frame);
            if (choice.why == Choice::Why::every) {
              ASSERT_EQ(used.size(), 3U);
            } else if (choice.why == Choice::Why::in_turn) {
              ASSERT_EQ(used.size(), 1U);
              ASSERT_EQ(choice.port, port::kNoPort);
            } else {
              ASSERT_EQ(used, std::vector<uint16_t>{choice.port}) << "mode " << +mode << " dynamic " << dynamic;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(pool_.in_use(), 0U);
}

TEST_F(ChoiceTest, SaysWhy) {
  RingPorts ports(3);
  const Bytes udp = udp_frame(1, 1);
  Bytes arp = udp;
  arp[12] = 0x08;
  arp[13] = 0x06;
  const auto why = [&](Mode mode, bool dynamic, const Bytes& frame) {
    return choose(table_of(mode, Policy::layer34, dynamic, ports), Path::host, frame).why;
  };
  EXPECT_EQ(why(Mode::balance_rr, false, udp), Choice::Why::in_turn);
  EXPECT_EQ(why(Mode::active_backup, false, udp), Choice::Why::active);
  EXPECT_EQ(why(Mode::balance_xor, false, udp), Choice::Why::hashed);
  EXPECT_EQ(why(Mode::broadcast, false, udp), Choice::Why::every);
  EXPECT_EQ(why(Mode::ieee8023ad, false, udp), Choice::Why::hashed);
  for (const Mode mode : {Mode::balance_tlb, Mode::balance_alb}) {
    EXPECT_EQ(why(mode, true, udp), Choice::Why::channel);
    EXPECT_EQ(why(mode, false, udp), Choice::Why::hashed);
    EXPECT_EQ(why(mode, true, arp), Choice::Why::unbalanced);
    TxTable none = table_of(mode, Policy::layer2, true, ports);
    none.active = port::kNoPort;
    EXPECT_EQ(choose(none, Path::host, udp).why, Choice::Why::no_member);
  }
  EXPECT_EQ(choose(TxTable{}, Path::xdp, udp).why, Choice::Why::no_member);
}

// The host's ARP and neighbour discovery by every member, tagged too; nothing else, and nothing that XDP sends.
TEST_F(ChoiceTest, BroadcastNeighbor) {
  RingPorts ports(3);
  TxTable table = table_of(Mode::ieee8023ad, Policy::layer34, false, ports);
  table.broadcast_neighbor = true;
  Bytes arp = udp_frame(4, 0);
  arp[12] = 0x08;
  arp[13] = 0x06;
  Bytes solicitation(80, 0);
  solicitation[12] = 0x86;
  solicitation[13] = 0xdd;
  solicitation[14 + 6] = 58;
  solicitation[14 + 40] = 135;
  Bytes echo = solicitation;
  echo[14 + 40] = 128;
  for (const Bytes& frame : {arp, tagged(arp), solicitation, tagged(solicitation)}) {
    EXPECT_EQ(choose(table, Path::host, frame).why, Choice::Why::every);
    EXPECT_EQ(left_by(table, ports, Path::host, frame).size(), 3U);
    EXPECT_EQ(left_by(table, ports, Path::xdp, frame).size(), 1U);
  }
  for (const Bytes& frame : {echo, udp_frame(1, 1)}) {
    EXPECT_EQ(choose(table, Path::host, frame).why, Choice::Why::hashed);
    EXPECT_EQ(left_by(table, ports, Path::host, frame).size(), 1U);
  }
  table.broadcast_neighbor = false;
  EXPECT_EQ(left_by(table, ports, Path::host, arp).size(), 1U);
  EXPECT_EQ(pool_.in_use(), 0U);
}

TEST(HashFields, AreTheWordsThatAPolicyMixes) {
  const Bytes udp = udp_frame(5, 0);
  const auto fields = [&](Policy policy, const Bytes& frame) { return hash_fields(policy, Path::host, frame); };
  const uint32_t ethernet = uint32_t{udp[5]} ^ udp[11] ^ 0x0800U;
  uint32_t source = 0, destination = 0, ports = 0;
  std::memcpy(&source, &udp[26], 4);
  std::memcpy(&destination, &udp[30], 4);
  std::memcpy(&ports, &udp[34], 4);
  EXPECT_EQ(fields(Policy::layer2, udp).kind, HashFields::Kind::ethernet);
  EXPECT_EQ(fields(Policy::layer2, udp).ethernet, ethernet);
  for (const Policy policy : {Policy::layer23, Policy::encap23}) {
    EXPECT_EQ(fields(policy, udp).kind, HashFields::Kind::addresses);
    EXPECT_EQ(fields(policy, udp).addresses, source ^ destination);
    EXPECT_EQ(fields(policy, udp).ethernet, ethernet);
  }
  for (const Policy policy : {Policy::layer34, Policy::encap34}) {
    EXPECT_EQ(fields(policy, udp).kind, HashFields::Kind::flow);
    EXPECT_EQ(fields(policy, udp).ports, ports);
  }
  const HashFields by_tag = fields(Policy::vlan_srcmac, tagged(udp));
  EXPECT_EQ(by_tag.kind, HashFields::Kind::vlan_srcmac);
  EXPECT_EQ(by_tag.tag, 0x2007U) << "the whole TCI";
  EXPECT_EQ(fields(Policy::layer34, Bytes(10, 1)).kind, HashFields::Kind::none);
  Bytes cut(udp.begin(), udp.begin() + 20);
  EXPECT_EQ(fields(Policy::layer34, cut).kind, HashFields::Kind::ethernet) << "what layer3+4 makes of it";
}

}  // namespace
}  // namespace xbond::bond::test
