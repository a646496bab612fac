#include "tests/unit/host/support.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <rte_eal.h>
#include <rte_memzone.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace xbond::host::test {
namespace {

std::string network_refusal;

ifreq query(const std::string& name, unsigned long operation, void* data = nullptr) {
  ifreq ask{};
  std::memcpy(ask.ifr_name, name.data(), std::min(name.size(), sizeof ask.ifr_name - 1));
  if (data != nullptr) ask.ifr_data = static_cast<char*>(data);
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(ioctl(fd.get(), operation, &ask), 0) << name << ": " << std::strerror(errno);
  return ask;
}

void enter_private_network() {
  if (unshare(CLONE_NEWNET) != 0) {
    network_refusal = fmt::format("no private network namespace: {}", std::strerror(errno));
    return;
  }
  if (access("/dev/net/tun", R_OK | W_OK) != 0) network_refusal = fmt::format("/dev/net/tun: {}", std::strerror(errno));
  // The kernel's own router solicitations would be counted among the tests' frames.
  std::ofstream("/proc/sys/net/ipv6/conf/default/disable_ipv6") << "1\n";
}

}  // namespace

const std::string& no_network() {
  return network_refusal;
}

bool ip(const std::string& arguments) {
  return std::system(("ip " + arguments).c_str()) == 0;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

size_t memzones() {
  size_t count = 0;
  rte_memzone_walk([](const rte_memzone*, void* sum) { ++*static_cast<size_t*>(sum); }, &count);
  return count;
}

bool exists(const std::string& name) {
  return if_nametoindex(name.c_str()) != 0;
}

bool has_carrier(const std::string& name) {
  return ethtool_value(name, ETHTOOL_GLINK) != 0;
}

uint32_t mtu_of(const std::string& name) {
  return static_cast<uint32_t>(query(name, SIOCGIFMTU).ifr_mtu);
}

port::Mac mac_of(const std::string& name) {
  const auto answer = query(name, SIOCGIFHWADDR);
  port::Mac mac{};
  std::memcpy(mac.data(), answer.ifr_hwaddr.sa_data, mac.size());
  return mac;
}

int queue_length_of(const std::string& name) {
  return query(name, SIOCGIFTXQLEN).ifr_qlen;
}

uint32_t ethtool_value(const std::string& name, uint32_t command) {
  struct ethtool_value value {};
  value.cmd = command;
  query(name, SIOCETHTOOL, &value);
  return value.data;
}

Bytes test_frame(size_t size, uint8_t seed) {
  Bytes frame(size);
  for (size_t i = 0; i < size; ++i) frame[i] = static_cast<uint8_t>(i * 7 + i / 256 + seed);
  std::copy(kMac.begin(), kMac.end(), frame.begin());
  std::copy(kOtherMac.begin(), kOtherMac.end(), frame.begin() + 6);
  frame[12] = kTestType >> 8;
  frame[13] = kTestType & 0xff;
  return frame;
}

Pool make_pool(uint32_t mbufs) {
  static int number = 0;
  const auto name = fmt::format("host_test_{}", number++);
  return Pool(rte_pktmbuf_pool_create(name.c_str(), mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
}

rte_mbuf* to_mbuf(rte_mempool* pool, std::span<const uint8_t> bytes, uint16_t room) {
  rte_mbuf* head = nullptr;
  do {
    const auto count = static_cast<uint16_t>(std::min<size_t>(bytes.size(), room));
    rte_mbuf* segment = rte_pktmbuf_alloc(pool);
    if (segment == nullptr) return head;
    std::memcpy(rte_pktmbuf_append(segment, count), bytes.data(), count);
    if (head == nullptr)
      head = segment;
    else
      rte_pktmbuf_chain(head, segment);
    bytes = bytes.subspan(count);
  } while (!bytes.empty());
  return head;
}

Bytes to_bytes(const rte_mbuf* frame) {
  Bytes out;
  for (const auto* segment = frame; segment != nullptr; segment = segment->next) {
    const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
    out.insert(out.end(), data, data + segment->data_len);
  }
  return out;
}

PacketSocket::PacketSocket(const std::string& interface, uint16_t ether_type)
    : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ether_type);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  const int on = 1;
  setsockopt(fd_.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
  if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd_ = UniqueFd();
}

bool PacketSocket::send(std::span<const uint8_t> frame) const {
  return ::send(fd_.get(), frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size());
}

std::optional<Bytes> PacketSocket::receive(std::chrono::milliseconds limit) {
  Bytes buffer(70000);
  sockaddr_ll sender{};
  do {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(limit.count())) != 1) return {};
    iovec part{buffer.data(), buffer.size()};
    alignas(cmsghdr) std::array<char, 256> control{};
    msghdr message{};
    message.msg_name = &sender;
    message.msg_namelen = sizeof sender;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(fd_.get(), &message, 0);
    if (size < 0) return {};
    vlan.reset();
    for (auto* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
      if (item->cmsg_level != SOL_PACKET || item->cmsg_type != PACKET_AUXDATA) continue;
      tpacket_auxdata data{};
      std::memcpy(&data, CMSG_DATA(item), sizeof data);
      if ((data.tp_status & TP_STATUS_VLAN_VALID) != 0) vlan = data.tp_vlan_tci;
    }
    if (sender.sll_pkttype != PACKET_OUTGOING) {
      buffer.resize(static_cast<size_t>(size));
      return buffer;
    }
  } while (true);
}

void NetworkTest::SetUp() {
  if (!no_network().empty()) GTEST_SKIP() << no_network();
  pool_ = make_pool(kMbufs);
  ASSERT_NE(pool_, nullptr);
}

void NetworkTest::TearDown() {
  if (!pool_) return;
  EXPECT_EQ(rte_mempool_avail_count(pool_.get()), kMbufs) << "mbufs leaked";
}

std::unique_ptr<Host> NetworkTest::make_host(uint16_t workers, std::function<void(const TapChange&)> changed) {
  auto host = Host::create(pool_.get(), workers, std::move(changed));
  if (!host) {
    ADD_FAILURE() << host.error().text;
    return nullptr;
  }
  return std::move(*host);
}

uint32_t NetworkTest::add_up(Host& host, const std::string& name, uint16_t mtu) {
  const auto handle = host.add(name, kMac, mtu);
  if (!handle) {
    ADD_FAILURE() << handle.error().text;
    return 0;
  }
  EXPECT_TRUE(host.set_carrier(*handle, true));
  EXPECT_TRUE(ip("link set " + name + " up"));
  EXPECT_TRUE(eventually([&] { return has_carrier(name); }));
  return *handle;
}

rte_mbuf* wait_frame(rte_ring* ring, std::chrono::milliseconds limit) {
  void* frame = nullptr;
  eventually([&] { return rte_ring_dequeue(ring, &frame) == 0; }, limit);
  return static_cast<rte_mbuf*>(frame);
}

}  // namespace xbond::host::test

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  // Before EAL starts threads: they would stay in the machine's namespace.
  xbond::host::test::enter_private_network();
  std::vector<std::string> options{"test_host",
                                   "--no-huge",
                                   "--no-shconf",
                                   "--no-pci",
                                   "--iova-mode=va",
                                   "-m",
                                   "128",
                                   "--log-level=error",
                                   "-l",
                                   "0",
                                   fmt::format("--file-prefix=test-host-{}", getpid())};
  std::vector<char*> pointers;
  pointers.reserve(options.size());
  for (auto& option : options) pointers.push_back(option.data());
  if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) return 1;
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
