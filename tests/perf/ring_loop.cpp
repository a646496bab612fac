#include "tests/perf/ring_loop.hpp"

#include <fmt/core.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include <cstring>

#include "tests/rig/udp_frame.hpp"

namespace xbond::perf {
namespace {

using namespace test_frame;  // NOLINT(google-build-using-namespace): what fills the ring

constexpr unsigned kRing = 512;
constexpr uint16_t kDataRoom = RTE_PKTMBUF_HEADROOM + 128;

Error dpdk_error(const char* what, int code) {
  return fail(code < 0 ? -code : rte_errno, fmt::format("{}: {}", what, rte_strerror(code < 0 ? -code : rte_errno)));
}

// Frames laid out as in a hugepage, one after the other: without hugepages the ordinary pool starts anew in each 4 KiB
// page, so that all frames share a few sets of the first-level cache, and 2 KiB frames want a page translation each.
// Both cost more than what is measured. No device here does DMA, so frames may cross pages.
rte_mempool* make_pool(const std::string& name, unsigned frames) {
  rte_mempool* pool =
      rte_mempool_create_empty(name.c_str(), frames, sizeof(rte_mbuf) + kDataRoom, 0, sizeof(rte_pktmbuf_pool_private),
                               SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) {
    return nullptr;
  }
  rte_pktmbuf_pool_private room{};
  room.mbuf_data_room_size = kDataRoom;
  rte_pktmbuf_pool_init(pool, &room);
  if (rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

void write_ipv6(uint8_t* to, unsigned flow) {
  write_ether(to, flow, RTE_ETHER_TYPE_IPV6);
  auto* ip = reinterpret_cast<rte_ipv6_hdr*>(to + sizeof(rte_ether_hdr));
  ip->vtc_flow = RTE_BE32(0x60000000);
  ip->payload_len = rte_cpu_to_be_16(kFrame - sizeof(rte_ether_hdr) - sizeof(*ip));
  ip->proto = IPPROTO_UDP;
  ip->hop_limits = 64;
  ip->src_addr[0] = 0xfd;
  ip->src_addr[14] = static_cast<uint8_t>(flow * 40503u >> 8);
  ip->src_addr[15] = static_cast<uint8_t>(flow);
  ip->dst_addr[0] = 0xfd;
  ip->dst_addr[15] = 1;
  write_udp(to, flow, sizeof(rte_ether_hdr) + sizeof(*ip));
}

}  // namespace

Status RingLoop::start(uint16_t port, rte_mempool* pool) {
  const rte_eth_conf conf{};
  if (const int code = rte_eth_dev_configure(port, 1, 1, &conf); code != 0) {
    return dpdk_error("rte_eth_dev_configure", code);
  }
  if (const int code = rte_eth_rx_queue_setup(port, 0, kRing, 0, nullptr, pool); code != 0) {
    return dpdk_error("rte_eth_rx_queue_setup", code);
  }
  if (const int code = rte_eth_tx_queue_setup(port, 0, kRing, 0, nullptr); code != 0) {
    return dpdk_error("rte_eth_tx_queue_setup", code);
  }
  if (const int code = rte_eth_dev_start(port); code != 0) {
    return dpdk_error("rte_eth_dev_start", code);
  }
  return {};
}

Result<uint16_t> RingLoop::add_port(const std::string& name, bool start_it) {
  const int port = rte_eth_from_rings(name.c_str(), &ring_, 1, &ring_, 1, 0);
  if (port < 0) {
    return dpdk_error("rte_eth_from_rings", 0);
  }
  ports_.push_back(static_cast<uint16_t>(port));
  if (start_it) {
    if (Status status = start(ports_.back(), pool_); !status) {
      return status.error();
    }
  }
  return ports_.back();
}

Result<uint16_t> RingLoop::add_sink(const std::string& name, bool start_it) {
  const std::string device = "net_null_" + name;
  if (const int code = rte_eal_hotplug_add("vdev", device.c_str(), ""); code != 0) {
    return dpdk_error(device.c_str(), code);
  }
  uint16_t port = 0;
  if (const int code = rte_eth_dev_get_port_by_name(device.c_str(), &port); code != 0) {
    return dpdk_error(device.c_str(), code);
  }
  ports_.push_back(port);
  if (start_it) {
    if (Status status = start(port, pool_); !status) {
      return status.error();
    }
  }
  return port;
}

Result<std::unique_ptr<RingLoop>> RingLoop::create(const std::string& name, unsigned flows, Frames frames) {
  std::unique_ptr<RingLoop> loop(new RingLoop);
  loop->pool_ = make_pool(name, 2 * flows);
  if (loop->pool_ == nullptr) {
    return dpdk_error("mempool", 0);
  }
  // One lcore on both ends, as with the driver's own rings between two ports.
  loop->ring_ = rte_ring_create(name.c_str(), kRing, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (loop->ring_ == nullptr) {
    return dpdk_error("rte_ring_create", 0);
  }
  Result<uint16_t> source = loop->add_port(name + "_source", true);
  if (!source) {
    return source.error();
  }
  loop->source_ = *source;
  for (unsigned flow = 0; flow < flows; ++flow) {
    rte_mbuf* m = rte_pktmbuf_alloc(loop->pool_);
    char* frame = m != nullptr ? rte_pktmbuf_append(m, kFrame) : nullptr;
    if (frame == nullptr || rte_ring_enqueue(loop->ring_, m) != 0) {
      return fail(ENOMEM, fmt::format("the loop does not hold {} frames", flows));
    }
    auto* bytes = reinterpret_cast<uint8_t*>(frame);
    frames == Frames::ipv4_udp ? write_ipv4(bytes, flow) : write_ipv6(bytes, flow);
  }
  return loop;
}

RingLoop::~RingLoop() {
  for (const std::vector<uint16_t>& ports : {adopted_, ports_}) {
    for (const uint16_t port : ports) {
      rte_eth_dev_stop(port);
      rte_eth_dev_close(port);
    }
  }
  void* frame = nullptr;
  while (ring_ != nullptr && rte_ring_dequeue(ring_, &frame) == 0) {
    rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
  }
  rte_ring_free(ring_);
  rte_mempool_free(pool_);
}

}  // namespace xbond::perf
