#include "lib/lacp/transmit.hpp"

#include <algorithm>

#include "lib/lacp/port.hpp"

namespace xbond::lacp {

Time TxWindow::next_farewell() const noexcept {
  return times_[oldest_] ? after(*times_[oldest_], kSecond) : 0;
}

Time TxWindow::next() const noexcept {
  const Time spaced = last_ ? after(*last_, kPduSpacing) : 0;
  return std::max({spaced, hold_, next_farewell()});
}

void TxWindow::sent(Time now) noexcept {
  times_[oldest_] = now;
  oldest_ = (oldest_ + 1) % times_.size();
  last_ = now;
}

Wire* Wires::find(uint16_t port) noexcept {
  const auto found = std::find_if(wires_.begin(), wires_.end(), [port](const Wire& wire) { return wire.port == port; });
  return found == wires_.end() ? nullptr : &*found;
}

Wire& Wires::enter(uint16_t port) {
  Wire* wire = find(port);
  if (wire == nullptr) {
    if (wires_.size() == kMax) {
      const auto idlest = std::min_element(wires_.begin(), wires_.end(), [](const Wire& a, const Wire& b) {
        return a.member != b.member ? b.member : a.window.idle_from() < b.window.idle_from();
      });
      wires_.erase(idlest);
    }
    wire = &wires_.emplace_back();
    wire->port = port;
  }
  wire->member = true;
  wire->farewell.reset();
  return *wire;
}

void Wires::expire(Time now) noexcept {
  std::erase_if(wires_,
                [now](const Wire& wire) { return !wire.member && !wire.farewell && wire.window.idle_from() <= now; });
}

Pdu pdu_of(const Port& port, bool last) noexcept {
  Pdu pdu;
  pdu.actor = port.actor;
  pdu.partner = port.partner;
  if (last) {
    pdu.actor.set(state::kAggregation | state::kSynchronization | state::kCollecting | state::kDistributing, false);
  }
  return pdu;
}

bool wants_to_send(const Port& port) noexcept {
  const bool heard_or_active = port.actor.has(state::kActivity) || !port.actor.has(state::kDefaulted);
  return port.ntt && port.enabled && port.lacp_enabled && !port.begin && heard_or_active;
}

}  // namespace xbond::lacp
