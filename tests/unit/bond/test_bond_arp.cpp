// The ARP and neighbour monitor in virtual time: who asks, whose answers count, when a link goes down and comes back.
#include <algorithm>

#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

constexpr Ipv4 kOurs{10, 0, 0, 1}, kTarget{10, 0, 0, 2}, kOther{10, 0, 0, 3}, kStranger{10, 0, 0, 9};
constexpr Ipv6 kOurs6{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Ipv6 kTarget6{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

using Frame = std::vector<uint8_t>;

Frame arp(uint8_t operation, const Ipv4& sender, const Ipv4& target) {
  Frame f(14, 0xff);
  f[12] = 0x08;
  f[13] = 0x06;
  const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, operation};
  f.insert(f.end(), std::begin(head), std::end(head));
  f.insert(f.end(), 6, 0x02);
  f.insert(f.end(), sender.begin(), sender.end());
  f.insert(f.end(), 6, 0);
  f.insert(f.end(), target.begin(), target.end());
  return f;
}
Frame reply(const Ipv4& from) {
  return arp(2, from, kOurs);
}

Frame neighbour(uint8_t type, const Ipv6& source, const Ipv6& destination) {
  Frame f(14 + 40 + 24, 0);
  f[12] = 0x86;
  f[13] = 0xdd;
  f[14 + 6] = 58;
  std::copy(source.begin(), source.end(), f.begin() + 14 + 8);
  std::copy(destination.begin(), destination.end(), f.begin() + 14 + 24);
  f[54] = type;
  return f;
}

// A bond whose rounds are run one by one; `answers` says which frame a member that asked gets back.
struct Rounds {
  explicit Rounds(Options options, const std::vector<LinkReport>& links = {kUp, kUp})
      : bond(make_up(with_arp(std::move(options)), links)) {
    bond.set_addresses({.v4 = {kOurs}, .v6 = {kOurs6}});
  }
  static Options with_arp(Options options) {
    options.emplace_back("arp_interval", "100");
    options.emplace_back("arp_ip_target", "10.0.0.2");
    return options;
  }

  // Runs `n` rounds; after each, `hear` may hand frames to the bond.
  template <class Hear>
  void run(int n, Hear hear) {
    for (int i = 0; i < n; ++i) {
      now = *bond.next_deadline_ms();
      const Changes changes = bond.tick(now);
      asked = changes.probes;
      log.insert(log.end(), changes.log.begin(), changes.log.end());
      now += 1;
      hear();
    }
  }
  void hear(uint16_t port, const Frame& frame) { bond.received(port, frame, now); }
  void answered(int n, const Ports& ports, const Frame& frame = reply(kTarget)) {
    run(n, [&] {
      for (const uint16_t port : ports) {
        if (std::count(asked.begin(), asked.end(), port) != 0) hear(port, frame);
      }
    });
  }
  void silence(int n) {
    run(n, [] {});
  }

  Bond bond;
  uint64_t now = 0;
  Ports asked;
  Lines log;
};

TEST(ArpBalancing, EveryMemberAsksEachInterval) {
  Rounds r(Options{{"mode", "balance-xor"}}, {kUp, kDown, kUp});
  EXPECT_EQ(*r.bond.next_deadline_ms(), 0U);
  r.silence(1);
  EXPECT_EQ(r.asked, (Ports{0, 2})) << "without carrier there is nothing to ask";
  EXPECT_EQ(*r.bond.next_deadline_ms(), 100U);
}

TEST(ArpBalancing, WithoutTargetsNobodyAsks) {
  Bond bond = make_up({{"arp_interval", "100"}}, {kUp});
  EXPECT_TRUE(bond.tick(0).probes.empty());
}

TEST(ArpBalancing, ASilentMemberGoesDownAfterMissedMaxAndComesBack) {
  for (const int missed : {1, 2, 5}) {
    Rounds r(Options{{"mode", "0"}, {"arp_missed_max", std::to_string(missed)}});
    r.answered(5, {0, 1});
    EXPECT_EQ(usable(r.bond), (Ports{0, 1}));
    r.answered(missed, {0});  // member 1 last heard 99 ms before the first of these rounds
    EXPECT_EQ(usable(r.bond), (Ports{0, 1})) << missed;
    r.answered(1, {0});
    EXPECT_EQ(usable(r.bond), Ports{0}) << missed;
    EXPECT_NE(std::find(r.log.begin(), r.log.end(), "(slave s1): interface is now down"), r.log.end());
    EXPECT_TRUE(r.bond.carrier());
    r.answered(1, {0, 1});
    r.answered(1, {0, 1});
    EXPECT_EQ(usable(r.bond), (Ports{0, 1}));
    EXPECT_EQ(r.log.back(), "(slave s1): interface is now up");
    EXPECT_NE(r.bond.json().find("\"failures\":1"), std::string::npos);
  }
}

TEST(ArpBalancing, AnyFrameCountsUnlessFiltered) {
  for (const bool filter : {false, true}) {
    Rounds r(Options{{"mode", "0"}, {"arp_validate", filter ? "filter" : "none"}});
    r.run(8, [&] {
      r.bond.saw_frames(0, r.now);
      r.hear(1, reply(kStranger));  // ARP counts, validated or not
    });
    EXPECT_EQ(usable(r.bond), filter ? Ports{1} : (Ports{0, 1}));
  }
}

TEST(ArpValidation, OnlyTargetsAnswersToUsCount) {
  const struct {
    Frame frame;
    bool counts;
  } cases[] = {
      {reply(kTarget), true},          {arp(1, kTarget, kOurs), true},  // its own question to us shows the same
      {reply(kStranger), false},       {arp(2, kTarget, kStranger), false},
      {arp(2, kOurs, kTarget), false}, {neighbour(136, kTarget6, kOurs6), false},  // no target of ns_ip6_target
  };
  for (const auto& c : cases) {
    Rounds r(Options{{"mode", "0"}, {"arp_validate", "all"}});
    r.answered(8, {0, 1}, c.frame);
    EXPECT_EQ(!usable(r.bond).empty(), c.counts);
  }
}

TEST(ArpValidation, NeighbourSolicitationIsAnsweredByAdvertisements) {
  constexpr Ipv6 kAllNodes{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  for (const auto& [frame, counts] :
       {std::pair{neighbour(136, kTarget6, kOurs6), true}, std::pair{neighbour(136, kTarget6, kAllNodes), true},
        std::pair{neighbour(128, kTarget6, kOurs6), false}, std::pair{neighbour(136, kOurs6, kTarget6), false}}) {
    Rounds r(Options{{"mode", "0"}, {"arp_validate", "all"}, {"ns_ip6_target", "2001:db8::2"}});
    r.answered(8, {0, 1}, frame);
    EXPECT_EQ(!usable(r.bond).empty(), counts);
  }
}

TEST(ArpValidation, AllTargetsOrAnyOfThem) {
  for (const bool all : {false, true}) {
    Rounds r(Options{{"mode", "active-backup"},
                     {"arp_validate", "all"},
                     {"arp_ip_target", "10.0.0.3"},
                     {"arp_all_targets", all ? "all" : "any"}});
    r.run(4, [&] {
      r.hear(0, reply(kTarget));
      r.hear(0, reply(kOther));
    });
    ASSERT_EQ(r.bond.active(), 0);
    r.run(6, [&] { r.hear(0, reply(kTarget)); });
    EXPECT_EQ(r.bond.active() == 0, !all);
  }
}

TEST(ArpBackup, OnlyTheActiveMemberAsks) {
  Rounds r(Options{{"mode", "1"}});
  r.answered(6, {0});
  EXPECT_EQ(r.asked, Ports{0});
  EXPECT_EQ(r.bond.active(), 0);
}

// The backup lives on the active member's requests, which the switch brings to everybody.
TEST(ArpBackup, ABackupIsJudgedByWhatItHears) {
  for (const bool hears : {true, false}) {
    Rounds r(Options{{"mode", "1"}, {"arp_validate", "all"}});
    r.run(10, [&] {
      r.hear(0, reply(kTarget));
      if (hears) r.hear(1, arp(1, kOurs, kTarget));
    });
    EXPECT_EQ(r.bond.active(), 0);
    EXPECT_EQ(usable(r.bond), hears ? (Ports{0, 1}) : Ports{0});
  }
}

TEST(ArpBackup, FailsOverAfterMissedMax) {
  Rounds r(Options{{"mode", "1"}});
  r.run(10, [&] {
    r.hear(0, reply(kTarget));
    r.hear(1, reply(kTarget));
  });
  const auto backup_only = [&] { r.hear(1, reply(kTarget)); };
  r.run(2, backup_only);
  EXPECT_EQ(r.bond.active(), 0);
  r.run(1, backup_only);
  EXPECT_EQ(r.bond.active(), 1);
  EXPECT_EQ(r.asked, Ports{1}) << "the new one asks in the same round";
  EXPECT_TRUE(r.bond.member_inactive(0));
  EXPECT_FALSE(r.bond.member_inactive(1));
  EXPECT_NE(std::find(r.log.begin(), r.log.end(), "(slave s0): link status definitely down, disabling slave"),
            r.log.end());
}

TEST(ArpBackup, WithNoneActiveMembersAskInTurn) {
  Rounds r(Options{{"mode", "1"}}, {kUp, kUp, kDown, kUp});
  r.silence(12);
  ASSERT_FALSE(r.bond.active());
  EXPECT_FALSE(r.bond.carrier());
  std::vector<Ports> turns;
  for (int i = 0; i < 6; ++i) {
    r.silence(1);
    turns.push_back(r.asked);
    ASSERT_EQ(r.asked.size(), 1U);
    EXPECT_FALSE(r.bond.member_inactive(r.asked[0])) << "what it is answered has to be heard";
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(turns[i], turns[i + 3]);
    EXPECT_NE(turns[i], turns[i + 1]);
    EXPECT_NE(turns[i], Ports{2}) << "no carrier";
  }
  r.answered(4, {3});
  EXPECT_EQ(r.bond.active(), 3);
  EXPECT_TRUE(r.bond.carrier());
}

TEST(ArpMonitor, HostileFramesTellNothing) {
  Rounds r(Options{{"mode", "0"}, {"arp_validate", "all"}, {"ns_ip6_target", "2001:db8::2"}});
  const Frame frames[] = {reply(kTarget), neighbour(136, kTarget6, kOurs6)};
  r.run(8, [&] {
    for (const Frame& whole : frames) {
      for (size_t length = 0; length + 1 < whole.size() && length < 54; ++length) {
        if (length < (whole[12] == 0x08 ? 42U : 55U)) r.hear(0, {whole.begin(), whole.begin() + length});
      }
    }
    Frame other = reply(kTarget);
    other[14 + 4] = 7;  // hardware length
    r.hear(0, other);
    r.hear(9, reply(kTarget));  // not a member
    r.hear(1, reply(kTarget));
  });
  EXPECT_EQ(usable(r.bond), Ports{1});
}

TEST(ArpMonitor, RestsWhileTheBondIsDownAndIsShown) {
  Rounds r(
      Options{{"mode", "1"}, {"arp_missed_max", "3"}, {"arp_ip_target", "10.0.0.3"}, {"ns_ip6_target", "2001:db8::2"}});
  EXPECT_NE(r.bond.show("x").find("Peer Notification Delay (ms): 0\n"
                                  "ARP Polling Interval (ms): 100\n"
                                  "ARP Missed Max: 3\n"
                                  "ARP IP target/s (n.n.n.n form): 10.0.0.3, 10.0.0.2\n"
                                  "NS IPv6 target/s (xx::xx form): 2001:db8::2\n"
                                  "\nSlave Interface: s0\n"),
            std::string::npos)
      << r.bond.show("x");
  r.bond.set_up(false, 0);
  EXPECT_FALSE(r.bond.next_deadline_ms());
  EXPECT_TRUE(r.bond.tick(1000).probes.empty());
}

}  // namespace
}  // namespace xbond::bond::test
