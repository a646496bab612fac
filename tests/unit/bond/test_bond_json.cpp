#include "tests/unit/bond/bond_fixture.hpp"
#include "tests/unit/json_schema.hpp"

namespace xbond::bond::test {
namespace {

using xbond::test::Json;
using xbond::test::JsonReader;
using xbond::test::mismatch;

class ShowBondJson : public testing::Test {
 protected:
  void SetUp() override {
    auto read = JsonReader::read_file(XBOND_TEST_DATA "/schema/show_bond.json");
    ASSERT_TRUE(read) << "the schema is not JSON";
    schema_ = std::move(*read);
  }

  // The console shows a list of bonds, of one when it is named.
  static std::string list(const std::string& bond) { return "[" + bond + "]"; }

  void expect_fits(const Bond& bond) const {
    const auto json = JsonReader::read(list(bond.json()));
    ASSERT_TRUE(json) << bond.json();
    EXPECT_EQ(mismatch(*json, schema_), "") << bond.json();
  }

  Json schema_;
};

TEST_F(ShowBondJson, TheWholeText) {
  Bond bond = make_up({{"mode", "active-backup"}, {"primary", "s1"}, {"downdelay", "200"}}, {kUp, kUp});
  bond.link(0, kDown, 5);
  ASSERT_TRUE(bond.set_member_option(0, "prio", "-3", 5));
  EXPECT_EQ(
      bond.json(),
      R"({"name":"bond0","mode":"active-backup","mode_number":1,"xmit_hash_policy":"layer2","up":true,)"
      R"("carrier":true,"mac":"02:00:00:00:0a:00","active":"s1","miimon":100,"updelay":0,"downdelay":200,)"
      R"("peer_notif_delay":0,"num_grat_arp":1,"num_unsol_na":1,"packets_per_slave":1,"all_slaves_active":false,)"
      R"("primary_reselect":"always","fail_over_mac":"none","resend_igmp":1,"lp_interval":1,"tlb_dynamic_lb":true,)"
      R"("arp_interval":0,"arp_validate":"none","arp_all_targets":"any","arp_missed_max":2,"arp_ip_target":[],)"
      R"("ns_ip6_target":[],"primary":"s1","ad_info":null,"members":[)"
      R"({"name":"s0","port":0,"link":"fail","active":false,"speed":null,"duplex":null,"failures":0,)"
      R"("permanent_mac":"02:00:00:00:0a:00","mac":"02:00:00:00:0a:00","prio":-3,"queue_id":0},)"
      R"({"name":"s1","port":1,"link":"up","active":true,"speed":10000,"duplex":"full","failures":0,)"
      R"("permanent_mac":"02:00:00:00:0a:01","mac":"02:00:00:00:0a:00","prio":0,"queue_id":0}]})");
}

TEST_F(ShowBondJson, FitsItsSchemaInManyStates) {
  for (const char* mode : {"balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"}) {
    Bond bond = make({{"mode", mode}, {"updelay", "100"}, {"downdelay", "100"}});
    expect_fits(bond);
    bond.set_up(true, 0);
    expect_fits(bond);
    for (uint16_t port = 0; port < kMaxMembers; ++port) {
      ASSERT_TRUE(bond.add_member(new_member(port, port % 3 == 0 ? kUp : kDown), port));
      expect_fits(bond);
    }
    bond.link(1, kUp, 50);
    bond.link(0, kDown, 60);
    expect_fits(bond);
    bond.tick(1000);
    expect_fits(bond);
    bond.set_up(false, 1001);
    expect_fits(bond);
  }
}

TEST_F(ShowBondJson, HostileNamesStayText) {
  Bond bond = make({});
  for (const std::string& name :
       {std::string("a\"b\\c"), std::string("x\n\x01y"), std::string("\xff\xfe"), std::string("}]")}) {
    NewMember member = new_member(static_cast<uint16_t>(bond.ports().size()));
    member.name = name;
    ASSERT_TRUE(bond.add_member(std::move(member), 0));
  }
  expect_fits(bond);
  const auto json = JsonReader::read(bond.json());
  ASSERT_TRUE(json);
  const auto& members = *json->get("members")->as<Json::Array>();
  EXPECT_EQ(*members[0].get("name")->as<std::string>(), "a\"b\\c");
  EXPECT_EQ(*members[1].get("name")->as<std::string>(), "x\n\x01y");
  EXPECT_EQ(*members[3].get("name")->as<std::string>(), "}]");
}

// The checker itself must be able to say no.
TEST_F(ShowBondJson, WhatDoesNotFitIsFound) {
  const std::string good = list(make_up({}, {kUp}).json());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto json = JsonReader::read(text);
    return !json || !mismatch(*json, schema_).empty();
  };
  EXPECT_FALSE(refused("\"up\":true", "\"up\":false"));
  EXPECT_TRUE(refused("\"up\":true", "\"up\":1"));
  EXPECT_TRUE(refused("\"up\":true,", ""));
  EXPECT_TRUE(refused("\"up\":true", "\"up\":true,\"more\":1"));
  EXPECT_TRUE(refused("\"up\":true", "\"up\":true,\"up\":true"));
  EXPECT_TRUE(refused("balance-rr", "balance-rx"));
  EXPECT_TRUE(refused("\"mode_number\":0", "\"mode_number\":-1"));
  EXPECT_TRUE(refused("\"mode_number\":0", "\"mode_number\":0.5"));
  EXPECT_TRUE(refused("\"mac\":\"02:", "\"mac\":\"2:"));
  EXPECT_TRUE(refused("\"speed\":10000", "\"speed\":\"fast\""));
  EXPECT_TRUE(refused("\"link\":\"up\"", "\"link\":null"));
  EXPECT_TRUE(refused("]}", "]"));
  EXPECT_TRUE(refused("{\"name\"", "{,\"name\""));
  EXPECT_TRUE(refused("]}", "]} x"));
}

}  // namespace
}  // namespace xbond::bond::test
