// What the tests of the taps share: a private network namespace, EAL, a pool that must be full again at the end, and
// the host's side of a tap (ip, packet socket, ioctl).
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/host/tap.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::host::test {

using Bytes = std::vector<uint8_t>;

inline constexpr port::Mac kMac{0x02, 0x00, 0x5e, 0x10, 0x00, 0x01};
inline constexpr port::Mac kOtherMac{0x02, 0x00, 0x5e, 0x10, 0x00, 0x02};
inline constexpr uint16_t kTestType = 0x88b5;  // for local experiments (IEEE 802)

// Empty when the tests may make taps; else why not.
const std::string& no_network();

// Runs `ip ARGUMENTS` in the tests' namespace; true when it succeeded.
bool ip(const std::string& arguments);
// Waits for a condition that other threads or the kernel bring about.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::milliseconds(5000));
size_t open_descriptors();
size_t memzones();

// As the kernel says, by ioctl.
bool exists(const std::string& name);
bool has_carrier(const std::string& name);  // of an interface that is up
uint32_t mtu_of(const std::string& name);
port::Mac mac_of(const std::string& name);
int queue_length_of(const std::string& name);
uint32_t ethtool_value(const std::string& name, uint32_t command);

// Ethernet frame of `size` bytes with a recognisable content.
Bytes test_frame(size_t size, uint8_t seed = 1);

struct PoolDeleter {
  void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
};
using Pool = std::unique_ptr<rte_mempool, PoolDeleter>;
Pool make_pool(uint32_t mbufs);

// `bytes` in a chain of mbufs of at most `room` bytes each.
rte_mbuf* to_mbuf(rte_mempool* pool, std::span<const uint8_t> bytes, uint16_t room = 2048);
Bytes to_bytes(const rte_mbuf* frame);

// The host's end: sends and receives whole frames on one interface.
class PacketSocket {
 public:
  explicit PacketSocket(const std::string& interface, uint16_t ether_type = kTestType);
  [[nodiscard]] bool ok() const { return static_cast<bool>(fd_); }
  [[nodiscard]] bool send(std::span<const uint8_t> frame) const;
  // The next frame that came in, without a VLAN tag (the kernel takes it off and tells it in `vlan`).
  std::optional<Bytes> receive(std::chrono::milliseconds limit = std::chrono::milliseconds(3000));
  std::optional<uint16_t> vlan;

 private:
  UniqueFd fd_;
};

// Skips where taps are not permitted. Checks that every mbuf is back at the end.
class NetworkTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The tap `name`, up, with carrier.
  uint32_t add_up(Host& host, const std::string& name, uint16_t mtu = 1500);
  std::unique_ptr<Host> make_host(uint16_t workers = 1, std::function<void(const TapChange&)> changed = {});

  static constexpr uint32_t kMbufs = 4095;
  Pool pool_;
};

rte_mbuf* wait_frame(rte_ring* ring, std::chrono::milliseconds limit = std::chrono::milliseconds(3000));

}  // namespace xbond::host::test
