// A closed loop of frames through net_ring ports: one ring is the receive side of a source port and the transmit side
// of every port made here, so that only what lies between receive and transmit differs from one side to the other.
// Thread: main.
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::perf {

inline constexpr uint16_t kBurst = 32;

enum class Frames : uint8_t { ipv4_udp, ipv6_udp };

class RingLoop {
 public:
  // Primed with one 64-byte frame for each of `flows` flows. EAL must be up. `name`: another one for each in a process.
  static Result<std::unique_ptr<RingLoop>> create(const std::string& name, unsigned flows,
                                                  Frames frames = Frames::ipv4_udp);
  ~RingLoop();
  RingLoop(const RingLoop&) = delete;
  RingLoop& operator=(const RingLoop&) = delete;

  // A port whose tx goes to the ring; `start`: configured and started (a bond does that to its members itself).
  Result<uint16_t> add_port(const std::string& name, bool start);
  // A port that frees what it sends.
  Result<uint16_t> add_sink(const std::string& name, bool start);
  // Closed, after those of add_port(), with the loop: a port that another driver made (a bonding PMD's).
  void adopt(uint16_t port) { adopted_.push_back(port); }
  static Status start(uint16_t port, rte_mempool* pool);

  [[nodiscard]] uint16_t source() const { return source_; }
  [[nodiscard]] rte_mempool* pool() const { return pool_; }
  // Frames in the ring: all of them, between rounds.
  [[nodiscard]] unsigned frames() const { return rte_ring_count(ring_); }

 private:
  RingLoop() = default;
  rte_mempool* pool_ = nullptr;
  rte_ring* ring_ = nullptr;
  uint16_t source_ = 0;
  std::vector<uint16_t> ports_, adopted_;
};

}  // namespace xbond::perf
