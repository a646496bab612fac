// balance-alb's receive side: what the host's ARP says, whom peers are told to send to, and when.
#include <algorithm>
#include <map>

#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

using Frame = std::vector<uint8_t>;

constexpr Mac kEverybody = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Ipv4 kOwn = {10, 0, 0, 1};

Mac client_mac(uint8_t number) {
  return {2, 0, 0, 0, 0xcc, number};
}
Ipv4 client(uint8_t number) {
  return {10, 0, 0, number};
}

struct Arp {
  bool reply = true;
  Mac from{}, to{}, sender_mac{}, target_mac{};
  Ipv4 sender{}, target{};
  std::vector<uint16_t> tags;
};

Frame frame_of(const Arp& arp) {
  Frame frame;
  const auto put = [&frame](const auto& bytes) { frame.insert(frame.end(), bytes.begin(), bytes.end()); };
  put(arp.to);
  put(arp.from);
  for (const uint16_t tag : arp.tags) put(Frame{0x81, 0, static_cast<uint8_t>(tag >> 8), static_cast<uint8_t>(tag)});
  put(Frame{8, 6, 0, 1, 8, 0, 6, 4, 0, static_cast<uint8_t>(arp.reply ? 2 : 1)});
  put(arp.sender_mac);
  put(arp.sender);
  put(arp.target_mac);
  put(arp.target);
  frame.resize(std::max<size_t>(frame.size(), 60));
  return frame;
}

// As the host sends them by the bond whose address is `own`.
Frame answer(const Mac& own, uint8_t to, std::vector<uint16_t> tags = {}) {
  return frame_of({.from = own,
                   .to = client_mac(to),
                   .sender_mac = own,
                   .target_mac = client_mac(to),
                   .sender = kOwn,
                   .target = client(to),
                   .tags = std::move(tags)});
}
Frame question(const Mac& own, uint8_t to) {
  return frame_of(
      {.reply = false, .from = own, .to = kEverybody, .sender_mac = own, .sender = kOwn, .target = client(to)});
}
// As a client answers.
Frame answer_from(uint8_t number, const Mac& own) {
  return frame_of({.from = client_mac(number),
                   .to = own,
                   .sender_mac = client_mac(number),
                   .target_mac = own,
                   .sender = client(number),
                   .target = kOwn});
}

Mac sender_mac(const Frame& frame, size_t tags = 0) {
  Mac mac{};
  std::copy_n(frame.begin() + static_cast<ptrdiff_t>(14 + 4 * tags + 8), 6, mac.begin());
  return mac;
}
Mac source(const Frame& frame) {
  Mac mac{};
  std::copy_n(frame.begin() + 6, 6, mac.begin());
  return mac;
}

Bond alb(const std::vector<LinkReport>& links) {
  Bond bond = make_up({{"mode", "balance-alb"}}, links);
  bond.tick(0);
  bond.tick(100);  // the rebalance that new members order
  return bond;
}

// Runs the bond's clock and returns what peers are told, by time.
std::map<uint64_t, std::vector<ClientUpdate>> told(Bond& bond, uint64_t from, uint64_t to) {
  std::map<uint64_t, std::vector<ClientUpdate>> all;
  for (uint64_t now = from; now <= to; now += 100) {
    const Changes changes = bond.tick(now);
    if (!changes.updates.empty()) all[now] = changes.updates;
  }
  return all;
}

TEST(Clients, AnswersCarryMembersInTurn) {
  Bond bond = alb({kUp, kUp, kUp});
  std::map<uint16_t, int> used;
  for (uint8_t number = 10; number < 22; ++number) {
    Frame frame = answer(bond.mac(), number);
    const uint16_t by = bond.host_arp(frame, 200).by;
    EXPECT_EQ(sender_mac(frame), bond.member_mac(by));
    EXPECT_EQ(source(frame), bond.member_mac(by));
    ++used[by];
    Frame again = answer(bond.mac(), number);
    EXPECT_EQ(bond.host_arp(again, 200).by, by) << "a client keeps its member";
  }
  EXPECT_EQ(used, (std::map<uint16_t, int>{{0, 4}, {1, 4}, {2, 4}}));
}

TEST(Clients, AFasterMemberTakesThemAll) {
  const LinkReport slow{.up = true, .speed_mbps = 1000, .full_duplex = true};
  Bond bond = alb({slow, kUp, slow});
  for (uint8_t number = 10; number < 14; ++number) {
    Frame frame = answer(bond.mac(), number);
    EXPECT_EQ(bond.host_arp(frame, 200).by, 1);
  }
}

TEST(Clients, BehindTagsToo) {
  Bond bond = alb({kUp, kUp});
  std::map<uint16_t, int> used;
  for (uint8_t number = 10; number < 14; ++number) {
    Frame frame = answer(bond.mac(), number, {0x2007, 9});
    const uint16_t by = bond.host_arp(frame, 200).by;
    EXPECT_EQ(sender_mac(frame, 2), bond.member_mac(by));
    ++used[by];
  }
  EXPECT_EQ(used.size(), 2U);
  const auto tags = bond.learning_tags();
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags.begin()->size, 8);
  const Changes changes = bond.link(1, kDown, 300);
  const auto updates = told(bond, 400, 600);
  ASSERT_EQ(updates.size(), 1U);
  for (const ClientUpdate& update : updates.begin()->second) {
    EXPECT_EQ(update.tags.size, 8);
    EXPECT_EQ(update.tags.bytes[2], 0x20) << "with its priority";
    EXPECT_EQ(update.tags.bytes[7], 9);
  }
}

TEST(Clients, AForeignSendersArpIsLeftAlone) {
  Bond bond = alb({kUp, kUp});
  for (uint8_t number = 10; number < 13; ++number) {
    Frame frame = answer({2, 7, 7, 7, 7, 7}, number);
    const Frame before = frame;
    EXPECT_EQ(bond.host_arp(frame, 200).by, bond.active());
    EXPECT_EQ(frame, before);
  }
}

TEST(Clients, ARequestHoldsThePlaceAndTheReplyFillsIt) {
  Bond bond = alb({kUp, kUp});
  Frame first = question(bond.mac(), 10);
  const Frame before = first;
  EXPECT_EQ(bond.host_arp(first, 200).by, bond.active());
  EXPECT_EQ(first, before) << "requests are the active member's, as they are";
  Frame second = question(bond.mac(), 11);
  bond.host_arp(second, 200);
  EXPECT_TRUE(told(bond, 300, 4000).empty()) << "nobody's address is known";
  for (const uint8_t number : {10, 11}) bond.received(0, answer_from(number, bond.mac()), 4100);
  ASSERT_TRUE(bond.next_deadline_ms());
  const auto updates = told(bond, 4100, 6000);
  ASSERT_EQ(updates.size(), 1U);
  std::map<Ipv4, std::vector<ClientUpdate>> by_client;
  for (const ClientUpdate& update : updates.begin()->second) by_client[update.client].push_back(update);
  ASSERT_EQ(by_client.size(), 2U);
  for (const auto& [address, list] : by_client) {
    ASSERT_EQ(list.size(), 2U) << "each update twice";
    EXPECT_EQ(list[0].client_mac, client_mac(address[3]));
    EXPECT_EQ(list[0].own, kOwn);
    EXPECT_EQ(list[0].member_mac, bond.member_mac(list[0].port));
  }
  EXPECT_NE(by_client.at(client(10))[0].port, by_client.at(client(11))[0].port);
}

TEST(Clients, ARequestBringsTheOthersBackLater) {
  Bond bond = alb({kUp, kUp});
  uint16_t by_second = 0;
  uint8_t on_second = 0;
  for (uint8_t number = 10; number < 12; ++number) {
    Frame frame = answer(bond.mac(), number);
    const uint16_t by = bond.host_arp(frame, 200).by;
    if (by == bond.active()) continue;
    by_second = by;
    on_second = number;
  }
  (void)told(bond, 300, 5000);
  Frame asked = question(bond.mac(), 40);
  bond.host_arp(asked, 5000);
  const auto updates = told(bond, 5100, 9000);
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_GE(updates.begin()->first, 7000U) << "two seconds after the request, whose effect it undoes";
  for (const ClientUpdate& update : updates.begin()->second) {
    EXPECT_EQ(update.client, client(on_second)) << "who sends to the active member does so anyway";
    EXPECT_EQ(update.port, by_second);
  }
}

TEST(Clients, ACutMovesThemAtOnceAndTellsThemAgain) {
  Bond bond = alb({kUp, kUp, kUp});
  std::vector<uint8_t> moved;
  for (uint8_t number = 10; number < 22; ++number) {
    Frame frame = answer(bond.mac(), number);
    if (bond.host_arp(frame, 200).by == 2) moved.push_back(number);
  }
  (void)told(bond, 300, 5000);
  const Mac down = bond.member_mac(2);
  const Changes cut = bond.link(2, kDown, 5000);
  EXPECT_EQ(bond.promiscuous_member(), bond.active());
  EXPECT_TRUE(cut.promiscuous);
  ASSERT_EQ(cut.teach.size(), 1U);
  EXPECT_EQ(cut.teach[0].mac, down);
  EXPECT_EQ(cut.teach[0].port, bond.active());
  const auto updates = told(bond, 5100, 20000);
  ASSERT_EQ(updates.size(), 4U) << "once, and three times more";
  EXPECT_EQ(updates.begin()->first, 5100U);
  uint64_t last = 0;
  for (const auto& [at, list] : updates) {
    EXPECT_TRUE(last == 0 || at - last >= 2000) << at << " after " << last;
    last = at;
    std::set<uint8_t> clients;
    std::set<uint16_t> ports;
    for (const ClientUpdate& update : list) {
      clients.insert(update.client[3]);
      ports.insert(update.port);
    }
    EXPECT_EQ(std::vector<uint8_t>(clients.begin(), clients.end()), moved);
    EXPECT_EQ(ports, (std::set<uint16_t>{0, 1})) << "spread over those that are left";
  }
  EXPECT_EQ(bond.promiscuous_member(), std::nullopt) << "ten seconds are over";
}

TEST(Clients, WhenTheActiveOneGoesAddressesSwapAndBothHear) {
  Bond bond = alb({kUp, kUp});
  for (uint8_t number = 10; number < 14; ++number) {
    Frame frame = answer(bond.mac(), number);
    bond.host_arp(frame, 200);
  }
  (void)told(bond, 300, 5000);
  const Mac second = bond.member_mac(1);
  const Changes cut = bond.link(0, kDown, 5000);
  EXPECT_EQ(bond.active(), 1);
  EXPECT_TRUE(cut.learn);
  ASSERT_EQ(cut.teach.size(), 1U) << "who sends to the second's own address, which the first has now";
  EXPECT_EQ(cut.teach[0].mac, second);
  const auto updates = told(bond, 5100, 5200);
  ASSERT_EQ(updates.size(), 1U);
  std::set<uint8_t> clients;
  for (const ClientUpdate& update : updates.begin()->second) {
    clients.insert(update.client[3]);
    EXPECT_EQ(update.member_mac, bond.mac());
    EXPECT_EQ(update.port, 1);
  }
  EXPECT_EQ(clients.size(), 4U);
}

TEST(Clients, AMemberThatComesBackGetsItsShare) {
  Bond bond = alb({kUp, kUp});
  bond.link(1, kDown, 100);
  for (uint8_t number = 10; number < 14; ++number) {
    Frame frame = answer(bond.mac(), number);
    EXPECT_EQ(bond.host_arp(frame, 200).by, 0);
  }
  (void)told(bond, 300, 12000);
  bond.link(1, kUp, 12000);
  const auto updates = told(bond, 12100, 16000);
  ASSERT_FALSE(updates.empty());
  std::set<uint8_t> moved;
  for (const ClientUpdate& update : updates.begin()->second) {
    EXPECT_EQ(update.port, 1);
    moved.insert(update.client[3]);
  }
  EXPECT_EQ(moved.size(), 2U);
}

TEST(Clients, TwoInOnePlaceTheElderGoesToTheActiveMember) {
  Bond bond = alb({kUp, kUp});
  // 10.0.0.x and 10.0.x.0 have one xor: one place in the table.
  uint8_t elder = 0;
  for (uint8_t number = 10; number < 12; ++number) {
    Frame frame = answer(bond.mac(), number);
    if (bond.host_arp(frame, 200).by == 1) elder = number;
  }
  ASSERT_NE(elder, 0);
  Frame frame = frame_of({.from = bond.mac(),
                          .to = client_mac(99),
                          .sender_mac = bond.mac(),
                          .target_mac = client_mac(99),
                          .sender = kOwn,
                          .target = {10, 0, elder, 0}});
  const auto answer = bond.host_arp(frame, 300);
  ASSERT_EQ(answer.changes.updates.size(), 2U);
  EXPECT_EQ(answer.changes.updates[0].client, client(elder));
  EXPECT_EQ(answer.changes.updates[0].port, 0);
}

TEST(Clients, AnAddressThatSomebodyElseHasNowIsForgotten) {
  Bond bond = alb({kUp, kUp});
  for (uint8_t number = 10; number < 14; ++number) {
    Frame frame = answer(bond.mac(), number);
    bond.host_arp(frame, 200);
  }
  (void)told(bond, 300, 5000);
  bond.received(0,
                frame_of({.reply = false,
                          .from = client_mac(9),
                          .to = kEverybody,
                          .sender_mac = client_mac(9),
                          .sender = kOwn,
                          .target = client(50)}),
                5000);
  bond.link(1, kDown, 5100);
  EXPECT_TRUE(told(bond, 5200, 9000).empty());
}

TEST(Clients, WhateverComesIsBounded) {
  Bond bond = alb({kUp, kUp});
  const Frame whole = answer(bond.mac(), 10, {1, 2});
  for (size_t size = 0; size < whole.size(); ++size) {
    Frame cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    bond.received(0, cut, 200);
    bond.host_arp(cut, 200);
    bond.host_arp({}, 200);
  }
  Frame deep = answer(bond.mac(), 10, {1, 2, 3});
  const Frame before = deep;
  bond.host_arp(deep, 200);
  EXPECT_EQ(deep, before) << "more tags than Ethernet has";
}

TEST(Clients, AGroupIsNoClient) {
  Bond bond = alb({kUp, kUp});
  Frame asked = question(bond.mac(), 20);
  bond.host_arp(asked, 200);
  Frame group = answer_from(20, bond.mac());
  group[14 + 8] |= 1;
  bond.received(0, group, 300);
  EXPECT_TRUE(told(bond, 300, 3000).empty());
}

TEST(Clients, OtherModesHaveNone) {
  for (const char* mode : {"0", "1", "2", "3", "5"}) {
    Bond bond = make_up({{"mode", mode}}, {kUp, kUp});
    Frame frame = answer(bond.mac(), 10);
    const Frame before = frame;
    bond.host_arp(frame, 100);
    bond.received(0, answer_from(10, bond.mac()), 100);
    EXPECT_EQ(frame, before);
    EXPECT_FALSE(bond.link(1, kDown, 200).promiscuous);
  }
}

TEST(Clients, AreForgottenWhenTheBondGoesDown) {
  Bond bond = alb({kUp, kUp});
  for (uint8_t number = 10; number < 14; ++number) {
    Frame frame = answer(bond.mac(), number, {7});
    bond.host_arp(frame, 200);
  }
  EXPECT_FALSE(bond.learning_tags().empty());
  bond.set_up(false, 300);
  EXPECT_TRUE(bond.learning_tags().empty());
}

}  // namespace
}  // namespace xbond::bond::test
