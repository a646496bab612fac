#include "lib/bond/channels.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace xbond::bond {
namespace {

// compute_gap: what a member could carry more. Load in bytes a second.
int64_t gap(const Channels::Carrier& carrier, uint64_t load) {
  return static_cast<int64_t>(uint64_t{carrier.speed_mbps} << 20) - static_cast<int64_t>(load << 3);
}

}  // namespace

void Channels::measured(std::span<const uint64_t, kChannels> bytes, uint64_t unbalanced) {
  for (uint32_t i = 0; i < kChannels; ++i) {
    history_[i] = 1 + (bytes[i] - total_[i]) / kRebalanceSeconds;
    total_[i] = bytes[i];
  }
  unbalanced_ = (unbalanced - unbalanced_total_) / kRebalanceSeconds;
  unbalanced_total_ = unbalanced;
}

void Channels::assign(std::span<const uint32_t> channels, std::span<const Carrier> carriers) {
  if (carriers.empty()) return;
  std::vector<uint64_t> load(carriers.size());
  for (size_t c = 0; c < carriers.size(); ++c) {
    load[c] = carriers[c].active ? unbalanced_ : 0;
    for (uint32_t i = 0; i < kChannels; ++i) {
      if (port_[i] == carriers[c].port) load[c] += history_[i];
    }
  }
  std::vector<uint32_t> busiest_first(channels.begin(), channels.end());
  std::stable_sort(busiest_first.begin(), busiest_first.end(),
                   [this](uint32_t a, uint32_t b) { return history_[a] > history_[b]; });
  for (const uint32_t channel : busiest_first) {
    size_t best = 0;
    for (size_t c = 1; c < carriers.size(); ++c) {
      if (gap(carriers[c], load[c]) > gap(carriers[best], load[best])) best = c;
    }
    port_[channel] = carriers[best].port;
    load[best] += std::max<uint64_t>(history_[channel], 1);
  }
}

void Channels::rebalance(std::span<const Carrier> carriers) {
  std::array<uint32_t, kChannels> all{};
  std::iota(all.begin(), all.end(), 0U);
  port_.fill(port::kNoPort);
  assign(all, carriers);
}

void Channels::keep_to(std::span<const Carrier> carriers) {
  std::vector<uint32_t> homeless;
  for (uint32_t i = 0; i < kChannels; ++i) {
    const bool kept =
        std::any_of(carriers.begin(), carriers.end(), [&](const Carrier& c) { return c.port == port_[i]; });
    if (!kept) {
      homeless.push_back(i);
      port_[i] = port::kNoPort;
    }
  }
  assign(homeless, carriers);
}

}  // namespace xbond::bond
