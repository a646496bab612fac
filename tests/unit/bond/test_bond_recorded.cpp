// `show bond` against the text that Linux 6.1 kernels printed, both read by one parser: bonds of ours are brought into
// the recorded bonds' states (tests/data/golden/lacp) and must show the same.
#include <fmt/format.h>

#include <fstream>

#include "tests/unit/bond/bonding_text.hpp"
#include "tests/unit/bond/lacp_pair.hpp"

namespace xbond::bond::test {
namespace {

// What follows the line that begins with `title`, up to the next title.
std::string recorded(const std::string& name, const std::string& title) {
  std::ifstream file(fmt::format("{}/golden/lacp/lacp_{}.txt", XBOND_TEST_DATA, name));
  std::string out;
  bool in = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      in = line.starts_with(title);
    } else if (in) {
      out += line + '\n';
    }
  }
  return out;
}

Options side_options(const char* rate, const char* active, bool partner) {
  return {{"lacp_rate", rate},
          {"lacp_active", active},
          {"ad_actor_sys_prio", partner ? "2000" : "1000"},
          {"ad_actor_system", partner ? "02:bb:00:00:00:01" : "02:aa:00:00:00:01"},
          {"ad_user_port_key", partner ? "9" : "5"}};
}

struct Recording {
  const char* name;
  const char* kernel;
  const char* actor_rate;
  const char* partner_rate;
  const char* partner_active;
  uint64_t seconds;
  bool partner_loses_link_0;  // in the middle: its bond gives the member up, and the link's carrier blinks
};

class Recorded : public ::testing::TestWithParam<Recording> {
 protected:
  // Both bonds as they were when the text was recorded.
  static void bring_there(Pair& pair) {
    const Recording& of = GetParam();
    pair.open(0);
    pair.open(1);
    if (!of.partner_loses_link_0) return pair.run(of.seconds * 1000);
    pair.run(of.seconds * 500);
    (void)pair.side(1).remove_member(0, pair.now());
    pair.silence(0, true);
    (void)pair.side(0).link(0, {}, pair.now());
    pair.run(200);
    (void)pair.side(0).link(0, kTenGig, pair.now());
    pair.run(of.seconds * 500 - 200);
  }
};

TEST_P(Recorded, OurTextIsTheKernelsToTheLastLine) {
  const Recording& of = GetParam();
  Pair pair(side_options(of.actor_rate, "on", false), side_options(of.partner_rate, of.partner_active, true));
  bring_there(pair);
  const std::array titles{"## actor /proc/net/bonding/", "## partner /proc/net/bonding/"};
  for (size_t which : {0, 1}) {
    const std::string kernel = recorded(of.name, titles[which]);
    const std::string ours = pair.side(which).show(of.kernel);
    const BondingText wanted = read_bonding_text(kernel);
    const BondingText got = read_bonding_text(ours);
    ASSERT_GT(wanted.values.size(), 30U) << kernel;
    EXPECT_EQ(wanted.strange, std::vector<std::string>{});
    EXPECT_EQ(got.strange, std::vector<std::string>{});
    EXPECT_EQ(got.members, wanted.members);
    for (const auto& [path, value] : wanted.values) {
      const auto found = got.values.find(path);
      EXPECT_EQ(found == got.values.end() ? "(no such line)" : found->second, value) << titles[which] << ' ' << path;
    }
    EXPECT_EQ(ours, kernel);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Recorded,
    ::testing::Values(Recording{"fast.tcg", "6.1.0-57-cloud-amd64", "fast", "fast", "on", 14, false},
                      Recording{"slow.tcg", "6.1.0-57-cloud-amd64", "slow", "slow", "on", 125, false},
                      Recording{"slow_fast.uml", "6.1.176", "slow", "fast", "on", 70, false},
                      Recording{"passive.uml", "6.1.176", "fast", "fast", "off", 14, false},
                      Recording{"mute.uml", "6.1.176", "fast", "fast", "on", 24, true}),
    [](const auto& of) { return std::string(of.param.name).substr(0, std::string_view(of.param.name).find('.')); });

// The other modes' text, of which there is no recording, has the form that the parser takes.
TEST(BondingText, EveryModesTextIsReadWhole) {
  for (const char* mode : {"0", "1", "2", "3", "5", "6"}) {
    Bond bond = make_up({{"mode", mode}}, {kUp, kUp});
    const BondingText got = read_bonding_text(bond.show("6.1.0"));
    EXPECT_EQ(got.strange, std::vector<std::string>{}) << mode;
    EXPECT_EQ(got.members, (std::vector<std::string>{"s0", "s1"})) << mode;
    EXPECT_EQ(got.values.at("s1//Link Failure Count"), "0") << mode;
    EXPECT_EQ(got.values.count("//Bonding Mode"), 1U) << mode;
  }
}

}  // namespace
}  // namespace xbond::bond::test
