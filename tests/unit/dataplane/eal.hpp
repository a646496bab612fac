// One EAL for a test program, and ports over rings that loop to themselves.
#pragma once

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bpf_compat/engine/program.hpp"

namespace xbond::test {

// What a program of a test need not say.
class FakeProgram : public bpf::Program {
 public:
  [[nodiscard]] Faults faults() const override { return {}; }
  uint64_t drain_trace(const std::function<void(std::string_view)>&) const override { return 0; }
};

// Call before the first DPDK function; starts EAL once.
inline void start_eal(const char* prefix) {
  static const bool started = [prefix] {
    std::vector<std::string> words = {"test",
                                      "--no-huge",
                                      "--no-shconf",
                                      "--no-pci",
                                      "--iova-mode=va",
                                      "-m",
                                      "128",
                                      "--log-level=error",
                                      "-l",
                                      "0",
                                      std::string("--file-prefix=") + prefix};
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    return rte_eal_init(static_cast<int>(argv.size()), argv.data()) >= 0;
  }();
  ASSERT_TRUE(started);
}

inline rte_mempool* pool() {
  static rte_mempool* p = rte_pktmbuf_pool_create("test", 4095, 0, 64, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  return p;
}

// A started net_ring port; what is sent there is received there.
struct RingPort {
  rte_ring* ring;
  uint16_t id;

  explicit RingPort(const std::string& name, unsigned size = 1024)
      : ring(rte_ring_create(name.c_str(), size, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ)),
        id(static_cast<uint16_t>(rte_eth_from_ring(ring))) {
    rte_eth_conf conf{};
    rte_eth_dev_configure(id, 1, 1, &conf);
    rte_eth_rx_queue_setup(id, 0, size, SOCKET_ID_ANY, nullptr, pool());
    rte_eth_tx_queue_setup(id, 0, size, SOCKET_ID_ANY, nullptr);
    rte_eth_dev_start(id);
  }
  ~RingPort() {
    drain();
    rte_eth_dev_stop(id);
    rte_eth_dev_close(id);
    rte_ring_free(ring);
  }
  RingPort(const RingPort&) = delete;
  RingPort& operator=(const RingPort&) = delete;

  std::vector<rte_mbuf*> take() const {
    std::vector<rte_mbuf*> out;
    void* m = nullptr;
    while (rte_ring_dequeue(ring, &m) == 0) {
      out.push_back(static_cast<rte_mbuf*>(m));
    }
    return out;
  }
  void drain() const {
    for (rte_mbuf* m : take()) {
      rte_pktmbuf_free(m);
    }
  }
};

// A frame of `size` bytes whose byte 14 on hold `mark`.
inline rte_mbuf* frame(uint32_t mark, uint16_t size = 60) {
  rte_mbuf* m = rte_pktmbuf_alloc(pool());
  auto* bytes = m == nullptr ? nullptr : reinterpret_cast<uint8_t*>(rte_pktmbuf_append(m, size));
  if (bytes == nullptr) {
    std::abort();  // the pool of a test is large enough
  }
  std::memset(bytes, 0, size);
  bytes[0] = 2;
  bytes[5] = static_cast<uint8_t>(mark);
  bytes[12] = 0x88;
  bytes[13] = 0xb5;
  std::memcpy(bytes + 14, &mark, sizeof mark);
  return m;
}
inline uint32_t mark(const rte_mbuf* m) {
  uint32_t value = 0;
  std::memcpy(&value, rte_pktmbuf_mtod_offset(m, const uint8_t*, 14), sizeof value);
  return value;
}

}  // namespace xbond::test
