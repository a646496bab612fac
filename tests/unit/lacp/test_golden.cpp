// Recorded negotiations of Linux bonds, replayed: the partner's recorded PDUs come in at their recorded times, and our
// PDUs are compared with those that Linux sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "lib/lacp/transmit.hpp"
#include "tests/unit/lacp/support.hpp"

namespace xbond::lacp {

// For readable failures.
void PrintTo(const Info& info, std::ostream* out) {
  *out << "key " << info.key << " port " << info.port << " state " << unsigned{info.state} << " sys "
       << unsigned{info.system[1]};
}
void PrintTo(const Pdu& pdu, std::ostream* out) {
  PrintTo(pdu.actor, out);
  *out << " <- ";
  PrintTo(pdu.partner, out);
}

namespace {

struct Said {
  Time at = 0;
  Pdu pdu;
};

struct LinkEvent {
  Time at = 0;  // recorded time
  std::size_t port = 0;
  Link link;
};

struct Case {
  const char* name;
  std::vector<const char*> files;  // one a link
  Mac our_system{};
  Options options;
  // The kernel's tick in the recording: 100 ms and a jiffy. Recorded times are brought to ticks of 100 ms.
  Time tick = kTick;
  std::vector<LinkEvent> events;
  bool up_when_enslaved = false;  // else found up by the first poll after it
};

// The recordings' two sides, as oracle's job made them.
Options side(bool actor, Rate rate, bool active = true) {
  Options options;
  options.lacp_active = active;
  options.lacp_rate = rate;
  options.ad_actor_sys_prio = actor ? 1000 : 2000;
  options.ad_user_port_key = actor ? 5 : 9;
  return options;
}

constexpr Mac kActor{0x02, 0xaa, 0, 0, 0, 1};
constexpr Mac kPartner{0x02, 0xbb, 0, 0, 0, 1};

// One link's recording, split.
struct Track {
  Mac our_mac{};
  std::vector<Said> ours;
  std::vector<Recorded> theirs;
};

class Replay {
 public:
  explicit Replay(const Case& c) : case_(c) {
    for (const char* file : c.files) load(file);
    run();
  }
  [[nodiscard]] std::size_t links() const { return tracks_.size(); }
  [[nodiscard]] const std::vector<Said>& recorded(std::size_t link) const { return tracks_[link].ours; }
  [[nodiscard]] const std::vector<Said>& said(std::size_t link) const { return said_[link]; }
  [[nodiscard]] const Group& group() const { return *group_; }

 private:
  [[nodiscard]] Time scaled(Time recorded) const { return kStart + recorded * kTick / case_.tick; }

  void load(const char* file) {
    Track track;
    for (Recorded& recorded : read_pcap(file)) {
      const Decoded decoded = decode(recorded.bytes);
      ASSERT_EQ(decoded.kind, FrameKind::lacpdu);
      recorded.at = scaled(recorded.at);
      if (decoded.pdu.actor.system == case_.our_system) {
        track.our_mac = recorded.source();
        track.ours.push_back({recorded.at, decoded.pdu});
      } else {
        track.theirs.push_back(recorded);
      }
    }
    ASSERT_FALSE(track.ours.empty());
    tracks_.push_back(track);
  }

  void advance(Time until) {
    for (auto due = group_->next_deadline(); due && *due <= until; due = group_->next_deadline()) {
      now_ = std::max(now_, *due);
      group_->tick(now_);
    }
    now_ = until;
  }

  void run() {
    said_.resize(tracks_.size());
    auto made = Group::create(case_.our_system, case_.options, [this](uint16_t port, std::span<const uint8_t> frame) {
      said_[port].push_back({now_, decode(frame).pdu});
    });
    group_.emplace(std::move(made.value()));
    // Enslaved and opened two ticks before the first PDU was seen.
    Time first = kNever;
    for (const Track& track : tracks_) first = std::min(first, track.ours.front().at);
    now_ = first - 2 * kTick;
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      ASSERT_TRUE(
          group_->add_port({static_cast<uint16_t>(i), tracks_[i].our_mac, case_.up_when_enslaved ? k10G : kDown}, now_)
              .ok());
    }
    group_->set_up(true, now_);
    advance(now_ + kTick / 2);
    for (std::size_t i = 0; i < tracks_.size(); ++i) group_->link(static_cast<uint16_t>(i), k10G, now_);

    struct Step {
      Time at;
      std::size_t port;
      const std::vector<uint8_t>* frame;
      Link link;
    };
    std::vector<Step> steps;
    Time end = 0;
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      for (const Recorded& frame : tracks_[i].theirs) steps.push_back({frame.at, i, &frame.bytes, {}});
      end = std::max(end, tracks_[i].ours.back().at);
    }
    for (const LinkEvent& event : case_.events) steps.push_back({scaled(event.at), event.port, nullptr, event.link});
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.at < b.at; });
    for (const Step& step : steps) {
      advance(step.at);
      const auto port = static_cast<uint16_t>(step.port);
      if (step.frame != nullptr) {
        EXPECT_NE(group_->receive(port, *step.frame, now_), Outcome::not_a_member);
      } else {
        group_->link(port, step.link, now_);
      }
    }
    advance(end + kTick);
  }

  static constexpr Time kStart = 100 * kSecond;
  const Case& case_;
  std::vector<Track> tracks_;
  std::vector<std::vector<Said>> said_;
  std::optional<Group> group_;
  Time now_ = 0;
};

// What was said, repetitions left out: how often a thing is repeated is the transmit grid's affair.
std::vector<Pdu> contents(const std::vector<Said>& said) {
  std::vector<Pdu> distinct;
  for (const Said& one : said) {
    if (distinct.empty() || distinct.back() != one.pdu) distinct.push_back(one.pdu);
  }
  return distinct;
}

std::vector<uint8_t> actor_states(const std::vector<Pdu>& pdus) {
  std::vector<uint8_t> states;
  for (const Pdu& pdu : pdus) {
    if (states.empty() || states.back() != pdu.actor.state) states.push_back(pdu.actor.state);
  }
  return states;
}

template <class T>
bool is_subsequence(const std::vector<T>& part, const std::vector<T>& whole) {
  auto at = whole.begin();
  for (const T& item : part) {
    at = std::find(at, whole.end(), item);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

// When each actor state was first told.
std::vector<Time> first_told(const std::vector<Said>& said) {
  std::vector<Time> times;
  std::optional<uint8_t> last;
  for (const Said& one : said) {
    if (last != one.pdu.actor.state) times.push_back(one.at);
    last = one.pdu.actor.state;
  }
  return times;
}

Case live() {
  Case c{"live", {"live.tcg-ora0.pcap", "live.tcg-ora1.pcap"}, {0x52, 0x54, 0, 0, 0, 0}, {}, 104 * kMillisecond, {}};
  c.options.lacp_rate = Rate::fast;
  return c;
}

constexpr Time kTcg = 104 * kMillisecond;
constexpr Time kUml = 110 * kMillisecond;

Case mute(const Mac& system, const Options& options) {
  // The partner released p0 right after its last PDU, which took our carrier for a moment.
  return {"mute", {"lacp_mute.uml-s0.pcap", "lacp_mute.uml-s1.pcap"},
          system, options,
          kUml,   {{12'210 * kMillisecond, 0, kDown}, {12'500 * kMillisecond, 0, k10G}}};
}

class GoldenActor : public ::testing::TestWithParam<Case> {};

TEST_P(GoldenActor, SaysWhatLinuxSaidInItsOrder) {
  const Replay replay(GetParam());
  for (std::size_t link = 0; link < replay.links(); ++link) {
    EXPECT_EQ(contents(replay.said(link)), contents(replay.recorded(link))) << "link " << link;
  }
}

TEST_P(GoldenActor, SaysItWhenLinuxDid) {
  const Replay replay(GetParam());
  for (std::size_t link = 0; link < replay.links(); ++link) {
    const auto ours = first_told(replay.said(link));
    const auto recorded = first_told(replay.recorded(link));
    ASSERT_EQ(ours.size(), recorded.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      // The grids differ by up to one PDU spacing, and the tick adds its own.
      const Time apart = std::max(ours[i], recorded[i]) - std::min(ours[i], recorded[i]);
      EXPECT_LE(apart, kPduSpacing + kTick) << "link " << link << ", change " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recordings, GoldenActor,
    ::testing::Values(
        Case{"fast", {"lacp_fast.tcg-s0.pcap", "lacp_fast.tcg-s1.pcap"}, kActor, side(true, Rate::fast), kTcg, {}},
        Case{"slow", {"lacp_slow.tcg-s0.pcap", "lacp_slow.tcg-s1.pcap"}, kActor, side(true, Rate::slow), kTcg, {}},
        Case{"slow_fast",
             {"lacp_slow_fast.uml-s0.pcap", "lacp_slow_fast.uml-s1.pcap"},
             kActor,
             side(true, Rate::slow),
             kUml,
             {}},
        mute(kActor, side(true, Rate::fast))),
    [](const auto& instance) { return std::string(instance.param.name); });

// Here the grids sample the partner at other moments: Linux repeated itself between the partner's change and its own.
TEST(Golden, PassivePartnerIsAnsweredAsLinuxDid) {
  const Case c{
      "passive", {"lacp_passive.uml-s0.pcap", "lacp_passive.uml-s1.pcap"}, kActor, side(true, Rate::fast), kUml, {}};
  const Replay replay(c);
  for (std::size_t link = 0; link < replay.links(); ++link) {
    const auto ours = contents(replay.said(link));
    const auto recorded = contents(replay.recorded(link));
    EXPECT_EQ(actor_states(ours), actor_states(recorded));
    EXPECT_TRUE(is_subsequence(ours, recorded)) << ::testing::PrintToString(ours);
    EXPECT_EQ(ours.back(), recorded.back());
  }
}

// The other side of the same recordings, and a speaker that was in sync from the start. Linux's grid held some of its
// PDUs back until two changes had become one, so ours may tell a state in between that Linux passed over.
class GoldenInBetween : public ::testing::TestWithParam<Case> {};

TEST_P(GoldenInBetween, ReachesWhatLinuxReached) {
  const Replay replay(GetParam());
  for (std::size_t link = 0; link < replay.links(); ++link) {
    const auto ours = contents(replay.said(link));
    const auto recorded = contents(replay.recorded(link));
    EXPECT_TRUE(is_subsequence(actor_states(recorded), actor_states(ours)));
    EXPECT_EQ(ours.front(), recorded.front());
    EXPECT_EQ(ours.back(), recorded.back());
    EXPECT_LE(ours.size(), recorded.size() + 2) << ::testing::PrintToString(ours) << ::testing::PrintToString(recorded);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recordings, GoldenInBetween,
    ::testing::Values(
        Case{"fast",
             {"lacp_fast.tcg-s0.pcap", "lacp_fast.tcg-s1.pcap"},
             kPartner,
             side(false, Rate::fast),
             kTcg,
             {},
             true},
        Case{"slow", {"lacp_slow.tcg-s0.pcap", "lacp_slow.tcg-s1.pcap"}, kPartner, side(false, Rate::slow), kTcg, {}},
        Case{"slow_fast",
             {"lacp_slow_fast.uml-s0.pcap", "lacp_slow_fast.uml-s1.pcap"},
             kPartner,
             side(false, Rate::fast),
             kUml,
             {},
             true},
        live()),
    [](const auto& instance) { return std::string(instance.param.name); });

// A Linux bond with lacp_active off sent its first PDU unasked; ours waits for the partner's, and says the same from
// then on.
TEST(Golden, PassiveSideAnswersOnceSpokenTo) {
  const Case c{"passive", {"lacp_passive.uml-s0.pcap", "lacp_passive.uml-s1.pcap"},
               kPartner,  side(false, Rate::fast, false),
               kUml,      {}};
  const Replay replay(c);
  for (std::size_t link = 0; link < replay.links(); ++link) {
    auto ours = contents(replay.said(link));
    auto recorded = contents(replay.recorded(link));
    ASSERT_EQ(recorded.front().partner.system, Mac{});
    recorded.erase(recorded.begin());
    EXPECT_NE(ours.front().partner.system, Mac{});
    EXPECT_TRUE(is_subsequence(actor_states(recorded), actor_states(ours)));
    EXPECT_EQ(ours.back(), recorded.back());
  }
}

// p0 of the partner's bond went away: its last PDU, and p1 that stays in the aggregator.
TEST(Golden, ReleasedPortSaysFarewellAsLinuxDid) {
  const auto recorded = read_pcap("lacp_mute.uml-s0.pcap");
  std::vector<Pdu> theirs;
  for (const Recorded& frame : recorded) {
    if (frame.source() == Mac{0x02, 0, 0, 0, 0x0b, 0}) theirs.push_back(decode(frame.bytes).pdu);
  }
  World world;
  const auto a = world.add(side(true, Rate::fast), true, uint8_t{1});
  const auto b = world.add(side(false, Rate::fast), true, uint8_t{2});
  world.join(a, 0, b, 0);
  world.join(a, 1, b, 1);
  world.run_for(20 * kSecond);
  const auto before = world.port(b, 0);
  ASSERT_EQ(before.actor.state, 63);
  ASSERT_TRUE(world.group(b).remove_port(0, world.now).ok());
  const Pdu last = world.sent_by(b, 0).back().pdu;
  EXPECT_EQ(last.actor.state, theirs.back().actor.state);
  EXPECT_EQ(last.actor.key, theirs.back().actor.key);
  EXPECT_EQ(last.partner.state, theirs.back().partner.state);
  EXPECT_EQ(world.sent.back().at, world.now);
  EXPECT_EQ(world.group(b).info().active->id, 2);  // as recorded: the aggregator's port left, another one took over
  EXPECT_EQ(world.usable(b), 1U);
}

TEST(Golden, MutedLinkLeavesTheOtherAlone) {
  const Case c = mute(kActor, side(true, Rate::fast));
  const Replay replay(c);
  EXPECT_EQ(replay.group().info().active->id, 1);
  EXPECT_EQ(replay.group().info().active->ports, 1U);
  ASSERT_EQ(replay.group().usable().size(), 1U);
  EXPECT_EQ(replay.group().usable()[0], 1);
  const PortInfo muted = replay.group().port(0).value();
  EXPECT_EQ(muted.aggregator_id, 2);  // as in the recording
  EXPECT_EQ(muted.actor.state & ~state::kExpired, 71);
  EXPECT_EQ(muted.link, k10G);
}

// The end of the recordings: /proc/net/bonding after 14 s said monitoring, after 125 s none.
TEST(Golden, ChurnIsWatchedForAMinuteAsLinuxDoes) {
  const Case fast{"fast", {"lacp_fast.tcg-s0.pcap", "lacp_fast.tcg-s1.pcap"}, kActor, side(true, Rate::fast), kTcg, {}};
  const Case slow{"slow", {"lacp_slow.tcg-s0.pcap", "lacp_slow.tcg-s1.pcap"}, kActor, side(true, Rate::slow), kTcg, {}};
  const Replay after_14(fast);
  const Replay after_125(slow);
  for (uint16_t port = 0; port < 2; ++port) {
    EXPECT_EQ(name(after_14.group().port(port)->actor_churn), "monitoring");
    EXPECT_EQ(name(after_14.group().port(port)->partner_churn), "monitoring");
    EXPECT_EQ(name(after_125.group().port(port)->actor_churn), "none");
    EXPECT_EQ(name(after_125.group().port(port)->partner_churn), "none");
    EXPECT_EQ(after_125.group().port(port)->actor_churned_count, 0);
  }
}

}  // namespace
}  // namespace xbond::lacp
