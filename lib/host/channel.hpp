// A tap and its rings to the workers: what the host thread serves.
#pragma once

#include <rte_ring.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/host/frame_io.hpp"
#include "lib/host/tap.hpp"
#include "lib/host/tap_device.hpp"

namespace xbond::host {

class Channel {
 public:
  // Rings in the memory of `socket`, one pair a worker, named after `handle`.
  static Result<std::shared_ptr<Channel>> create(TapDevice device, uint32_t handle, uint16_t workers, int socket);
  // Frees the frames that are still in the rings. No worker and not the host thread may use them any more.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] uint32_t handle() const noexcept { return handle_; }
  [[nodiscard]] TapDevice& device() noexcept { return device_; }
  [[nodiscard]] std::vector<Rings> rings() const;
  [[nodiscard]] Counters counters() const noexcept;  // any thread

  // Host thread only, from here on. Both move a bounded number of frames, so that no tap starves another.
  struct Moved {
    bool any = false;
    bool more = false;  // the bound was reached: come back without sleeping
  };
  Moved to_kernel() noexcept;
  Moved from_kernel(FrameReader& reader) noexcept;

  // Compares the kernel's settings with the last known ones. True: they changed, and the change was not ours.
  bool refresh();
  void expect_mac(const port::Mac& mac) noexcept { known_.mac = mac; }
  void expect_mtu(uint16_t mtu) noexcept { known_.mtu = mtu; }
  [[nodiscard]] TapChange change() const;

  // The tap was deleted on the host: frames to it are dropped and counted.
  [[nodiscard]] bool gone() const noexcept { return gone_; }

 private:
  struct RingFree {
    void operator()(rte_ring* ring) const noexcept;
  };
  using RingPtr = std::unique_ptr<rte_ring, RingFree>;
  struct RingPair {
    RingPtr to_host, from_host;
  };
  using Count = std::atomic<uint64_t>;

  Channel(TapDevice device, uint32_t handle) : device_(std::move(device)), handle_(handle) {}
  static Result<RingPtr> make_ring(uint32_t handle, uint16_t worker, char direction, int socket);
  void write_burst(rte_mbuf* const* frames, uint32_t count) noexcept;
  void hand_over(rte_mbuf* frame) noexcept;
  // One writer: no read-modify-write instruction needed.
  static void count(Count& counter, uint64_t by) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  TapDevice device_;
  uint32_t handle_;
  std::vector<RingPair> rings_;
  Count to_kernel_{0}, to_kernel_dropped_{0}, from_kernel_{0}, from_kernel_dropped_{0};

  LinkSettings known_;
  size_t first_ = 0;  // the worker whose ring is emptied first: rotates
  bool gone_ = false;
};

}  // namespace xbond::host
