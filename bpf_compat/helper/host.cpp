// Helpers that ask the host's tables. As the kernel answers them (bpf_xdp_fib_lookup, bpf_xdp_check_mtu in
// net/core/filter.c), but for the choice among several next hops, which follows a key of the kernel's own.
#include <linux/bpf.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/helper.hpp"
#include "bpf_compat/helper/host_tables.hpp"

namespace xbond::bpf {
namespace {

// Flags that linux/bpf.h of this system does not name yet.
constexpr uint32_t kSkipNeighbour = 1U << 2;
constexpr uint32_t kTableNumber = 1U << 3;
constexpr uint32_t kSource = 1U << 4;
constexpr uint32_t kMark = 1U << 5;
constexpr uint32_t kAllFlags =
    BPF_FIB_LOOKUP_DIRECT | BPF_FIB_LOOKUP_OUTPUT | kSkipNeighbour | kTableNumber | kSource | kMark;
constexpr uint64_t kNoSource = 9;      // BPF_FIB_LKUP_RET_NO_SRC_ADDR
constexpr uint32_t kHostLoopback = 1;  // the kernel's LOOPBACK_IFINDEX
constexpr uint32_t kEthernetHeader = 14;
constexpr uint32_t kMaxMtu4 = 0xfff0;
constexpr uint32_t kMaxMtu6 = 0xffff + 40;

uint64_t error(int code) {
  return static_cast<uint64_t>(int64_t{-code});
}

HostAddress address4(uint32_t network_order) {
  HostAddress out{};
  std::memcpy(out.data(), &network_order, sizeof(network_order));
  return out;
}

template <class Words>
HostAddress address6(const Words& words) {
  HostAddress out;
  std::memcpy(out.data(), words, out.size());
  return out;
}

// Multicast, link-local and the loopback address are never forwarded.
bool stays_on_link(const HostAddress& address) {
  constexpr HostAddress kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address[0] == 0xff || (address[0] == 0xfe && (address[1] & 0xc0) == 0x80) || address == kLoopback;
}

// One of several next hops by weight; the same for all packets of a pair of addresses.
const HostTables::Hop& choose(const HostTables::Route& route, const HostTables::Flow& flow) {
  uint64_t total = 0;
  for (const auto& hop : route.hops) total += hop.dead ? 0 : hop.weight;
  if (route.hops.size() == 1 || total == 0) return route.hops.front();
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < flow.source.size(); ++i)
    hash = (hash ^ flow.source[i] ^ static_cast<uint64_t>(flow.destination[i]) << 8) * 0x100000001b3;
  auto left = (hash >> 16) % total;
  for (const auto& hop : route.hops) {
    if (hop.dead) continue;
    if (left < hop.weight) return hop;
    left -= hop.weight;
  }
  return route.hops.front();
}

uint64_t refusal(int code) {
  switch (code) {
    case EINVAL:
      return BPF_FIB_LKUP_RET_BLACKHOLE;
    case EHOSTUNREACH:
      return BPF_FIB_LKUP_RET_UNREACHABLE;
    case EACCES:
      return BPF_FIB_LKUP_RET_PROHIBIT;
    default:
      return BPF_FIB_LKUP_RET_NOT_FWDED;
  }
}

class Lookup {
 public:
  Lookup(const HostTables& tables, bpf_fib_lookup& params, uint32_t flags)
      : tables_(tables), params_(params), flags_(flags), ipv4_(params.family == AF_INET) {}

  uint64_t run() {
    flow_ = {.family = params_.family,
             .source = ipv4_ ? address4(params_.ipv4_src) : address6(params_.ipv6_src),
             .destination = ipv4_ ? address4(params_.ipv4_dst) : address6(params_.ipv6_dst),
             .input = 0,
             .output = 0,
             .tos = static_cast<uint8_t>(ipv4_ ? params_.tos & 0xfc : 0),
             .mark = 0};
    if (!ipv4_ && (stays_on_link(flow_.source) || stays_on_link(flow_.destination))) return BPF_FIB_LKUP_RET_NOT_FWDED;
    const auto* from = tables_.by_ifindex(params_.ifindex);
    if (!from) return error(ENODEV);
    if (!(ipv4_ ? from->forwards4 : from->forwards6)) return BPF_FIB_LKUP_RET_FWD_DISABLED;
    const bool output = (flags_ & BPF_FIB_LOOKUP_OUTPUT) != 0;
    flow_.input = output ? kHostLoopback : from->kernel;
    flow_.output = output ? from->kernel : 0;
    // What the kernel asks for IPv6 in this case is what it asks for a socket that has no address yet
    flow_.has_source = ipv4_ || !output;
    const auto found = find();
    if (found.error != 0) return refusal(found.error);
    if (found.route->type != RTN_UNICAST) return BPF_FIB_LKUP_RET_NOT_FWDED;
    return take(*found.route);
  }

 private:
  HostTables::Found find() {
    // Read before results take their place
    const uint32_t table = params_.tbid;
    if ((flags_ & BPF_FIB_LOOKUP_DIRECT) != 0) {
      const bool named = (flags_ & kTableNumber) != 0;
      if (named) params_.tbid = 0;
      return tables_.in_table(flow_, named ? table : uint32_t{RT_TABLE_MAIN});
    }
    if ((flags_ & kMark) != 0) std::memcpy(&flow_.mark, params_.smac, sizeof(flow_.mark));
    return tables_.by_rules(flow_);
  }

  uint64_t take(const HostTables::Route& route) {
    const auto& hop = choose(route, flow_);
    const auto* to = tables_.by_kernel(hop.kernel);
    // A way out that programs have no number for: the host's stack knows it
    if (!to) return BPF_FIB_LKUP_RET_NOT_FWDED;
    const auto mtu = mtu_of(route, *to);
    if (params_.tot_len > mtu) {
      params_.mtu_result = static_cast<uint16_t>(mtu);
      return BPF_FIB_LKUP_RET_FRAG_NEEDED;
    }
    if (hop.tunnel) return BPF_FIB_LKUP_RET_UNSUPP_LWT;
    params_.rt_metric = route.priority;
    params_.ifindex = to->ifindex;
    if ((flags_ & kSource) != 0 && !write_source(route, hop)) return kNoSource;
    auto neighbour = flow_.destination;
    if (hop.gateway_family != 0) {
      neighbour = hop.gateway;
      if (hop.gateway_family == AF_INET6) params_.family = AF_INET6;
      if (hop.gateway_family == AF_INET6)
        std::memcpy(params_.ipv6_dst, neighbour.data(), neighbour.size());
      else
        std::memcpy(&params_.ipv4_dst, neighbour.data(), sizeof(params_.ipv4_dst));
    }
    if ((flags_ & kSkipNeighbour) == 0) {
      const auto* mac = tables_.neighbour(hop.kernel, neighbour);
      if (!mac) return BPF_FIB_LKUP_RET_NO_NEIGH;
      std::ranges::copy(*mac, params_.dmac);
      std::ranges::copy(to->mac, params_.smac);
    }
    params_.h_vlan_TCI = 0;
    params_.h_vlan_proto = 0;
    params_.mtu_result = static_cast<uint16_t>(mtu);
    return BPF_FIB_LKUP_RET_SUCCESS;
  }

  [[nodiscard]] uint32_t mtu_of(const HostTables::Route& route, const HostTables::Interface& to) const {
    if (route.mtu != 0) return route.mtu;
    return ipv4_ ? std::min(to.mtu, kMaxMtu4) : std::min(std::max(to.mtu6, 1280U), kMaxMtu6);
  }

  bool write_source(const HostTables::Route& route, const HostTables::Hop& hop) {
    const auto& toward = ipv4_ ? hop.gateway : flow_.destination;
    const auto* source = route.has_source ? &route.source : tables_.source(hop.kernel, params_.family, toward);
    if (ipv4_) {
      const HostAddress none{};
      std::memcpy(&params_.ipv4_src, source ? source->data() : none.data(), sizeof(params_.ipv4_src));
      return true;
    }
    if (source) std::memcpy(params_.ipv6_src, source->data(), source->size());
    return source != nullptr;
  }

  const HostTables& tables_;
  bpf_fib_lookup& params_;
  uint32_t flags_;
  bool ipv4_;
  HostTables::Flow flow_{};
};

}  // namespace

uint64_t fib_lookup(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  const auto length = static_cast<uint32_t>(r[3]);
  if (length == 0) return run.fail(Fault::helper_size);
  auto* memory = run.writable(r[2], length);
  if (!memory) return run.fail(Fault::helper_write);
  const auto flags = static_cast<uint32_t>(r[4]);
  if (length < sizeof(bpf_fib_lookup) || (flags & ~kAllFlags) != 0) return error(EINVAL);
  // A copy: the program's memory may lie anywhere
  bpf_fib_lookup params;
  std::memcpy(&params, memory, sizeof(params));
  if (params.family != AF_INET && params.family != AF_INET6) return error(EAFNOSUPPORT);
  const auto* tables = HostTables::current();
  if (!tables) return error(ENODEV);
  const auto result = Lookup(*tables, params, flags).run();
  std::memcpy(memory, &params, sizeof(params));
  return result;
}

uint64_t check_mtu(Run& run, const uint64_t* r) {
  if (r[1] != run.context()) return run.fail(Fault::helper_context);
  auto* memory = run.writable(r[3], sizeof(uint32_t));
  if (!memory) return run.fail(Fault::helper_write);
  if (r[5] != 0) return error(EINVAL);
  const auto& frame = *run.frame;
  const auto asked = static_cast<uint32_t>(r[2]);
  const auto* tables = HostTables::current();
  const auto* to = tables ? tables->by_ifindex(asked != 0 ? asked : frame.ingress_ifindex) : nullptr;
  if (!to) return error(ENODEV);
  uint32_t given = 0;
  std::memcpy(&given, memory, sizeof(given));
  // The kernel adds in 32 bits, and absurd numbers wrap there too
  auto length = given != 0 ? given + kEthernetHeader : static_cast<uint32_t>(frame.data_end - frame.data);
  length += static_cast<uint32_t>(r[4]);
  std::memcpy(memory, &to->mtu, sizeof(to->mtu));
  const auto most = static_cast<int32_t>(to->mtu + kEthernetHeader);
  return static_cast<int32_t>(length) > most ? BPF_MTU_CHK_RET_FRAG_NEEDED : BPF_MTU_CHK_RET_SUCCESS;
}

}  // namespace xbond::bpf
