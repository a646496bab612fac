// Ports for packet path tests: net_ring devices whose sent frames a test can read back, and frames that carry a serial
// number. One EAL for the process.
#pragma once

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/port/tx_buffer.hpp"

namespace xbond::bond::test {

struct RingDeleter {
  void operator()(rte_ring* ring) const noexcept { rte_ring_free(ring); }
};
struct PoolDeleter {
  void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
};

// The process's EAL; aborts the test program where it does not start.
void start_eal();

// A pool whose frames must all be back when it dies.
class Pool {
 public:
  explicit Pool(unsigned frames = 1023);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // One segment.
  [[nodiscard]] rte_mbuf* frame(std::span<const uint8_t> bytes) const;
  // Segments of the given sizes (the last takes the rest).
  [[nodiscard]] rte_mbuf* split(std::span<const uint8_t> bytes, std::span<const size_t> sizes) const;
  [[nodiscard]] unsigned in_use() const { return rte_mempool_in_use_count(pool_.get()); }

 private:
  std::unique_ptr<rte_mempool, PoolDeleter> pool_;
};

// Ethdevs 0 .. count-1 of this object, each transmitting into its own ring of `ring_size` - 1 frames.
class RingPorts {
 public:
  explicit RingPorts(unsigned count, unsigned ring_size = 1024);
  ~RingPorts();
  RingPorts(const RingPorts&) = delete;
  RingPorts& operator=(const RingPorts&) = delete;

  [[nodiscard]] uint16_t id(unsigned port) const { return ports_[port]; }
  [[nodiscard]] unsigned count() const { return static_cast<unsigned>(ports_.size()); }
  // The worker's buffers, indexed by ethdev port id.
  [[nodiscard]] port::TxBuffer* buffers() { return buffers_.data(); }
  [[nodiscard]] port::TxBuffer& buffer(unsigned port) { return buffers_[ports_[port]]; }
  void flush();
  // What left by the port, oldest first; the frames are freed, their bytes returned.
  std::vector<std::vector<uint8_t>> sent(unsigned port);

 private:
  std::vector<std::unique_ptr<rte_ring, RingDeleter>> rings_;
  std::vector<uint16_t> ports_;
  std::vector<port::TxBuffer> buffers_;
};

// A UDP frame of 64 bytes: the flow's addresses and ports, and a serial number in the payload.
std::vector<uint8_t> udp_frame(uint32_t flow, uint32_t serial);
uint32_t serial_of(std::span<const uint8_t> frame);

// A golden file: rows by column name.
struct Golden {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  [[nodiscard]] size_t column(const std::string& name) const;
};
Golden read_golden(const std::string& file);
std::vector<uint8_t> bytes_of(const std::string& hex);

}  // namespace xbond::bond::test
