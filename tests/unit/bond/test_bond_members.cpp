#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

TEST(Members, KeepTheOrderOfEnslaving) {
  Bond bond = make({});
  bond.set_up(true, 0);
  for (const uint16_t port : {5, 2, 9}) ASSERT_TRUE(bond.add_member(new_member(port), 0));
  EXPECT_EQ(Ports(bond.ports().begin(), bond.ports().end()), (Ports{5, 2, 9}));
  EXPECT_EQ(usable(bond), (Ports{5, 2, 9}));
  ASSERT_TRUE(bond.remove_member(2, 0));
  ASSERT_TRUE(bond.add_member(new_member(2), 0));
  EXPECT_EQ(usable(bond), (Ports{5, 9, 2}));
  EXPECT_EQ(Ports(bond.ports().begin(), bond.ports().end()), (Ports{5, 9, 2}));
}

TEST(Members, AreNotTakenTwice) {
  Bond bond = make_up({}, {kUp, kUp});
  const std::string before = all_of(bond);
  auto refused = bond.add_member(new_member(1), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EBUSY);
  EXPECT_EQ(refused.error().text, "bond0: s1 is a member already");
  NewMember same_name = new_member(7);
  same_name.name = "s0";
  EXPECT_EQ(bond.add_member(same_name, 0).error().code, EBUSY);
  EXPECT_EQ(all_of(bond), before);
}

TEST(Members, NeedAPortAndAName) {
  Bond bond = make({});
  EXPECT_EQ(bond.add_member({.port = 1, .name = "", .permanent_mac = {}, .link = kUp}, 0).error().code, EINVAL);
  EXPECT_EQ(bond.add_member({.port = port::kNoPort, .name = "x", .permanent_mac = {}, .link = kUp}, 0).error().code,
            EINVAL);
  EXPECT_TRUE(bond.ports().empty());
}

TEST(Members, AreSixteenAtMost) {
  Bond bond = make_up({}, std::vector<LinkReport>(kMaxMembers, kUp));
  EXPECT_EQ(usable(bond).size(), 16U);
  const std::string before = all_of(bond);
  const auto refused = bond.add_member(new_member(16), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ENOSPC);
  EXPECT_EQ(refused.error().text, "bond0: s16 can't be added, a bond holds at most 16 members");
  EXPECT_EQ(all_of(bond), before);
  ASSERT_TRUE(bond.remove_member(3, 0));
  EXPECT_TRUE(bond.add_member(new_member(16), 0));
}

TEST(Members, OnlyOnesThatAreThereCanLeave) {
  Bond bond = make_up({}, {kUp});
  const std::string before = all_of(bond);
  const auto refused = bond.remove_member(1, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ENOENT);
  EXPECT_EQ(all_of(bond), before);
}

TEST(Members, ALinkReportOfAStrangerIsIgnored) {
  Bond bond = make_up({}, {kUp});
  const std::string before = all_of(bond);
  const Changes changes = bond.link(77, kDown, 5);
  EXPECT_FALSE(changes.table || changes.carrier || changes.active_changed);
  EXPECT_TRUE(changes.log.empty());
  EXPECT_EQ(all_of(bond), before);
}

TEST(Enslaving, IsToldInTheKernelsWords) {
  Bond rr = make({});
  rr.set_up(true, 0);
  EXPECT_EQ(rr.add_member(new_member(0), 0)->log,
            Lines{"(slave s0): Enslaving as an active interface with an up link"});
  EXPECT_EQ(rr.add_member(new_member(1, kDown), 0)->log,
            Lines{"(slave s1): Enslaving as an active interface with a down link"});
  EXPECT_EQ(rr.remove_member(1, 0)->log, Lines{"(slave s1): Releasing active interface"});

  Bond ab = make({{"mode", "1"}});
  ab.set_up(true, 0);
  EXPECT_EQ(ab.add_member(new_member(0), 0)->log,
            (Lines{"(slave s0): making interface the new active one",
                   "(slave s0): Enslaving as an active interface with an up link"}));
  EXPECT_EQ(ab.add_member(new_member(1), 0)->log, Lines{"(slave s1): Enslaving as a backup interface with an up link"});
  EXPECT_EQ(ab.add_member(new_member(2, kDown), 0)->log,
            Lines{"(slave s2): Enslaving as a backup interface with a down link"});
  EXPECT_EQ(ab.remove_member(2, 0)->log, Lines{"(slave s2): Releasing backup interface"});
  EXPECT_EQ(
      ab.remove_member(0, 0)->log,
      (Lines{
          "(slave s0): Releasing active interface",
          "(slave s0): the permanent HWaddr of slave - 02:00:00:00:0a:00 - is still in use by bond - set the HWaddr of "
          "slave to a different address to avoid conflicts",
          "(slave s1): making interface the new active one"}));
  EXPECT_EQ(ab.remove_member(1, 0)->log,
            (Lines{"(slave s1): Releasing active interface", "now running without any active interface!"}));
}

TEST(Enslaving, ChangesWhatItSays) {
  Bond bond = make({{"mode", "1"}});
  bond.set_up(true, 0);
  auto changes = bond.add_member(new_member(0), 0);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->table && changes->carrier && changes->active_changed);
  changes = bond.add_member(new_member(1), 0);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->table);
  EXPECT_FALSE(changes->carrier || changes->active_changed);
  changes = bond.remove_member(0, 0);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->table && changes->active_changed);
  EXPECT_FALSE(changes->carrier);
  changes = bond.remove_member(1, 0);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->table && changes->carrier);
  EXPECT_FALSE(changes->active_changed) << "there is nobody to announce";
}

TEST(BondMac, IsTheFirstMembersAndStays) {
  Bond bond = make({});
  ASSERT_TRUE(bond.add_member(new_member(4), 0));
  ASSERT_TRUE(bond.add_member(new_member(5), 0));
  EXPECT_EQ(bond.mac(), mac_of(4));
  ASSERT_TRUE(bond.remove_member(4, 0));
  EXPECT_EQ(bond.mac(), mac_of(4));
  ASSERT_TRUE(bond.remove_member(5, 0));
  EXPECT_EQ(bond.mac(), mac_of(4));
  ASSERT_TRUE(bond.add_member(new_member(6), 0));
  EXPECT_EQ(bond.mac(), mac_of(6)) << "a first member again";
}

TEST(BondMac, OnceSetNoMemberChangesIt) {
  Bond bond = make({});
  const Mac mac{0x02, 1, 2, 3, 4, 5};
  ASSERT_TRUE(bond.set_mac(mac, 0));
  ASSERT_TRUE(bond.add_member(new_member(4), 0));
  EXPECT_EQ(bond.mac(), mac);
  EXPECT_EQ(bond.set_mac({}, 0).error().code, EADDRNOTAVAIL);
  EXPECT_EQ(bond.set_mac({0x01, 0, 0x5e, 0, 0, 1}, 0).error().text,
            "bond0: 01:00:5e:00:00:01 is not a unicast MAC address");
  EXPECT_EQ(bond.set_mac({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0).error().code, EADDRNOTAVAIL);
  EXPECT_EQ(bond.mac(), mac);
}

TEST(AdminState, DownCarriesNothingAndKeepsTheChoice) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  Changes changes = bond.set_up(false, 10);
  EXPECT_TRUE(changes.table && changes.carrier);
  EXPECT_FALSE(changes.active_changed);
  EXPECT_TRUE(usable(bond).empty());
  EXPECT_EQ(bond.table().active, port::kNoPort);
  EXPECT_EQ(bond.active(), 0);
  EXPECT_FALSE(bond.carrier());
  changes = bond.set_up(false, 11);
  EXPECT_FALSE(changes.table || changes.carrier) << "nothing new";
  changes = bond.set_up(true, 12);
  EXPECT_TRUE(changes.table && changes.carrier);
  EXPECT_EQ(usable(bond), (Ports{0, 1}));
  EXPECT_EQ(bond.table().active, 0);
}

TEST(AdminState, MembersCanComeWhileItIsDown) {
  Bond bond = make({{"mode", "1"}});
  ASSERT_TRUE(bond.add_member(new_member(0), 0));
  ASSERT_TRUE(bond.add_member(new_member(1), 0));
  EXPECT_TRUE(usable(bond).empty());
  EXPECT_EQ(bond.active(), 0);
  bond.set_up(true, 1);
  EXPECT_EQ(usable(bond), (Ports{0, 1}));
  EXPECT_TRUE(bond.carrier());
}

TEST(Table, CarriesWhatWorkersNeed) {
  Bond bond = make_up({{"packets_per_slave", "4"}}, {kUp, kDown, kUp});
  TxTable table = bond.table();
  EXPECT_EQ(table.mode, Mode::balance_rr);
  EXPECT_EQ(table.packets_per_slave, 4U);
  EXPECT_EQ(table.bond_index, 3);
  EXPECT_EQ(table.usable, 2);
  EXPECT_EQ(table.active, 0) << "IGMP in round robin";
  EXPECT_NE(table.divide, 0U) << "sealed";

  Bond xor_bond = make_up({{"mode", "2"}, {"xmit_hash_policy", "layer3+4"}}, {kUp});
  EXPECT_EQ(xor_bond.table().policy, Policy::layer34);
  EXPECT_EQ(xor_bond.policy(), Policy::layer34);
  EXPECT_TRUE(xor_bond.set_option("xmit_hash_policy", "layer2", 0)->table);
  EXPECT_FALSE(xor_bond.set_option("xmit_hash_policy", "layer2", 0)->table) << "the same again";
}

TEST(Inactive, BackupsOfActiveBackupUnlessAllAreActive) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp, kDown});
  EXPECT_FALSE(bond.member_inactive(0));
  EXPECT_TRUE(bond.member_inactive(1));
  EXPECT_TRUE(bond.member_inactive(2));
  EXPECT_FALSE(bond.member_inactive(9)) << "not a member";
  EXPECT_TRUE(bond.set_option("all_slaves_active", "1", 0)->table) << "workers must learn it";
  EXPECT_FALSE(bond.member_inactive(1));
  EXPECT_FALSE(bond.member_inactive(2));
  EXPECT_TRUE(bond.set_option("all_slaves_active", "0", 0)->table);
  EXPECT_TRUE(bond.member_inactive(1));

  const Bond rr = make_up({}, {kUp, kDown});
  EXPECT_FALSE(rr.member_inactive(0));
  EXPECT_FALSE(rr.member_inactive(1));
}

TEST(Moving, ABondKeepsItsState) {
  Bond a = make_up({{"mode", "1"}}, {kUp, kUp});
  const std::string before = all_of(a);
  Bond b = std::move(a);
  EXPECT_EQ(all_of(b), before);
  Bond c = make({});
  c = std::move(b);
  EXPECT_EQ(all_of(c), before);
}

}  // namespace
}  // namespace xbond::bond::test
