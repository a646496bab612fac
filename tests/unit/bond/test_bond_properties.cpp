// Random sequences of calls: what must hold whatever happens.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {
namespace {

constexpr uint16_t kPorts = 20;  // more than fit

struct Seen {
  std::string mii;
  unsigned failures = 0;
};

// The members' part of the text, by name.
std::map<std::string, Seen> members_of(const Bond& bond) {
  std::map<std::string, Seen> seen;
  std::istringstream text(bond.show("x"));
  std::string line, name;
  while (std::getline(text, line)) {
    if (line.starts_with("Slave Interface: ")) name = line.substr(17);
    if (!name.empty() && line.starts_with("MII Status: ")) seen[name].mii = line.substr(12);
    if (line.starts_with("Link Failure Count: "))
      seen[name].failures = static_cast<unsigned>(std::stoul(line.substr(20)));
  }
  return seen;
}

class Walk {
 public:
  explicit Walk(uint32_t seed)
      : random_(seed), bond_(make({{"mode", std::to_string(seed % 3)}, {"miimon", seed % 5 == 0 ? "10" : "100"}})) {}

  void step() {
    if (below(3) == 0) now_ += below(150);
    before_ = all_of(bond_);
    table_before_ = bond_.table();
    carrier_before_ = bond_.carrier();
    active_before_ = bond_.active();
    act();
    ++steps_;
    check();
  }

  [[nodiscard]] unsigned refused() const { return refused_; }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  uint16_t port() { return static_cast<uint16_t>(below(kPorts)); }
  LinkReport report() {
    const uint32_t speeds[] = {0, 1000, 10000, UINT32_MAX};
    return {.up = below(2) == 0, .speed_mbps = speeds[below(4)], .full_duplex = below(4) != 0};
  }

  void act() {
    switch (below(8)) {
      case 0:
        return result(bond_.add_member(new_member(port(), report()), now_));
      case 1:
        if (below(3) == 0) return result(bond_.remove_member(port(), now_));
        return changed(bond_.tick(now_));
      case 2:
        if (below(4) == 0) return changed(bond_.set_up(below(4) != 0, now_));
        [[fallthrough]];
      case 3:
      case 4:
        return links();
      case 5:
        return changed(bond_.tick(now_));
      case 6:
        return option();
      default:
        return result(bond_.set_member_option(port(), "prio", std::to_string(static_cast<int>(below(5)) - 2), now_));
    }
  }

  void links() {
    const uint16_t id = port();
    const LinkReport now_seen = report();
    changed(bond_.link(id, now_seen, now_));
  }

  void option() {
    static const char* const kOptions[] = {
        "mode",         "xmit_hash_policy", "miimon",       "updelay",           "downdelay",         "primary",
        "active_slave", "primary_reselect", "num_grat_arp", "all_slaves_active", "packets_per_slave", "no_such"};
    static const char* const kValues[] = {"0",  "1",  "2",       "100", "50",          "250", "default",
                                          "s1", "s3", "rubbish", "-1",  "99999999999", ""};
    result(bond_.set_option(kOptions[below(std::size(kOptions))], kValues[below(std::size(kValues))], now_));
  }

  void result(const Result<Changes>& outcome) {
    if (outcome) return changed(*outcome);
    ++refused_;
    EXPECT_EQ(all_of(bond_), before_) << "refused, yet changed: " << outcome.error().text;
    EXPECT_FALSE(outcome.error().text.empty());
    EXPECT_NE(outcome.error().code, 0);
  }

  // The caller is told of every change that matters to it.
  void changed(const Changes& changes) const {
    const TxTable table = bond_.table();
    const bool other = table.usable != table_before_.usable || table.port != table_before_.port ||
                       table.active != table_before_.active || table.policy != table_before_.policy ||
                       table.mode != table_before_.mode || table.packets_per_slave != table_before_.packets_per_slave;
    EXPECT_TRUE(!other || changes.table);
    EXPECT_EQ(changes.carrier, bond_.carrier() != carrier_before_);
    const bool active =
        bond_.mode() == Mode::active_backup && bond_.up() && bond_.active() && bond_.active() != active_before_;
    EXPECT_EQ(changes.active_changed, active);
    for (const std::string& line : changes.log) EXPECT_EQ(line.find('\n'), std::string::npos);
  }

  void check() {
    const auto seen = members_of(bond_);
    const std::set<uint16_t> ports(bond_.ports().begin(), bond_.ports().end());
    EXPECT_EQ(ports.size(), bond_.ports().size()) << "a member twice";
    EXPECT_EQ(ports.size(), seen.size());
    EXPECT_LE(ports.size(), size_t{kMaxMembers});

    const Ports can_send = usable(bond_);
    EXPECT_TRUE(bond_.up() || can_send.empty());
    EXPECT_EQ(bond_.carrier(), !can_send.empty());
    auto order = bond_.ports().begin();
    for (const uint16_t id : can_send) {
      order = std::find(order, bond_.ports().end(), id);
      ASSERT_NE(order, bond_.ports().end()) << "no member, twice, or out of order";
      const std::string& mii = seen.at(fmt::format("s{}", id)).mii;
      EXPECT_TRUE(mii == "up" || (mii == "going down" && bond_.mode() != Mode::balance_rr)) << mii;
    }
    check_active(seen, can_send);
    check_time(seen);
  }

  void check_active(const std::map<std::string, Seen>& seen, const Ports& can_send) const {
    if (bond_.mode() == Mode::active_backup) {
      EXPECT_TRUE(can_send.empty() || bond_.active()) << "someone could be active";
    }
    if (bond_.active()) {
      EXPECT_EQ(std::count(bond_.ports().begin(), bond_.ports().end(), *bond_.active()), 1);
      const std::string& mii = seen.at(fmt::format("s{}", *bond_.active())).mii;
      EXPECT_TRUE(mii == "up" || mii == "going down") << mii;
    }
    const uint16_t sends = bond_.table().active;
    EXPECT_TRUE(sends == port::kNoPort || std::count(can_send.begin(), can_send.end(), sends) == 1);
    for (const uint16_t id : bond_.ports()) {
      EXPECT_FALSE(bond_.member_inactive(id) && (bond_.mode() != Mode::active_backup || bond_.active() == id));
    }
  }

  // A second tick at the same time has nothing left to do, and no deadline stays behind.
  void check_time(const std::map<std::string, Seen>& seen) {
    bool waits = false;
    for (const auto& [name, member] : seen) waits |= member.mii.starts_with("going");
    EXPECT_TRUE(!bond_.next_deadline_ms() || waits);
    if (steps_ % 16 != 0) return;
    if (const auto next = bond_.next_deadline_ms()) now_ = std::max(now_, *next);
    (void)bond_.tick(now_);
    EXPECT_TRUE(!bond_.next_deadline_ms() || *bond_.next_deadline_ms() > now_);
    EXPECT_TRUE(bond_.tick(now_).log.empty());
  }

  std::mt19937 random_;
  Bond bond_;
  uint64_t now_ = 1;
  unsigned steps_ = 0, refused_ = 0;
  std::string before_;
  TxTable table_before_;
  bool carrier_before_ = false;
  std::optional<uint16_t> active_before_;
};

class RandomCalls : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomCalls, KeepTheInvariants) {
  Walk walk(GetParam());
  for (int i = 0; i < 800 && !HasFailure(); ++i) walk.step();
  EXPECT_GT(walk.refused(), 0U) << "the walk never met a refusal";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCalls, testing::Range(0U, 24U));

// After any history, once all links are reported and all delays have ended, the usable members are those with carrier.
TEST(Settled, TheTableIsWhatTheLinksSay) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Bond bond = make_up({{"mode", std::to_string(seed % 3)}, {"updelay", "300"}, {"downdelay", "200"}},
                        std::vector<LinkReport>(5, seed % 2 == 0 ? kUp : kDown));
    std::array<LinkReport, 5> last;
    last.fill(seed % 2 == 0 ? kUp : kDown);
    uint64_t now = 0;
    for (int i = 0; i < 200; ++i) {
      now += random() % 120;
      const auto port = static_cast<uint16_t>(random() % 5);
      last[port] = random() % 2 == 0 ? kUp : kDown;
      bond.link(port, last[port], now);
      bond.tick(now);
    }
    bond.tick(now + 1000);
    Ports expected;
    for (uint16_t port = 0; port < 5; ++port) {
      if (last[port].up) expected.push_back(port);
    }
    EXPECT_EQ(usable(bond), expected) << seed;
    EXPECT_EQ(bond.carrier(), !expected.empty());
    EXPECT_EQ(bond.active().has_value(), !expected.empty());
    EXPECT_FALSE(bond.next_deadline_ms());
  }
}

}  // namespace
}  // namespace xbond::bond::test
