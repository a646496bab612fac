#include "bpf_compat/map/recency.hpp"

#include <utility>

namespace xbond::bpf {
namespace {

constexpr size_t kPage = 4096;

uint8_t older(uint8_t age) {
  return age == 1 ? 255 : static_cast<uint8_t>(age - 1);
}

}  // namespace

Result<Recency> Recency::create(uint32_t slots, uint32_t cpus) {
  Recency recency;
  recency.plane_ = (size_t{slots} + kPage - 1) / kPage * kPage;
  recency.cpus_ = cpus;
  auto area = Area::allocate(recency.plane_ * cpus);
  if (!area) return area.error();
  recency.area_ = std::move(*area);
  return recency;
}

Recency::Recency(Recency&& other) noexcept : area_(std::move(other.area_)), plane_(other.plane_), cpus_(other.cpus_) {}

Recency& Recency::operator=(Recency&& other) noexcept {
  area_ = std::move(other.area_);
  plane_ = other.plane_;
  cpus_ = other.cpus_;
  return *this;
}

bool Recency::recent(uint32_t slot) const noexcept {
  const auto now = age_.load(std::memory_order_relaxed);
  for (uint32_t cpu = 0; cpu < cpus_; ++cpu) {
    const auto note = at(slot, cpu).load(std::memory_order_relaxed);
    if (note == now || note == older(now)) return true;
  }
  return false;
}

uint32_t Recency::advance(uint32_t touched) noexcept {
  for (;;) {
    auto hand = hand_.load(std::memory_order_relaxed);
    const uint32_t next = hand + 1 < touched ? hand + 1 : 0;
    if (!hand_.compare_exchange_weak(hand, next, std::memory_order_relaxed)) continue;
    if (next == 0) {
      const auto age = age_.load(std::memory_order_relaxed);
      age_.store(age == 255 ? 1 : static_cast<uint8_t>(age + 1), std::memory_order_relaxed);
    }
    return hand < touched ? hand : 0;
  }
}

}  // namespace xbond::bpf
