#include <algorithm>

#include "lib/bond/options.hpp"
#include "tests/unit/bond/bond_fixture.hpp"
#include "tests/unit/json_schema.hpp"

namespace xbond::bond::test {
namespace {

using xbond::test::Json;
using xbond::test::JsonReader;

// What the bond says an option is, as JSON prints it.
std::string shown(const Bond& bond, const std::string& option) {
  const auto json = JsonReader::read(bond.json());
  const Json* value = json ? json->get(option) : nullptr;
  if (value == nullptr) return "absent";
  if (const auto* text = value->as<std::string>()) return *text;
  if (const auto* number = value->as<int64_t>()) return std::to_string(*number);
  if (const auto* flag = value->as<bool>()) return *flag ? "1" : "0";
  return "null";
}

Bond in_mode(const std::string& mode) {
  return make({{"mode", mode}});
}

struct Good {
  const char* mode;
  const char* option;
  const char* value;
  const char* result;
};

class GoodValue : public testing::TestWithParam<Good> {};

TEST_P(GoodValue, IsTakenAndShown) {
  Bond bond = in_mode(GetParam().mode);
  set(bond, GetParam().option, GetParam().value);
  EXPECT_EQ(shown(bond, GetParam().option), GetParam().result);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoodValue,
    testing::Values(
        Good{"0", "mode", "balance-rr", "balance-rr"}, Good{"0", "mode", "active-backup", "active-backup"},
        Good{"0", "mode", "balance-xor", "balance-xor"}, Good{"2", "mode", "0", "balance-rr"},
        Good{"0", "mode", "1", "active-backup"}, Good{"0", "mode", "2", "balance-xor"},
        Good{"0", "mode", "02", "balance-xor"}, Good{"1", "mode", "default", "balance-rr"},
        Good{"0", "mode", " active-backup\n", "active-backup"}, Good{"2", "xmit_hash_policy", "layer2", "layer2"},
        Good{"2", "xmit_hash_policy", "layer3+4", "layer3+4"}, Good{"2", "xmit_hash_policy", "layer2+3", "layer2+3"},
        Good{"2", "xmit_hash_policy", "0", "layer2"}, Good{"2", "xmit_hash_policy", "1", "layer3+4"},
        Good{"2", "xmit_hash_policy", "2", "layer2+3"}, Good{"2", "xmit_hash_policy", "default", "layer2"},
        Good{"0", "miimon", "0", "0"}, Good{"0", "miimon", "off", "0"}, Good{"0", "miimon", "1", "1"},
        Good{"0", "miimon", "default", "100"}, Good{"0", "miimon", "0100", "100"},
        Good{"0", "miimon", "2147483647", "2147483647"}, Good{"0", "miimon", "maxval", "2147483647"},
        Good{"0", "updelay", "0", "0"}, Good{"0", "updelay", "off", "0"}, Good{"0", "updelay", "default", "0"},
        Good{"0", "updelay", "300", "300"}, Good{"0", "updelay", "99", "0"}, Good{"0", "updelay", "199", "100"},
        Good{"0", "updelay", "2147483647", "2147483600"}, Good{"0", "downdelay", "250", "200"},
        Good{"0", "downdelay", "200", "200"}, Good{"0", "downdelay", "maxval", "2147483600"},
        Good{"0", "downdelay", "default", "0"}, Good{"0", "peer_notif_delay", "300000", "300000"},
        Good{"0", "peer_notif_delay", "maxval", "300000"}, Good{"0", "peer_notif_delay", "150", "100"},
        Good{"0", "peer_notif_delay", "default", "0"}, Good{"0", "packets_per_slave", "0", "0"},
        Good{"0", "packets_per_slave", "65535", "65535"}, Good{"0", "packets_per_slave", "maxval", "65535"},
        Good{"0", "packets_per_slave", "default", "1"}, Good{"0", "num_grat_arp", "0", "0"},
        Good{"0", "num_grat_arp", "off", "0"}, Good{"0", "num_grat_arp", "255", "255"},
        Good{"0", "num_grat_arp", "default", "1"}, Good{"0", "num_unsol_na", "255", "255"},
        Good{"0", "num_unsol_na", "default", "1"}, Good{"0", "all_slaves_active", "on", "1"},
        Good{"0", "all_slaves_active", "1", "1"}, Good{"0", "all_slaves_active", "off", "0"},
        Good{"0", "all_slaves_active", "0", "0"}, Good{"0", "all_slaves_active", "default", "0"},
        Good{"1", "primary_reselect", "always", "always"}, Good{"1", "primary_reselect", "better", "better"},
        Good{"1", "primary_reselect", "failure", "failure"}, Good{"1", "primary_reselect", "2", "failure"},
        Good{"1", "primary_reselect", "default", "always"}, Good{"1", "primary", "s9", "s9"},
        Good{"1", "primary", "default", "null"}, Good{"1", "primary", "", "null"},
        Good{"1", "primary", "0000:3b:00.0", "0000:3b:00.0"}, Good{"5", "primary", "s9", "s9"},
        Good{"0", "mode", "broadcast", "broadcast"}, Good{"0", "mode", "5", "balance-tlb"},
        Good{"0", "mode", "balance-alb", "balance-alb"}, Good{"2", "xmit_hash_policy", "encap2+3", "encap2+3"},
        Good{"2", "xmit_hash_policy", "4", "encap3+4"}, Good{"5", "xmit_hash_policy", "vlan+srcmac", "vlan+srcmac"},
        Good{"1", "fail_over_mac", "follow", "follow"}, Good{"1", "fail_over_mac", "1", "active"},
        Good{"1", "fail_over_mac", "default", "none"}, Good{"0", "resend_igmp", "off", "0"},
        Good{"0", "resend_igmp", "255", "255"}, Good{"5", "lp_interval", "maxval", "2147483647"},
        Good{"5", "lp_interval", "default", "1"}, Good{"5", "tlb_dynamic_lb", "off", "0"},
        Good{"0", "arp_interval", "250", "250"}, Good{"0", "arp_interval", "off", "0"},
        Good{"1", "arp_validate", "filter_backup", "filter_backup"}, Good{"1", "arp_validate", "3", "all"},
        Good{"1", "arp_all_targets", "all", "all"}, Good{"1", "arp_missed_max", "255", "255"},
        Good{"1", "arp_missed_max", "default", "2"}));

TEST(OptionDefaults, AFreshBondHasThem) {
  for (const char* mode : {"0", "1", "2"}) {
    const std::string fresh = all_of(in_mode(mode));
    for (const Option& option : all_options()) {
      Bond bond = in_mode(mode);
      if (option.of_member || option.id == OptionId::mode || !option.allowed_in(bond.mode())) continue;
      set(bond, option.name, "default");
      EXPECT_EQ(all_of(bond), fresh) << option.name;
    }
  }
}

TEST(OptionDefaults, AreLinuxsWithMiimonOf100) {
  const Bond bond = make({});
  EXPECT_EQ(bond.mode(), Mode::balance_rr);
  EXPECT_EQ(bond.policy(), Policy::layer2);
  EXPECT_EQ(bond.miimon_ms(), 100U);
  EXPECT_EQ(bond.announcements(), 1U);
  EXPECT_EQ(bond.announcement_delay_ms(), 0U);
  EXPECT_FALSE(bond.up());
  EXPECT_FALSE(bond.carrier());
  EXPECT_FALSE(bond.active());
  EXPECT_EQ(bond.mac(), Mac{});
  EXPECT_TRUE(bond.ports().empty());
  EXPECT_EQ(bond.table().usable, 0);
  EXPECT_EQ(bond.table().bond_index, 3);
}

TEST(OptionDefaults, NumGratArpAndNumUnsolNaAreOne) {
  Bond bond = make({});
  set(bond, "num_grat_arp", "7");
  EXPECT_EQ(shown(bond, "num_unsol_na"), "7");
  set(bond, "num_unsol_na", "9");
  EXPECT_EQ(shown(bond, "num_grat_arp"), "9");
  EXPECT_EQ(bond.announcements(), 9U);
}

struct Bad {
  const char* mode;
  const char* option;
  std::string value;
  const char* text;
};

class BadValue : public testing::TestWithParam<Bad> {};

TEST_P(BadValue, IsRefusedWithTheAllowedOnes) {
  Bond bond = in_mode(GetParam().mode);
  EXPECT_EQ(refusal(bond, GetParam().option, GetParam().value, EINVAL), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadValue,
    testing::Values(
        Bad{"0", "mode", "foo",
            "option mode: invalid value (foo), allowed values balance-rr (0), active-backup (1), balance-xor (2), "
            "broadcast (3), 802.3ad (4), balance-tlb (5), balance-alb (6)"},
        Bad{"0", "mode", "7",
            "option mode: invalid value (7), allowed values balance-rr (0), active-backup (1), balance-xor (2), "
            "broadcast (3), 802.3ad (4), balance-tlb (5), balance-alb (6)"},
        Bad{"0", "mode", "",
            "option mode: invalid value (), allowed values balance-rr (0), active-backup (1), balance-xor (2), "
            "broadcast (3), 802.3ad (4), balance-tlb (5), balance-alb (6)"},
        Bad{"0", "mode", "-1",
            "option mode: invalid value (-1), allowed values balance-rr (0), active-backup (1), balance-xor (2), "
            "broadcast (3), 802.3ad (4), balance-tlb (5), balance-alb (6)"},
        Bad{"0", "mode", "Balance-RR",
            "option mode: invalid value (Balance-RR), allowed values balance-rr (0), active-backup (1), balance-xor "
            "(2), broadcast (3), 802.3ad (4), balance-tlb (5), balance-alb (6)"},
        Bad{"2", "xmit_hash_policy", "layer4",
            "option xmit_hash_policy: invalid value (layer4), allowed values layer2 (0), layer3+4 (1), layer2+3 (2), "
            "encap2+3 (3), encap3+4 (4), vlan+srcmac (5)"},
        Bad{"2", "xmit_hash_policy", "6",
            "option xmit_hash_policy: invalid value (6), allowed values layer2 (0), layer3+4 (1), layer2+3 (2), "
            "encap2+3 (3), encap3+4 (4), vlan+srcmac (5)"},
        Bad{"0", "miimon", "-1", "option miimon: invalid value (-1), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "2147483648", "option miimon: invalid value (2147483648), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "18446744073709551616",
            "option miimon: invalid value (18446744073709551616), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "99999999999999999999999999999999999999999999999999999999999999999999999",
            "option miimon: invalid value (9999999999999999999999999999999999999999999999999999999999999999...), "
            "allowed "
            "values 0 - 2147483647"},
        Bad{"0", "miimon", "100ms", "option miimon: invalid value (100ms), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "1 2", "option miimon: invalid value (1 2), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "0x10", "option miimon: invalid value (0x10), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "+5", "option miimon: invalid value (+5), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "1e3", "option miimon: invalid value (1e3), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "", "option miimon: invalid value (), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", "on\x1b[2J\n1", "option miimon: invalid value (on?[2J?1), allowed values 0 - 2147483647"},
        Bad{"0", "miimon", std::string("1\0", 2), "option miimon: invalid value (1?), allowed values 0 - 2147483647"},
        Bad{"0", "updelay", "-100", "option updelay: invalid value (-100), allowed values 0 - 2147483647"},
        Bad{"0", "downdelay", "4294967296",
            "option downdelay: invalid value (4294967296), allowed values 0 - 2147483647"},
        Bad{"0", "peer_notif_delay", "300001",
            "option peer_notif_delay: invalid value (300001), allowed values 0 - 300000"},
        Bad{"0", "packets_per_slave", "65536",
            "option packets_per_slave: invalid value (65536), allowed values 0 - 65535"},
        Bad{"0", "packets_per_slave", "off", "option packets_per_slave: invalid value (off), allowed values 0 - 65535"},
        Bad{"0", "num_grat_arp", "256", "option num_grat_arp: invalid value (256), allowed values 0 - 255"},
        Bad{"0", "num_unsol_na", "256", "option num_unsol_na: invalid value (256), allowed values 0 - 255"},
        Bad{"0", "all_slaves_active", "2",
            "option all_slaves_active: invalid value (2), allowed values off (0), on (1)"},
        Bad{"0", "all_slaves_active", "yes",
            "option all_slaves_active: invalid value (yes), allowed values off (0), on (1)"},
        Bad{"1", "primary_reselect", "3",
            "option primary_reselect: invalid value (3), allowed values always (0), better (1), failure (2)"},
        Bad{"1", "primary", "two words",
            "option primary: invalid value (two words), allowed values a device name of at most 63 characters"},
        Bad{"1", "primary", std::string(64, 'x'),
            "option primary: invalid value (xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx), allowed "
            "values "
            "a device name of at most 63 characters"},
        Bad{"1", "active_slave", "s9", "option active_slave: (slave s9): Device is not our slave"}));

TEST(OptionNames, AnUnknownOneListsThoseThereAre) {
  Bond bond = make({});
  std::string list;
  for (const std::string& name : Bond::option_names()) list += (list.empty() ? "" : ", ") + name;
  EXPECT_EQ(refusal(bond, "speed", "fast", ENOENT), "no such option (speed); options: " + list);
  EXPECT_NE(refusal(bond, "prio", "1", ENOENT), "");  // of members only
  EXPECT_NE(refusal(bond, "", "1", ENOENT), "");
  EXPECT_NE(refusal(bond, "Mode", "1", ENOENT), "");
  EXPECT_NE(refusal(bond, std::string(100000, 'x'), "1", ENOENT).size(), 100000U);
}

// Linux's unsuppmodes, option by option and mode by mode.
TEST(ModeDependency, EachOptionInEachMode) {
  struct Row {
    const char* option;
    const char* value;
    std::string modes;  // numbers of those that have it
  };
  const std::string any = "0123456";
  const Row rows[] = {
      {"mode", "1", any},
      {"packets_per_slave", "2", "0"},
      {"miimon", "50", any},
      {"xmit_hash_policy", "1", any},
      {"updelay", "100", any},
      {"downdelay", "100", any},
      {"primary", "s0", "156"},
      {"primary_reselect", "1", any},
      {"active_slave", "", "156"},
      {"fail_over_mac", "1", any},
      {"all_slaves_active", "1", any},
      {"num_grat_arp", "3", any},
      {"num_unsol_na", "3", any},
      {"peer_notif_delay", "100", any},
      {"resend_igmp", "2", any},
      {"lp_interval", "2", any},
      {"tlb_dynamic_lb", "0", "56"},
      {"arp_interval", "100", "0123"},
      {"arp_ip_target", "10.0.0.1", any},
      {"ns_ip6_target", "fe80::1", any},
      {"arp_validate", "all", "0123"},
      {"arp_all_targets", "all", any},
      {"arp_missed_max", "5", "0123"},
      {"lacp_rate", "1", "4"},
      {"lacp_active", "0", "4"},
      {"ad_select", "1", any},
      {"ad_actor_sys_prio", "7", "4"},
      {"ad_actor_system", "02:00:00:00:00:01", "4"},
      {"ad_user_port_key", "3", "4"},
      {"coupled_control", "0", "4"},
      {"broadcast_neighbor", "1", "4"},
      {"min_links", "1", any},
      {"xdp-sees-slow-protocols", "1", "4"},
  };
  const char* names[] = {"balance-rr", "active-backup", "balance-xor", "broadcast",
                         "802.3ad",    "balance-tlb",   "balance-alb"};
  size_t seen = 0;
  for (const Row& row : rows) {
    for (const char mode : any) {
      auto made = Bond::create("bond0", 0, Options{{"mode", std::string(1, mode)}});
      if (!made && made.error().code == EOPNOTSUPP) continue;
      ASSERT_TRUE(made) << made.error().text;
      if (row.modes.find(mode) != std::string::npos) {
        set(*made, row.option, row.value);
      } else {
        EXPECT_EQ(refusal(*made, row.option, row.value, EACCES),
                  fmt::format("option {}: mode dependency failed, not supported in mode {}({})", row.option,
                              names[mode - '0'], mode));
      }
    }
    ++seen;
  }
  EXPECT_EQ(seen, Bond::option_names().size()) << "an option has no row here";
}

// Options that exclude each other, with the kernel's words.
TEST(Monitors, EachPutsTheOtherOut) {
  Bond bond = make({});
  auto changes = bond.set_option("arp_interval", "200", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, (Lines{"ARP monitoring cannot be used with MII monitoring. Disabling MII monitoring",
                                 "ARP monitoring has been set up, but no ARP targets have been specified"}));
  EXPECT_EQ(shown(bond, "miimon"), "0");
  EXPECT_EQ(refusal(bond, "updelay", "100", EPERM), "Unable to set up delay as MII monitoring is disabled");
  set(bond, "arp_validate", "filter_active");
  changes = bond.set_option("miimon", "50", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, Lines{"MII monitoring cannot be used with ARP monitoring - disabling ARP monitoring..."});
  EXPECT_EQ(shown(bond, "arp_interval"), "0");
  EXPECT_EQ(shown(bond, "arp_validate"), "none");
  const auto both = Bond::create("b", 0, Options{{"miimon", "100"}, {"arp_interval", "100"}});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().text, "option arp_interval: ARP monitoring cannot be used with MII monitoring");
}

TEST(Monitors, ModesWithoutArpGoBackToMii) {
  Bond bond = make({{"arp_interval", "100"}, {"arp_ip_target", "10.0.0.1"}});
  const auto changes = bond.set_option("mode", "balance-tlb", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, (Lines{"balance-tlb mode is incompatible with arp monitoring, start mii monitoring",
                                 "Setting MII monitoring interval to 100"}));
  EXPECT_EQ(shown(bond, "arp_interval"), "0");
}

TEST(Targets, AreAddedAndTakenAway) {
  Bond bond = make({{"arp_ip_target", "10.0.0.1"}, {"arp_ip_target", "10.0.0.2"}, {"ns_ip6_target", "2001:db8::1"}});
  set(bond, "arp_ip_target", "+10.0.0.3,10.0.0.4");
  set(bond, "arp_ip_target", "-10.0.0.2");
  EXPECT_EQ(bond.params().arp_targets, (std::vector<Ipv4>{{10, 0, 0, 1}, {10, 0, 0, 3}, {10, 0, 0, 4}}));
  EXPECT_EQ(bond.params().ns_targets.size(), 1U);
  EXPECT_EQ(refusal(bond, "arp_ip_target", "10.0.0.9,10.0.0.1", EINVAL),
            "option arp_ip_target: target 10.0.0.1 is already present");
  EXPECT_EQ(refusal(bond, "arp_ip_target", "-10.9.9.9", EINVAL),
            "option arp_ip_target: unable to remove nonexistent target 10.9.9.9");
  for (const char* bad : {"0.0.0.0", "255.255.255.255", "10.0.0", "10.0.0.1.2", "fe80::1", "+", "-", ",", "x"}) {
    EXPECT_EQ(refusal(bond, "arp_ip_target", bad, EINVAL).rfind("option arp_ip_target: invalid target (", 0), 0U)
        << bad;
  }
  for (const char* bad : {"::", "ff02::1", "10.0.0.1", "2001:db8::1%eth0"}) {
    EXPECT_NE(refusal(bond, "ns_ip6_target", bad, EINVAL), "") << bad;
  }
  set(bond, "arp_ip_target", "default");
  for (int i = 1; i <= 16; ++i) set(bond, "arp_ip_target", fmt::format("10.0.1.{}", i));
  EXPECT_EQ(refusal(bond, "arp_ip_target", "10.0.2.1", EINVAL),
            "option arp_ip_target: target table is full, it holds 16");
}

TEST(FailOverMac, ChangesWithoutMembersOnly) {
  Bond bond = make_up({{"mode", "1"}}, {kUp});
  EXPECT_EQ(refusal(bond, "fail_over_mac", "active", ENOTEMPTY),
            "option fail_over_mac: unable to set option because the bond device has slaves");
}

TEST(TlbDynamicLb, ChangesWhileDownOnlyAndAlbNeedsIt) {
  Bond bond = make({{"mode", "5"}, {"tlb_dynamic_lb", "0"}});
  bond.set_up(true, 0);
  EXPECT_EQ(refusal(bond, "tlb_dynamic_lb", "1", EBUSY),
            "option tlb_dynamic_lb: unable to set option because the bond is up");
  bond.set_up(false, 0);
  set(bond, "mode", "balance-alb");
  EXPECT_EQ(shown(bond, "tlb_dynamic_lb"), "1");
}

TEST(ModeDependency, TheModeIsCheckedBeforeTheValue) {
  Bond bond = in_mode("2");
  EXPECT_NE(refusal(bond, "packets_per_slave", "rubbish", EACCES), "");
}

TEST(ModeChange, NotWithMembersAndNotWhileUp) {
  Bond bond = make({});
  bond.set_up(true, 0);
  EXPECT_EQ(refusal(bond, "mode", "1", EBUSY), "option mode: unable to set option because the bond is up");
  bond.set_up(false, 0);
  ASSERT_TRUE(bond.add_member(new_member(0), 0));
  EXPECT_EQ(refusal(bond, "mode", "1", ENOTEMPTY),
            "option mode: unable to set option because the bond device has slaves");
  bond.set_up(true, 0);
  EXPECT_NE(refusal(bond, "mode", "0", ENOTEMPTY), "");  // the same mode too, and members are looked at first
  ASSERT_TRUE(bond.remove_member(0, 0));
  bond.set_up(false, 0);
  set(bond, "mode", "1");
  EXPECT_EQ(bond.mode(), Mode::active_backup);
}

TEST(Delays, AreRoundedDownAndSaidSo) {
  Bond bond = make({});
  auto changes = bond.set_option("updelay", "250", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, Lines{"up delay (250) is not a multiple of miimon (100), value rounded to 200 ms"});
  changes = bond.set_option("downdelay", "99", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, Lines{"down delay (99) is not a multiple of miimon (100), value rounded to 0 ms"});
  changes = bond.set_option("peer_notif_delay", "1001", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log,
            Lines{"peer notification delay (1001) is not a multiple of miimon (100), value rounded to 1000 ms"});
  changes = bond.set_option("updelay", "300", 0);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->log.empty());
}

TEST(Delays, ScaleWithMiimon) {
  Bond bond = make({{"updelay", "200"}, {"downdelay", "300"}});
  const auto changes = bond.set_option("miimon", "50", 0);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->log, (Lines{"Note: Updating updelay (to 100) since it is a multiple of the miimon value",
                                 "Note: Updating downdelay (to 150) since it is a multiple of the miimon value"}));
  EXPECT_EQ(shown(bond, "updelay"), "100");
  EXPECT_EQ(shown(bond, "downdelay"), "150");
}

TEST(Delays, GreatestMiimonAndStepsDoNotOverflow) {
  Bond bond = make({{"miimon", "1"}, {"updelay", "maxval"}});
  set(bond, "miimon", "maxval");
  EXPECT_EQ(shown(bond, "updelay"), "4611686014132420609");
}

TEST(Delays, NeedMiimon) {
  Bond bond = make({{"miimon", "0"}});
  EXPECT_EQ(refusal(bond, "updelay", "100", EPERM), "Unable to set up delay as MII monitoring is disabled");
  EXPECT_EQ(refusal(bond, "downdelay", "0", EPERM), "Unable to set down delay as MII monitoring is disabled");
  EXPECT_EQ(refusal(bond, "peer_notif_delay", "100", EPERM),
            "Unable to set peer notification delay as MII monitoring is disabled");
}

TEST(Create, ModeAndMiimonComeFirstWhateverTheirPlace) {
  const Bond bond = make({{"primary", "s1"}, {"updelay", "60"}, {"miimon", "20"}, {"mode", "active-backup"}});
  EXPECT_EQ(shown(bond, "primary"), "s1");
  EXPECT_EQ(shown(bond, "updelay"), "60");
}

TEST(Create, TheLastOfARepeatedOptionCounts) {
  EXPECT_EQ(make({{"miimon", "20"}, {"miimon", "30"}}).miimon_ms(), 30U);
}

TEST(Create, RefusesWhatSetOptionRefuses) {
  const auto refused = [](const Options& options) {
    const auto made = Bond::create("bond0", 0, options);
    return made ? 0 : made.error().code;
  };
  EXPECT_EQ(refused({{"mode", "nonsense"}}), EINVAL);
  EXPECT_EQ(refused({{"mode", "7"}}), EINVAL);
  EXPECT_EQ(refused({{"speed", "1"}}), ENOENT);
  EXPECT_EQ(refused({{"mode", "2"}, {"packets_per_slave", "1"}}), EACCES);
  EXPECT_EQ(refused({{"mode", "1"}, {"active_slave", "s0"}}), EINVAL);
  EXPECT_EQ(refused({{"miimon", "0"}, {"updelay", "100"}}), EPERM);
  EXPECT_EQ(refused({}), 0);
}

TEST(Create, OnlyNamesThatATapCanHave) {
  for (const char* good : {"b", "bond0", "bond-a_1.2", "fifteen-letters"})
    EXPECT_TRUE(Bond::create(good, 0, {})) << good;
  for (const std::string bad : {"", ".", "..", "a/b", "a b", "a:b", "a\nb", "sixteen-letters-", "\x01"}) {
    const auto made = Bond::create(bad, 0, {});
    ASSERT_FALSE(made) << bad;
    EXPECT_EQ(made.error().code, EINVAL);
    EXPECT_EQ(made.error().text.find('\n'), std::string::npos);
  }
}

TEST(Completion, NamesAndValues) {
  const Lines names = Bond::option_names();
  EXPECT_EQ(names.front(), "mode");
  for (const char* name : {"xmit_hash_policy", "arp_ip_target", "lp_interval", "min_links"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), "prio"), 0) << "of members";
  const Lines modes = Bond::option_values("mode");
  for (const char* mode : {"balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"}) {
    EXPECT_EQ(std::count(modes.begin(), modes.end(), mode), 1) << mode;
  }
  EXPECT_EQ(Bond::option_values("xmit_hash_policy"),
            (Lines{"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"}));
  EXPECT_EQ(Bond::option_values("all_slaves_active"), (Lines{"off", "on"}));
  EXPECT_TRUE(Bond::option_values("miimon").empty());
  EXPECT_TRUE(Bond::option_values("primary").empty());
  EXPECT_TRUE(Bond::option_values("nonsense").empty());
}

TEST(MemberPrio, IsASigned32BitNumberOfActiveBackup) {
  Bond bond = make_up({{"mode", "1"}}, {kUp, kUp});
  for (const char* good : {"0", "1", "-1", "2147483647", "-2147483648", "maxval", "minval", "default", " 7 "}) {
    EXPECT_TRUE(bond.set_member_option(0, "prio", good, 0)) << good;
  }
  const std::string before = all_of(bond);
  for (const char* bad : {"", "-", "--1", "1-", "2147483648", "-2147483649", "x", "off", "99999999999999999999"}) {
    const auto refused = bond.set_member_option(0, "prio", bad, 0);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, EINVAL);
    EXPECT_EQ(refused.error().text,
              std::string("option prio: invalid value (") + bad + "), allowed values -2147483648 - 2147483647");
  }
  EXPECT_EQ(bond.set_member_option(9, "prio", "1", 0).error().code, ENOENT);
  EXPECT_EQ(bond.set_member_option(0, "miimon", "1", 0).error().code, ENOENT);
  EXPECT_EQ(all_of(bond), before);

  for (const char* mode : {"0", "2"}) {
    Bond other = make_up({{"mode", mode}}, {kUp});
    const auto refused = other.set_member_option(0, "prio", "1", 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EACCES);
  }
}

}  // namespace
}  // namespace xbond::bond::test
