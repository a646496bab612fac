#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/helper/host_reader.hpp"
#include "bpf_compat/object/object.hpp"
#include "tests/conformance/bpf/kernel_object.hpp"
#include "tests/conformance/bpf/parts.hpp"

namespace xbond::bpf::conformance {
namespace {

// Two ways out, one that does not forward, routes of every type, rules, gateways of both families, with and without
// neighbours.
constexpr std::array kSetup = {
    "ip link set lo up",
    "ip link add via_a type veth peer name peer_a",
    "ip link add via_b type veth peer name peer_b",
    "ip link add via_c type veth peer name peer_c",
    "for i in via_a via_b via_c peer_a peer_b peer_c; do ip link set $i up; done",
    "ip link set via_b mtu 1400",
    "ip addr add 10.0.1.1/24 dev via_a; ip addr add 10.0.2.1/24 dev via_b; ip addr add 10.0.3.1/24 dev via_c",
    "ip -6 addr add 2001:db8:1::1/64 dev via_a nodad; ip -6 addr add 2001:db8:2::1/64 dev via_b nodad",
    "for f in ipv4 ipv6; do for i in via_a via_b; do echo 1 > /proc/sys/net/$f/conf/$i/forwarding; done; done",
    "echo 0 > /proc/sys/net/ipv4/conf/via_c/forwarding",
    "ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev via_a; ip neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev "
    "via_b",
    "ip neigh add 2001:db8:1::2 lladdr 02:00:00:00:11:02 dev via_a; ip neigh add 2001:db8:2::2 lladdr "
    "02:00:00:00:12:02 "
    "dev via_b",
    "ip route add default via 10.0.2.2 metric 77",
    "ip route add 10.1.0.0/16 via 10.0.1.2; ip route add 10.1.7.0/24 via 10.0.2.2 metric 5",
    "ip route add 10.1.7.0/24 via 10.0.1.2 metric 9; ip route add 10.1.8.0/24 via 10.0.1.9",
    "ip route add 10.1.9.0/24 dev via_b mtu lock 1000",
    "ip route add 10.1.10.0/24 via inet6 2001:db8:2::2 dev via_b",
    "ip route add tos 0x08 10.1.11.0/24 via 10.0.1.2; ip route add 10.1.11.0/24 via 10.0.2.2",
    "ip route add blackhole 10.2.1.0/24; ip route add unreachable 10.2.2.0/24; ip route add prohibit 10.2.3.0/24",
    "ip route add throw 10.2.4.0/24",
    "ip route add 10.3.0.0/16 via 10.0.1.2 table 100; ip rule add from 10.9.0.0/16 lookup 100 priority 500",
    "ip rule add to 10.4.0.0/16 blackhole priority 501; ip rule add to 10.5.0.0/16 prohibit priority 502",
    "ip rule add to 10.6.0.0/16 goto 700 priority 503; ip rule add to 10.6.1.0/24 unreachable priority 600",
    "ip rule add to 10.6.0.0/16 lookup 100 priority 700; ip route add 10.6.0.0/16 via 10.0.1.2 table 100",
    "ip rule add iif via_a to 10.7.0.0/16 lookup 100 priority 504; ip route add 10.7.0.0/16 via 10.0.1.2 table 100",
    "ip rule add lookup main suppress_prefixlength 0 priority 505; ip rule add from 10.8.0.0/16 lookup 100 priority "
    "506",
    "ip rule add fwmark 0x42 lookup 100 priority 507; ip route add default via 10.0.1.2 table 100",
    "ip -6 route add default via 2001:db8:2::2 metric 55",
    "ip -6 route add 2001:db8:a::/48 via 2001:db8:1::2; ip -6 route add 2001:db8:a:7::/64 via 2001:db8:1::9",
    "ip -6 route add blackhole 2001:db8:b:1::/64; ip -6 route add unreachable 2001:db8:b:2::/64",
    "ip -6 route add prohibit 2001:db8:b:3::/64",
    "ip -6 route add 2001:db8:c::/48 via 2001:db8:1::2 table 100",
    "ip -6 rule add from 2001:db8:9::/48 lookup 100 priority 500",
};

constexpr std::array kDestinations4 = {
    "10.0.1.2",  "10.0.1.1",  "10.0.1.77", "10.0.1.255", "10.0.2.2",       "10.1.2.3", "10.1.7.1",
    "10.1.8.1",  "10.1.9.9",  "10.1.10.1", "10.1.11.1",  "10.2.1.1",       "10.2.2.1", "10.2.3.1",
    "10.2.4.1",  "10.3.1.1",  "10.4.1.1",  "10.5.1.1",   "10.6.1.1",       "10.6.2.1", "10.7.1.1",
    "192.0.2.1", "224.0.0.1", "127.0.0.1", "0.0.0.0",    "255.255.255.255"};
constexpr std::array kSources4 = {"10.0.1.3", "10.9.1.1", "10.8.1.1", "0.0.0.0"};
constexpr std::array kDestinations6 = {"2001:db8:1::2",
                                       "2001:db8:1::1",
                                       "2001:db8:2::2",
                                       "2001:db8:a:1::1",
                                       "2001:db8:a:7::1",
                                       "2001:db8:b:1::1",
                                       "2001:db8:b:2::1",
                                       "2001:db8:b:3::1",
                                       "2001:db8:c::1",
                                       "2001:db8:f::1",
                                       "fe80::1",
                                       "ff02::1",
                                       "::1"};
constexpr std::array kSources6 = {"2001:db8:1::3", "2001:db8:9::1", "fe80::2"};

// xdp_host.c's view of a frame.
struct Question {
  uint32_t kind = 0, flags = 0, ifindex = 0;
  int32_t difference = 0;
  uint32_t mtu = 0, unused = 0;
  bpf_fib_lookup lookup{};
};

class Side {
 public:
  Side(Tally& tally, const KernelObject& kernel, const Program& ours, uint32_t cpu)
      : tally_(tally), kernel_(kernel), ours_(ours), cpu_(cpu) {}

  void ask(const Question& question, const std::string& what) {
    ++tally_.runs;
    std::vector<uint8_t> packet(sizeof(question));
    std::memcpy(packet.data(), &question, sizeof(question));
    const auto theirs = test_run(kernel_.program(), packet);
    std::vector<uint8_t> buffer(512);
    auto* data = buffer.data() + 216;
    std::memcpy(data, packet.data(), packet.size());
    XdpFrame frame{data, data + packet.size(), data, buffer.data(), buffer.data() + buffer.size(), 1, 0, 0};
    uint32_t verdict = 0;
    ours_.run_burst({&frame, 1}, &verdict, cpu_);
    if (verdict != theirs.verdict)
      return differs(tally_, fmt::format("{}: kernel returns {}, ours {}", what, static_cast<int>(theirs.verdict),
                                         static_cast<int>(verdict)));
    for (size_t i = 0; i < packet.size(); ++i)
      if (data[i] != theirs.packet[i])
        return differs(tally_,
                       fmt::format("{}: returns {}, byte {} is {:#x} in the kernel, {:#x} here", what, verdict,
                                   static_cast<int>(i - offsetof(Question, lookup)), theirs.packet[i], data[i]));
  }

 private:
  Tally& tally_;
  const KernelObject& kernel_;
  const Program& ours_;
  uint32_t cpu_;
};

std::vector<uint32_t> all_flags() {
  std::vector<uint32_t> flags = {0, BPF_FIB_LOOKUP_DIRECT, BPF_FIB_LOOKUP_OUTPUT,
                                 BPF_FIB_LOOKUP_DIRECT | BPF_FIB_LOOKUP_OUTPUT, 1U << 31};
  if (at_least(6, 3)) flags.push_back(1U << 2);                          // SKIP_NEIGH
  if (at_least(6, 5)) flags.push_back(BPF_FIB_LOOKUP_DIRECT | 1U << 3);  // TBID
  if (at_least(6, 8)) flags.push_back(1U << 4);                          // SRC
  if (at_least(6, 10)) flags.push_back(1U << 5);                         // MARK
  return flags;
}

template <class Destinations, class Sources>
void ask_routes(Side& side, uint8_t family, const Destinations& destinations, const Sources& sources) {
  for (const char* device : {"via_a", "via_b", "via_c", "lo", "none"})
    for (const char* destination : destinations)
      for (const char* source : sources)
        for (const auto flags : all_flags())
          for (const uint16_t length : {100, 1200, 1450, 1600})
            for (const uint8_t tos : {0, 8}) {
              Question question{.flags = flags};
              auto& lookup = question.lookup;
              lookup.family = family;
              lookup.tot_len = length;
              lookup.ifindex = device == std::string("none") ? 999 : if_nametoindex(device);
              if (family == AF_INET) lookup.tos = tos;
              inet_pton(family, source, lookup.ipv6_src);
              inet_pton(family, destination, lookup.ipv6_dst);
              if ((flags & 1U << 3) != 0) lookup.tbid = tos == 0 ? 100 : 12345;
              if ((flags & 1U << 5) != 0) lookup.smac[0] = tos == 0 ? 0x42 : 0x43;
              side.ask(question, fmt::format("from {} on {} to {}, flags {:#x}, length {}, tos {}", source, device,
                                             destination, flags, length, tos));
            }
}

void ask_mtus(Side& side) {
  for (const char* device : {"via_a", "via_b", "lo", "none", "own"})
    for (const uint32_t flags : {0, 1, 2})
      for (const uint32_t length : {0U, 100U, 1386U, 1400U, 1401U, 1500U, 1501U, 0xffffffffU})
        for (const int difference : {0, 1, -1, 2000, -2000, INT32_MAX, INT32_MIN}) {
          Question question{.kind = 1, .flags = flags, .difference = difference, .mtu = length};
          question.ifindex = device == std::string("none")  ? 999
                             : device == std::string("own") ? 0
                                                            : if_nametoindex(device);
          side.ask(question,
                   fmt::format("mtu of {}, length {}, difference {}, flags {}", device, length, difference, flags));
        }
}

}  // namespace

void compare_host(std::vector<Tally>& table, uint32_t cpu) {
  Tally tally{.name = "fib_lookup, check_mtu"};
  const std::string path = std::string(XBOND_BPF_OBJECTS) + "/xdp_host.o";
  const auto finish = [&](const std::string& note) {
    tally.note = note;
    table.push_back(tally);
  };
  if (unshare(CLONE_NEWNET) != 0) return finish(fmt::format("not compared: no namespace ({})", std::strerror(errno)));
  for (const char* command : kSetup)
    if (std::system(command) != 0) return finish(fmt::format("not compared: failed: {}", command));
  const auto tables = [] { return read_host_tables({}); };
  auto read = tables();
  if (!read) return finish("not compared: " + read.error().text);
  HostTables::publish(std::move(*read), BurstGrace::instance());

  const auto object = Object::open(path);
  std::string why;
  const auto kernel = KernelObject::by_libbpf(path, "host", why);
  const auto ours = object ? Program::load(*object, object->programs().front(), {.cpus = cpu + 1})
                           : Result<std::shared_ptr<Program>>(object.error());
  if (!kernel.valid() || !ours) {
    differs(tally, kernel.valid() ? ours.error().text : why);
    return finish("");
  }
  ++tally.programs;
  Side side(tally, kernel, **ours, cpu);
  ask_routes(side, AF_INET, kDestinations4, kSources4);
  ask_routes(side, AF_INET6, kDestinations6, kSources6);
  ask_mtus(side);
  for (const uint8_t family : {0, 1, 255}) {
    Question question;
    question.lookup.family = family;
    side.ask(question, fmt::format("family {}", family));
  }
  finish("");
}

}  // namespace xbond::bpf::conformance
