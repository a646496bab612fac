// Bonds in 802.3ad, two of them wired to each other in virtual time: what LACP decides arrives in tables, carrier and
// `show bond`, whose text is the kernel's.
#include <algorithm>
#include <deque>
#include <fstream>
#include <sstream>

#include "tests/unit/bond/bond_fixture.hpp"
#include "tests/unit/json_schema.hpp"

namespace xbond::bond::test {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

constexpr LinkReport kTenGig{.up = true, .speed_mbps = 10000, .full_duplex = true};

// Two systems with two links. Frames travel a millisecond.
class Pair {
 public:
  Pair(Options a, Options b) {
    make_side(0, "bond0", std::move(a), 's', 0x0a);
    make_side(1, "bond1", std::move(b), 'p', 0x0b);
  }

  Bond& side(size_t which) { return *sides_[which]; }
  [[nodiscard]] uint64_t now() const { return now_; }

  void open(size_t which) { saw(which, sides_[which]->set_up(true, now_)); }
  void carrier(uint16_t link, bool up) {
    for (size_t which : {0, 1}) {
      LinkReport report = kTenGig;
      report.up = up;
      saw(which, sides_[which]->link(link, report, now_));
    }
  }
  void silence(uint16_t link, bool on) { silent_[link] = on; }

  void run(uint64_t milliseconds) {
    for (const uint64_t end = now_ + milliseconds; now_ < end; ++now_) {
      while (!wire_.empty() && wire_.front().at <= now_) {
        Frame frame = std::move(wire_.front());
        wire_.pop_front();
        if (silent_[frame.link]) continue;
        saw(frame.to, sides_[frame.to]->slow_protocol(frame.link, frame.bytes, now_));
      }
      for (size_t which : {0, 1}) {
        const auto next = sides_[which]->next_deadline_ms();
        if (next && *next <= now_) saw(which, sides_[which]->tick(now_));
      }
    }
  }
  // The usable members as somebody sees them who acts on Changes only.
  [[nodiscard]] Ports told(size_t which) const { return told_[which]; }
  [[nodiscard]] const std::vector<std::string>& log(size_t which) const { return log_[which]; }

 private:
  struct Frame {
    uint64_t at;
    size_t to;
    uint16_t link;
    std::vector<uint8_t> bytes;
  };

  void make_side(size_t which, std::string name, Options options, char prefix, uint8_t tag) {
    options.insert(options.begin(), {"mode", "802.3ad"});
    auto bond = Bond::create(std::move(name), static_cast<uint8_t>(which), options);
    ASSERT_TRUE(bond) << bond.error().text;
    sides_[which] = std::make_unique<Bond>(std::move(bond.value()));
    sides_[which]->on_slow_protocol_frame([this, which](uint16_t link, std::span<const uint8_t> frame) {
      wire_.push_back({now_ + 1, 1 - which, link, {frame.begin(), frame.end()}});
    });
    for (uint16_t link : {uint16_t{0}, uint16_t{1}}) {
      const Mac mac{0x02, 0, 0, 0, tag, static_cast<uint8_t>(link)};
      ASSERT_TRUE(sides_[which]->add_member({.port = link,
                                             .name = std::string{prefix, static_cast<char>('0' + link)},
                                             .permanent_mac = mac,
                                             .link = kTenGig},
                                            now_));
    }
  }
  void saw(size_t which, const Changes& changes) {
    log_[which].insert(log_[which].end(), changes.log.begin(), changes.log.end());
    if (changes.table) told_[which] = usable(*sides_[which]);
  }

  std::array<std::unique_ptr<Bond>, 2> sides_;
  std::array<Ports, 2> told_;
  std::array<std::vector<std::string>, 2> log_;
  std::array<bool, 2> silent_{};
  std::deque<Frame> wire_;
  uint64_t now_ = 10'000;
};

const Options kFast{{"lacp_rate", "fast"}};

TEST(Lacp, BothMembersCarryFramesOnceThePartnerIsInSync) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  EXPECT_FALSE(pair.side(0).member_inactive(7));
  EXPECT_TRUE(pair.side(0).member_inactive(0)) << "frames before the partner collects";
  pair.run(10'000);
  for (size_t which : {0, 1}) {
    EXPECT_EQ(pair.told(which), (Ports{0, 1}));
    EXPECT_TRUE(pair.side(which).carrier());
    EXPECT_FALSE(pair.side(which).member_inactive(0));
  }
}

TEST(Lacp, ALinkCutByCarrierLeavesAtOnceAndComesBack) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  pair.carrier(0, false);
  EXPECT_EQ(pair.told(0), (Ports{1}));
  pair.run(1'000);
  EXPECT_EQ(pair.told(1), (Ports{1}));
  pair.carrier(0, true);
  pair.run(10'000);
  EXPECT_EQ(pair.told(0), (Ports{0, 1}));
  EXPECT_EQ(pair.told(1), (Ports{0, 1}));
}

TEST(Lacp, ASilentLinkLeavesAfterThreeFastPeriods) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  pair.silence(0, true);
  pair.run(1'900);
  EXPECT_EQ(pair.told(0), (Ports{0, 1}));
  pair.run(1'300);
  EXPECT_EQ(pair.told(0), (Ports{1}));
  EXPECT_TRUE(std::any_of(pair.log(0).begin(), pair.log(0).end(), [](const std::string& line) {
    return line.starts_with("(slave s0): LACP: carries no frames any more");
  }));
  pair.silence(0, false);
  pair.run(10'000);
  EXPECT_EQ(pair.told(0), (Ports{0, 1}));
}

TEST(Lacp, GoingDownTellsThePartnerFirst) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  (void)pair.side(0).set_up(false, pair.now());
  pair.run(1'100);
  EXPECT_EQ(pair.told(1), (Ports{})) << "no need to wait for a timeout of 3 s";
  EXPECT_FALSE(pair.side(0).farewells_pending());
}

TEST(Lacp, ALeavingMemberTellsThePartnerAndTheSystemIdStays) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  const Mac system = pair.side(0).mac();
  ASSERT_TRUE(pair.side(0).remove_member(0, pair.now()));
  pair.run(500);
  EXPECT_EQ(pair.told(1), (Ports{1}));
  EXPECT_EQ(usable(pair.side(0)), (Ports{1}));
  EXPECT_EQ(pair.side(0).mac(), system);
  EXPECT_NE(pair.side(0).show("x").find("System MAC address: 02:00:00:00:0a:00"), std::string::npos);
}

TEST(Lacp, BelowMinLinksThereIsNoCarrier) {
  Pair pair({{"lacp_rate", "fast"}, {"min_links", "2"}}, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  EXPECT_TRUE(pair.side(0).carrier());
  pair.carrier(1, false);
  EXPECT_FALSE(pair.side(0).carrier());
}

TEST(Lacp, PassiveOnBothSidesSaysNothing) {
  Pair pair({{"lacp_active", "off"}}, {{"lacp_active", "off"}});
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  EXPECT_NE(pair.side(0).lacp_json(pair.now()).find(R"("lacpdu_tx":0)"), std::string::npos);
}

TEST(Lacp, OptionsHaveLinuxRefusals) {
  Bond down = make({{"mode", "802.3ad"}});
  EXPECT_TRUE(down.set_option("lacp_rate", "fast", 0));
  EXPECT_TRUE(down.set_option("ad_actor_system", "02:00:00:00:00:09", 0));
  EXPECT_EQ(down.set_option("ad_actor_system", "01:00:00:00:00:09", 0).error().code, EINVAL);
  EXPECT_EQ(down.set_option("ad_actor_sys_prio", "0", 0).error().text,
            "option ad_actor_sys_prio: invalid value (0), allowed values 1 - 65535");
  down.set_up(true, 0);
  EXPECT_EQ(down.set_option("lacp_rate", "slow", 0).error().text,
            "option lacp_rate: unable to set option because the bond is up");
  EXPECT_TRUE(down.set_option("ad_actor_sys_prio", "7", 0));
  EXPECT_TRUE(down.set_option("min_links", "2", 0));
  Bond other = make({});
  EXPECT_EQ(other.set_option("lacp_rate", "fast", 0).error().text,
            "option lacp_rate: mode dependency failed, not supported in mode balance-rr(0)");
}

// What follows `title` in the recording, up to the next title.
std::string recorded(const std::string& title) {
  std::ifstream file(std::string(XBOND_TEST_DATA) + "/golden/lacp/lacp_fast.tcg.txt");
  std::string out;
  bool in = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      in = line == title;
    } else if (in) {
      out += line + '\n';
    }
  }
  return out;
}

// What stands where the recording goes on in time (seconds of churn detection) is the same there: it ends before.
TEST(Lacp, ShowBondIsWhatTheKernelShowsOfTheSameState) {
  Pair pair({{"lacp_rate", "fast"},
             {"ad_actor_sys_prio", "1000"},
             {"ad_actor_system", "02:aa:00:00:00:01"},
             {"ad_user_port_key", "5"}},
            {{"lacp_rate", "fast"},
             {"ad_actor_sys_prio", "2000"},
             {"ad_actor_system", "02:bb:00:00:00:01"},
             {"ad_user_port_key", "9"}});
  pair.open(0);
  pair.open(1);
  pair.run(14'000);
  const std::string actor = recorded("## actor /proc/net/bonding/bond0");
  const std::string partner = recorded("## partner /proc/net/bonding/bond1");
  ASSERT_FALSE(actor.empty());
  ASSERT_FALSE(partner.empty());
  EXPECT_EQ(pair.side(0).show("6.1.0-57-cloud-amd64"), actor);
  EXPECT_EQ(pair.side(1).show("6.1.0-57-cloud-amd64"), partner);
}

TEST(Lacp, TheTableShowsBothSidesAndWhy) {
  Pair pair(kFast, kFast);
  pair.open(0);
  pair.open(1);
  pair.run(10'000);
  const std::string table = pair.side(0).show_lacp(pair.now());
  for (const std::string_view part :
       {"bond0: up, carrier, system 02:00:00:00:0a:00 priority 65535, lacp_rate fast, lacp_active on, ad_select stable",
        "aggregator 1, active: 2 ports with a link, key 15, partner 02:00:00:00:0b:00 key 15",
        "exp def dis col syn agg tim act", "  0   0   1   1   1   1   1   1     0   0   1   1   1   1   1   1",
        "s0: receive CURRENT, periodic FAST_PERIODIC, mux COLLECTING_DISTRIBUTING",
        "mux               ATTACHED -> COLLECTING_DISTRIBUTING (partner in sync)"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\nis not in\n" << table;
  }
  EXPECT_TRUE(make({}).show_lacp(0).empty());
}

TEST(Lacp, JsonIsWhatItsSchemaSays) {
  using xbond::test::JsonReader;
  Pair pair(kFast, kFast);
  const auto expect_fits = [&](const std::string& text, const std::string& schema) {
    const auto wanted = JsonReader::read_file((XBOND_TEST_DATA "/schema/" + schema).c_str());
    const auto json = JsonReader::read("[" + text + "]");
    ASSERT_TRUE(wanted);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(xbond::test::mismatch(*json, *wanted), "") << text;
  };
  for (int step = 0; step < 3; ++step) {
    expect_fits(pair.side(0).lacp_json(pair.now()), "show_lacp.json");
    expect_fits(pair.side(0).json(), "show_bond.json");
    if (step == 0) pair.open(0);
    if (step == 1) pair.open(1);
    pair.run(10'000);
  }
}

}  // namespace
}  // namespace xbond::bond::test
