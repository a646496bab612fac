// The punt ring: frames that a worker hands to the protocol thread, one ring a worker, single producer, single
// consumer. Full: the frame is not taken, the worker counts it as dropped and goes on.
#pragma once

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstdint>
#include <memory>

#include "bpf_compat/result.hpp"

namespace xbond::xdp {

// What the frame is to the protocol thread; it travels in the mbuf (hash.usr), the ethdev port id in mbuf.port.
enum class PuntKind : uint8_t {
  slow_protocol,  // LACP or marker PDU, received by the port; the frame itself
  probe,          // a copy of ARP or neighbour discovery that the port received
  host_arp,       // ARP that the host sends by a bond in balance-alb; `port` is a member of that bond
};

class PuntRing {
 public:
  static constexpr unsigned kFrames = 512;

  // `worker`: its number, for the ring's name. Errors: what DPDK says.
  static Result<PuntRing> create(unsigned worker, int socket) {
    rte_ring* ring =
        rte_ring_create(fmt::format("xbond-punt-{}", worker).c_str(), kFrames, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) {
      return fail(rte_errno, fmt::format("punt ring of worker {}: {}", worker, rte_strerror(rte_errno)));
    }
    return PuntRing(ring);
  }

  // The worker's end. False: full, the caller still owns the frame. Packet path.
  static bool push(rte_ring* ring, rte_mbuf* frame, PuntKind kind, uint16_t port) noexcept {
    frame->port = port;
    frame->hash.usr = static_cast<uint32_t>(kind);
    return rte_ring_sp_enqueue(ring, frame) == 0;
  }
  [[nodiscard]] rte_ring* worker_end() const noexcept { return ring_.get(); }

  // The protocol thread's end: `take(frame, kind, port)` owns each frame. At most kFrames a call.
  template <class Take>
  void drain(Take take) {
    void* object = nullptr;
    for (unsigned i = 0; i < kFrames && rte_ring_sc_dequeue(ring_.get(), &object) == 0; ++i) {
      auto* frame = static_cast<rte_mbuf*>(object);
      take(frame, static_cast<PuntKind>(frame->hash.usr), frame->port);
    }
  }

 private:
  // Frames that nobody took go back to their pool.
  struct Free {
    void operator()(rte_ring* ring) const noexcept {
      void* object = nullptr;
      while (rte_ring_sc_dequeue(ring, &object) == 0) {
        rte_pktmbuf_free(static_cast<rte_mbuf*>(object));
      }
      rte_ring_free(ring);
    }
  };
  explicit PuntRing(rte_ring* ring) : ring_(ring) {}
  std::unique_ptr<rte_ring, Free> ring_;
};

}  // namespace xbond::xdp
