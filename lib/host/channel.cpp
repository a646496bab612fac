#include "lib/host/channel.hpp"

#include <fmt/format.h>
#include <rte_errno.h>

#include <algorithm>
#include <array>

#include "lib/host/flow.hpp"

namespace xbond::host {
namespace {

constexpr uint32_t kRingSize = 1024;
constexpr uint32_t kBurst = 32;
constexpr uint32_t kBudget = 256;  // frames a direction and round

}  // namespace

void Channel::RingFree::operator()(rte_ring* ring) const noexcept {
  std::array<rte_mbuf*, kBurst> left{};
  while (const uint32_t count = rte_ring_dequeue_burst(ring, reinterpret_cast<void**>(left.data()), kBurst, nullptr))
    rte_pktmbuf_free_bulk(left.data(), count);
  rte_ring_free(ring);
}

Result<Channel::RingPtr> Channel::make_ring(uint32_t handle, uint16_t worker, char direction, int socket) {
  const auto name = fmt::format("host_{}_{}_{}", handle, worker, direction);
  static_assert(sizeof "host_4294967295_65535_t" <= RTE_RING_NAMESIZE);
  RingPtr ring(rte_ring_create(name.c_str(), kRingSize, socket, RING_F_SP_ENQ | RING_F_SC_DEQ));
  if (!ring) return fail(rte_errno, fmt::format("ring {}: {}", name, rte_strerror(rte_errno)));
  return ring;
}

Result<std::shared_ptr<Channel>> Channel::create(TapDevice device, uint32_t handle, uint16_t workers, int socket) {
  std::shared_ptr<Channel> out(new Channel(std::move(device), handle));
  for (uint16_t worker = 0; worker < workers; ++worker) {
    auto to_host = make_ring(handle, worker, 't', socket);
    if (!to_host) return to_host.error();
    auto from_host = make_ring(handle, worker, 'f', socket);
    if (!from_host) return from_host.error();
    out->rings_.push_back({std::move(*to_host), std::move(*from_host)});
  }
  auto settings = out->device_.settings();
  if (!settings) return settings.error();
  out->known_ = *settings;
  // A new tap is down. If it is up already (set by a quick administrator or a script of the host), that is a change.
  out->known_.up = false;
  return out;
}

Channel::~Channel() = default;

std::vector<Rings> Channel::rings() const {
  std::vector<Rings> out;
  out.reserve(rings_.size());
  for (const auto& pair : rings_) out.push_back({pair.to_host.get(), pair.from_host.get()});
  return out;
}

Counters Channel::counters() const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  return {to_kernel_.load(relaxed), to_kernel_dropped_.load(relaxed), from_kernel_.load(relaxed),
          from_kernel_dropped_.load(relaxed)};
}

Channel::Moved Channel::to_kernel() noexcept {
  Moved out;
  std::array<rte_mbuf*, kBurst> frames{};
  uint32_t left = kBudget;
  const size_t workers = rings_.size();
  for (size_t i = 0; i < workers && left > 0; ++i) {
    auto* ring = rings_[(first_ + i) % workers].to_host.get();
    const uint32_t ask = std::min(kBurst, left);
    const uint32_t got = rte_ring_dequeue_burst(ring, reinterpret_cast<void**>(frames.data()), ask, nullptr);
    if (got == 0) continue;
    write_burst(frames.data(), got);
    rte_pktmbuf_free_bulk(frames.data(), got);
    left -= got;
    out.any = true;
    out.more |= got == ask;
  }
  if (++first_ >= workers) first_ = 0;
  return out;
}

void Channel::write_burst(rte_mbuf* const* frames, uint32_t total) noexcept {
  uint32_t written = 0;
  for (uint32_t i = 0; i < total && !gone_; ++i) {
    const auto outcome = write_frame(device_.fd(), *frames[i]);
    written += outcome == Written::yes ? 1 : 0;
    gone_ = outcome == Written::gone;
    // Down: the next ones would fail alike, a system call each.
    if (outcome == Written::down) break;
  }
  count(to_kernel_, written);
  count(to_kernel_dropped_, total - written);
}

Channel::Moved Channel::from_kernel(FrameReader& reader) noexcept {
  Moved out;
  for (uint32_t i = 0; i < kBudget; ++i) {
    const auto [outcome, frame] = reader.read(device_.fd(), known_.mtu);
    gone_ = outcome == FrameReader::Outcome::gone;
    if (gone_ || outcome == FrameReader::Outcome::empty) return out;
    out.any = true;
    if (outcome == FrameReader::Outcome::dropped)
      count(from_kernel_dropped_, 1);
    else
      hand_over(frame);
  }
  out.more = true;
  return out;
}

// One at a time: a read() costs fifty times as much as a single-producer enqueue, and the worker sees the frame sooner.
void Channel::hand_over(rte_mbuf* frame) noexcept {
  const std::span<const uint8_t> head(rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len);
  const uint16_t worker = pick_worker(head, static_cast<uint16_t>(rings_.size()));
  if (rte_ring_enqueue(rings_[worker].from_host.get(), frame) == 0) {
    count(from_kernel_, 1);
    return;
  }
  rte_pktmbuf_free(frame);
  count(from_kernel_dropped_, 1);
}

bool Channel::refresh() {
  const auto now = device_.settings();
  if (!now) {
    gone_ |= now.error().code == EBADFD;
    return false;
  }
  if (*now == known_) return false;
  known_ = *now;
  return true;
}

TapChange Channel::change() const {
  return {device_.name(), known_.mac, known_.mtu, known_.up && !gone_};
}

}  // namespace xbond::host
