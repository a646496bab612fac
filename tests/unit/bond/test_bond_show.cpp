// The text of /proc/net/bonding/NAME, as Linux 6.1 prints it.
#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

TEST(Show, AFreshBond) {
  EXPECT_EQ(make({}).show("6.1.0-57-cloud-amd64"),
            "Ethernet Channel Bonding Driver: v6.1.0-57-cloud-amd64\n"
            "\n"
            "Bonding Mode: load balancing (round-robin)\n"
            "MII Status: down\n"
            "MII Polling Interval (ms): 100\n"
            "Up Delay (ms): 0\n"
            "Down Delay (ms): 0\n"
            "Peer Notification Delay (ms): 0\n");
}

TEST(Show, RoundRobinWithTwoMembers) {
  Bond bond = make_up({}, {kUp, {.up = true, .speed_mbps = 1000, .full_duplex = false}});
  bond.link(0, kDown, 1);
  EXPECT_EQ(bond.show("6.1.0"),
            "Ethernet Channel Bonding Driver: v6.1.0\n"
            "\n"
            "Bonding Mode: load balancing (round-robin)\n"
            "MII Status: up\n"
            "MII Polling Interval (ms): 100\n"
            "Up Delay (ms): 0\n"
            "Down Delay (ms): 0\n"
            "Peer Notification Delay (ms): 0\n"
            "\n"
            "Slave Interface: s0\n"
            "MII Status: down\n"
            "Speed: Unknown\n"
            "Duplex: Unknown\n"
            "Link Failure Count: 1\n"
            "Permanent HW addr: 02:00:00:00:0a:00\n"
            "Slave queue ID: 0\n"
            "\n"
            "Slave Interface: s1\n"
            "MII Status: up\n"
            "Speed: 1000 Mbps\n"
            "Duplex: half\n"
            "Link Failure Count: 0\n"
            "Permanent HW addr: 02:00:00:00:0a:01\n"
            "Slave queue ID: 0\n");
}

TEST(Show, ActiveBackupWithoutAPrimary) {
  EXPECT_EQ(make_up({{"mode", "1"}}, {kDown}).show("6.1.0"),
            "Ethernet Channel Bonding Driver: v6.1.0\n"
            "\n"
            "Bonding Mode: fault-tolerance (active-backup)\n"
            "Primary Slave: None\n"
            "Currently Active Slave: None\n"
            "MII Status: down\n"
            "MII Polling Interval (ms): 100\n"
            "Up Delay (ms): 0\n"
            "Down Delay (ms): 0\n"
            "Peer Notification Delay (ms): 0\n"
            "\n"
            "Slave Interface: s0\n"
            "MII Status: down\n"
            "Speed: Unknown\n"
            "Duplex: Unknown\n"
            "Link Failure Count: 0\n"
            "Permanent HW addr: 02:00:00:00:0a:00\n"
            "Slave queue ID: 0\n");
}

TEST(Show, ActiveBackupWithDelaysRunning) {
  Bond bond = make_up({{"mode", "1"},
                       {"miimon", "50"},
                       {"primary", "s1"},
                       {"primary_reselect", "better"},
                       {"updelay", "1000"},
                       {"downdelay", "200"},
                       {"peer_notif_delay", "150"}},
                      {kUp, kUp, kDown});
  bond.tick(1000);
  bond.link(1, kDown, 2000);
  bond.link(2, {.up = true, .speed_mbps = UINT32_MAX, .full_duplex = true}, 2000);
  EXPECT_EQ(bond.show("6.1.0"),
            "Ethernet Channel Bonding Driver: v6.1.0\n"
            "\n"
            "Bonding Mode: fault-tolerance (active-backup)\n"
            "Primary Slave: s1 (primary_reselect better)\n"
            "Currently Active Slave: s1\n"
            "MII Status: up\n"
            "MII Polling Interval (ms): 50\n"
            "Up Delay (ms): 1000\n"
            "Down Delay (ms): 200\n"
            "Peer Notification Delay (ms): 150\n"
            "\n"
            "Slave Interface: s0\n"
            "MII Status: up\n"
            "Speed: 10000 Mbps\n"
            "Duplex: full\n"
            "Link Failure Count: 0\n"
            "Permanent HW addr: 02:00:00:00:0a:00\n"
            "Slave queue ID: 0\n"
            "\n"
            "Slave Interface: s1\n"
            "MII Status: going down\n"
            "Speed: Unknown\n"
            "Duplex: Unknown\n"
            "Link Failure Count: 0\n"
            "Permanent HW addr: 02:00:00:00:0a:01\n"
            "Slave queue ID: 0\n"
            "\n"
            "Slave Interface: s2\n"
            "MII Status: going back\n"
            "Speed: Unknown\n"
            "Duplex: Unknown\n"
            "Link Failure Count: 0\n"
            "Permanent HW addr: 02:00:00:00:0a:02\n"
            "Slave queue ID: 0\n");
}

TEST(Show, XorNamesItsPolicy) {
  EXPECT_EQ(make({{"mode", "2"}, {"xmit_hash_policy", "layer3+4"}, {"miimon", "0"}}).show("6.1.0"),
            "Ethernet Channel Bonding Driver: v6.1.0\n"
            "\n"
            "Bonding Mode: load balancing (xor)\n"
            "Transmit Hash Policy: layer3+4 (1)\n"
            "MII Status: down\n"
            "MII Polling Interval (ms): 0\n"
            "Up Delay (ms): 0\n"
            "Down Delay (ms): 0\n"
            "Peer Notification Delay (ms): 0\n");
}

TEST(Show, APrimaryThatIsNoMemberIsNone) {
  const Bond bond = make({{"mode", "1"}, {"primary", "s7"}});
  EXPECT_NE(bond.show("x").find("Primary Slave: None\n"), std::string::npos);
}

// netif_carrier_ok() does not know of admin down; the bond's own state is in the JSON form.
TEST(Show, AdminDownLeavesMiiStatus) {
  Bond bond = make_up({}, {kUp});
  bond.set_up(false, 1);
  EXPECT_NE(bond.show("x").find("Bonding Mode: load balancing (round-robin)\nMII Status: up\n"), std::string::npos);
}

}  // namespace
}  // namespace xbond::bond::test
