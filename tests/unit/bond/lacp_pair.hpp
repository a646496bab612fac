// Two bonds in 802.3ad wired to each other by two links, in virtual time.
#pragma once

#include <deque>

#include "tests/unit/bond/bond_fixture.hpp"

namespace xbond::bond::test {

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

inline const Options kFast{{"lacp_rate", "fast"}};

}  // namespace xbond::bond::test
