#include "tests/unit/bond/ring_ports.hpp"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "lib/bond/transmit.hpp"

namespace xbond::bond::test {
namespace {

// Names of DPDK objects are the process's.
std::string unique_name(const char* kind) {
  static std::atomic<unsigned> next{0};
  return std::string(kind) + std::to_string(next++);
}

void require(bool ok, const char* what) {
  if (!ok) {
    throw std::runtime_error(std::string(what) + ": " + rte_strerror(rte_errno));
  }
}

}  // namespace

void start_eal() {
  static const bool started = [] {
    std::vector<std::string> arguments{"test_bond_path",
                                       "--no-huge",
                                       "--no-shconf",
                                       "--no-pci",
                                       "--iova-mode=va",
                                       "-m",
                                       "128",
                                       "--log-level=error",
                                       "-l",
                                       "0",
                                       "--no-telemetry",
                                       "--file-prefix=test-bond-path"};
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    require(rte_eal_init(static_cast<int>(argv.size()), argv.data()) >= 0, "rte_eal_init");
    return true;
  }();
  ASSERT_TRUE(started);
}

Pool::Pool(unsigned frames)
    : pool_(rte_pktmbuf_pool_create(unique_name("pool").c_str(), frames, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0)) {
  require(pool_ != nullptr, "rte_pktmbuf_pool_create");
}

Pool::~Pool() {
  EXPECT_EQ(in_use(), 0u) << "frames leaked";
}

rte_mbuf* Pool::frame(std::span<const uint8_t> bytes) const {
  rte_mbuf* m = rte_pktmbuf_alloc(pool_.get());
  require(m != nullptr, "rte_pktmbuf_alloc");
  std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_append(m, static_cast<uint16_t>(bytes.size())));
  return m;
}

rte_mbuf* Pool::split(std::span<const uint8_t> bytes, std::span<const size_t> sizes) const {
  rte_mbuf* head = nullptr;
  size_t at = 0;
  for (size_t i = 0; i <= sizes.size(); ++i) {
    const size_t left = bytes.size() - at;
    const size_t take = i < sizes.size() ? std::min(sizes[i], left) : left;
    rte_mbuf* segment = frame(bytes.subspan(at, take));
    at += take;
    if (head == nullptr) {
      head = segment;
    } else {
      require(rte_pktmbuf_chain(head, segment) == 0, "rte_pktmbuf_chain");
    }
  }
  return head;
}

RingPorts::RingPorts(unsigned count, unsigned ring_size) : buffers_(kMemberIds) {
  for (unsigned i = 0; i < count; ++i) {
    const std::string name = unique_name("ring");
    rings_.emplace_back(rte_ring_create(name.c_str(), ring_size, 0, RING_F_SP_ENQ | RING_F_SC_DEQ));
    rte_ring* ring = rings_.back().get();
    require(ring != nullptr, "rte_ring_create");
    const int id = rte_eth_from_rings(name.c_str(), &ring, 1, &ring, 1, 0);
    require(id >= 0, "rte_eth_from_rings");
    const auto port = static_cast<uint16_t>(id);
    ports_.push_back(port);
    const rte_eth_conf conf{};
    require(rte_eth_dev_configure(port, 0, 1, &conf) == 0, "rte_eth_dev_configure");
    require(rte_eth_tx_queue_setup(port, 0, 64, 0, nullptr) == 0, "rte_eth_tx_queue_setup");
    require(rte_eth_dev_start(port) == 0, "rte_eth_dev_start");
    buffers_[port].port = port;
  }
}

RingPorts::~RingPorts() {
  for (unsigned i = 0; i < count(); ++i) {
    port::TxBuffer& left = buffer(i);
    rte_pktmbuf_free_bulk(left.pkts, left.count);
    sent(i);
    rte_eth_dev_stop(ports_[i]);
    rte_eth_dev_close(ports_[i]);
  }
}

void RingPorts::flush() {
  for (const uint16_t port : ports_) {
    port::flush(buffers_[port]);
  }
}

std::vector<std::vector<uint8_t>> RingPorts::sent(unsigned port) {
  std::vector<std::vector<uint8_t>> frames;
  void* object = nullptr;
  while (rte_ring_dequeue(rings_[port].get(), &object) == 0) {
    auto* m = static_cast<rte_mbuf*>(object);
    std::vector<uint8_t>& bytes = frames.emplace_back();
    for (const rte_mbuf* segment = m; segment != nullptr; segment = segment->next) {
      const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
      bytes.insert(bytes.end(), data, data + segment->data_len);
    }
    rte_pktmbuf_free(m);
  }
  return frames;
}

std::vector<uint8_t> udp_frame(uint32_t flow, uint32_t serial) {
  std::vector<uint8_t> f(64, 0);
  const uint8_t fixed[] = {2,    0, 0,  0,  0, 9, 2,  0, 0, 0, 0,  7, 8, 0, 0x45, 0, 0, 50, 0, 0,
                           0x40, 0, 64, 17, 0, 0, 10, 0, 0, 0, 10, 1, 0, 0, 0,    0, 0, 0,  0, 30};
  std::copy(std::begin(fixed), std::end(fixed), f.begin());
  f[28] = static_cast<uint8_t>(flow >> 8);
  f[29] = static_cast<uint8_t>(flow);
  f[33] = static_cast<uint8_t>(flow * 7);
  f[11] = static_cast<uint8_t>(flow * 3);
  f[34] = static_cast<uint8_t>(flow * 5);
  f[35] = static_cast<uint8_t>(flow);
  f[37] = static_cast<uint8_t>(flow * 11);
  std::memcpy(f.data() + 48, &flow, sizeof(flow));
  std::memcpy(f.data() + 56, &serial, sizeof(serial));
  return f;
}

uint32_t serial_of(std::span<const uint8_t> frame) {
  uint32_t serial = 0;
  std::memcpy(&serial, frame.data() + 56, sizeof(serial));
  return serial;
}

size_t Golden::column(const std::string& name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) {
    throw std::runtime_error("no column " + name);
  }
  return static_cast<size_t>(found - columns.begin());
}

Golden read_golden(const std::string& file) {
  std::ifstream in(std::string(GOLDEN_DIR) + "/" + file);
  if (!in) {
    throw std::runtime_error("cannot open " + file);
  }
  Golden golden;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ',') {
        fields.emplace_back();
      } else if (c != '\r') {
        fields.back().push_back(c);
      }
    }
    if (golden.columns.empty()) {
      golden.columns = fields;
    } else {
      golden.rows.push_back(fields);
    }
  }
  return golden;
}

std::vector<uint8_t> bytes_of(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace xbond::bond::test
