#include "tests/rig/partner.hpp"

#include <rte_ether.h>

#include <chrono>

namespace xbond::rig {

Result<std::unique_ptr<Partner>> Partner::create(unsigned links) {
  const std::vector<std::pair<std::string, std::string>> options{{"mode", "802.3ad"}, {"lacp_rate", "fast"}};
  auto bond = bond::Bond::create("partner", 0, options);
  if (!bond) {
    return bond.error();
  }
  std::unique_ptr<Partner> partner(new Partner(std::move(bond.value())));  // NOLINT(modernize-make-unique): private
  partner->links_ = links;
  partner->bond_.on_slow_protocol_frame([to = partner.get()](uint16_t link, std::span<const uint8_t> frame) {
    to->said_.emplace_back(link, std::vector<uint8_t>(frame.begin(), frame.end()));
  });
  for (unsigned i = 0; i < links; ++i) {
    partner->carrier_[i] = true;
    auto ok = partner->bond_.add_member({.port = static_cast<uint16_t>(i),
                                         .name = "end" + std::to_string(i),
                                         .permanent_mac = {2, 0, 0, 0, 0x0b, static_cast<uint8_t>(i)},
                                         .link = {}},
                                        now_ms());
    if (!ok) {
      return ok.error();
    }
  }
  partner->bond_.set_up(true, now_ms());
  return partner;
}

uint64_t Partner::now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

void Partner::heard(unsigned link, std::span<const uint8_t> frame) {
  if (frame.size() > RTE_ETHER_HDR_LEN && frame[12] == RTE_ETHER_TYPE_SLOW >> 8 &&
      frame[13] == (RTE_ETHER_TYPE_SLOW & 0xff) && told_[link]) {
    bond_.slow_protocol(static_cast<uint16_t>(link), frame, now_ms());
  }
}

void Partner::poll(const Send& send) {
  const uint64_t now = now_ms();
  for (unsigned i = 0; i < links_; ++i) {
    const bool up = carrier_[i];
    if (up != told_[i]) {
      told_[i] = up;
      bond_.link(static_cast<uint16_t>(i), {.up = up, .speed_mbps = 10000, .full_duplex = true}, now);
    }
  }
  if (const auto due = bond_.next_deadline_ms(); due && *due <= now) {
    bond_.tick(now);
  }
  for (const auto& [link, frame] : said_) {
    send(link, frame);
  }
  said_.clear();
}

}  // namespace xbond::rig
