// One frame between an mbuf and a tap's descriptor.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <vector>

namespace xbond::host {

enum class Written : uint8_t {
  yes,
  refused,  // this frame only: malformed, or the kernel has no memory
  down,     // the interface is down: so will the next frames be
  gone,     // the tap was deleted
};

// All segments in one call; the frame stays the caller's. A VLAN tag that the port took off goes back in.
Written write_frame(int fd, const rte_mbuf& frame) noexcept;

// Reads frames from taps straight into mbufs. One thread. Keeps a stock of mbufs; the pool must outlive it.
class FrameReader {
 public:
  enum class Outcome : uint8_t {
    frame,
    empty,    // nothing to read
    dropped,  // a frame was taken from the tap: longer than the MTU allows, or too few mbufs for it
    gone,     // the tap was deleted
  };
  struct Read {
    Outcome outcome = Outcome::empty;
    rte_mbuf* frame = nullptr;  // with Outcome::frame: the caller's from now on
  };

  explicit FrameReader(rte_mempool* pool);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // `mtu`: as many mbufs are offered to the kernel as a frame of that MTU with two VLAN tags needs.
  Read read(int fd, uint32_t mtu) noexcept;
  // Gives the stock back to the pool.
  void release() noexcept;

 private:
  static constexpr uint16_t kStock = 64;  // the largest frame that a tap takes, in 2 KB buffers, is 33
  void stock_up(uint16_t wanted) noexcept;
  rte_mbuf* take(uint32_t size) noexcept;

  rte_mempool* pool_;
  uint16_t room_;  // bytes of a frame that one mbuf of the pool holds behind its headroom
  uint16_t stocked_ = 0;
  std::array<rte_mbuf*, kStock> stock_{};  // [0, stocked_), used from the end
  std::vector<uint8_t> overflow_;          // takes what the mbufs don't
};

}  // namespace xbond::host
