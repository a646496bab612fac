#include "lib/bond/dissect.hpp"

#include <rte_ether.h>

#include <algorithm>

#include "lib/bond/transport.hpp"

namespace xbond::bond {
namespace {

constexpr uint32_t kHeadersAtMost = 15;  // MAX_FLOW_DISSECT_HDRS

constexpr uint16_t kIpv4 = RTE_ETHER_TYPE_IPV4, kIpv6 = RTE_ETHER_TYPE_IPV6;
constexpr uint16_t kMpls = RTE_ETHER_TYPE_MPLS, kMplsMulticast = RTE_ETHER_TYPE_MPLSM;
constexpr uint16_t kPppoe = 0x8864, kTipc = 0x88ca, kFcoe = 0x8906, kArp = 0x0806, kRarp = 0x8035;
constexpr uint16_t kBatman = 0x4305, kPtp = 0x88f7, kHsr = 0x892f, kPrp = 0x88fb;
constexpr uint16_t kTransparentBridge = 0x6558, kGrePpp = 0x880b;
constexpr uint16_t kPppIpv4 = 0x0021, kPppIpv6 = 0x0057, kPppMpls = 0x0281, kPppMplsMulticast = 0x0283;

constexpr uint8_t kHopByHop = 0, kIpip = 4, kIp6In = 41, kRouting = 43, kFragment = 44, kGre = 47, kDestination = 60;
constexpr uint8_t kMplsIn = 137;

// As the kernel's FLOW_DISSECT_RET_*.
enum class Next : uint8_t {
  protocol,  // another header, named by an ethertype
  ip,        // what an IP header carries
  done,
  transport,  // as done, but ports may follow
  bad,
};

class Walk {
 public:
  Walk(std::span<const uint8_t> frame, const Start& start) noexcept
      : frame_(frame),
        at_(start.network_at),
        ethertype_(load_be16(frame.data() + start.type_at)),
        first_ethertype_(ethertype_),
        tag_beside_(start.tag_beside()) {}

  std::optional<Flow> run() noexcept {
    Next next = Next::protocol;
    for (uint32_t headers = 0; headers <= kHeadersAtMost; ++headers) {
      next = next == Next::protocol ? by_ethertype() : Next::ip;
      if (next == Next::ip) {
        next = by_protocol();
        if (!fragment_ && next != Next::bad) {
          flow_.ports = ports_at(frame_, protocol_, at_);
        }
      }
      if (next == Next::bad) {
        return std::nullopt;
      }
      if (next == Next::done || next == Next::transport) {
        break;
      }
    }
    if (query_ != 0) {
      flow_.ports = query_;
    }
    return flow_;
  }

 private:
  [[nodiscard]] const uint8_t* header(uint32_t bytes) const noexcept {
    return holds(frame_, at_, bytes) ? frame_.data() + at_ : nullptr;
  }

  Next by_ethertype() noexcept {
    switch (ethertype_) {
      case kIpv4:
        return ipv4();
      case kIpv6:
        return ipv6();
      case RTE_ETHER_TYPE_VLAN:
      case RTE_ETHER_TYPE_QINQ:
        return tag();
      case kPppoe:
        return pppoe();
      case kTipc:
        return tipc();
      case kMpls:
      case kMplsMulticast:
      case kArp:
      case kRarp:
        return Next::done;  // bonding asks for none of their fields
      case kFcoe:
        return header(38) != nullptr ? Next::done : Next::bad;
      case kPtp:
        return header(34) != nullptr ? Next::done : Next::bad;
      case kBatman:
        return batman();
      case kHsr:
      case kPrp:
        return redundancy();
      default:
        return Next::bad;
    }
  }

  Next ipv4() noexcept {
    const uint8_t* ip = header(kIpv4Header);
    if (ip == nullptr || (ip[0] & 15U) < 5) {
      return Next::bad;
    }
    flow_.addresses = load32(ip + 12) ^ load32(ip + 16);
    protocol_ = ip[9];
    at_ += 4U * (ip[0] & 15U);
    if ((load_be16(ip + 6) & 0x3fffU) != 0) {
      fragment_ = true;
      return Next::done;
    }
    return Next::ip;
  }

  Next ipv6() noexcept {
    const uint8_t* ip = header(kIpv6Header);
    if (ip == nullptr) {
      return Next::bad;
    }
    flow_.addresses = ipv6_addresses(ip);
    protocol_ = ip[6];
    at_ += kIpv6Header;
    return Next::ip;
  }

  // The first tag met is the one beside the frame where there is one: the kernel goes on with the frame's own type
  // then, and does not move.
  Next tag() noexcept {
    if (tag_beside_) {
      tag_beside_ = false;
      ethertype_ = first_ethertype_;
      return Next::protocol;
    }
    const uint8_t* tag = header(4);
    if (tag == nullptr) {
      return Next::bad;
    }
    ethertype_ = load_be16(tag + 2);
    at_ += 4;
    return Next::protocol;
  }

  Next pppoe() noexcept {
    constexpr uint32_t kHeader = 8;
    const uint8_t* ppp = header(kHeader);
    if (ppp == nullptr || ppp[0] != 0x11 || ppp[1] != 0) {
      return Next::bad;
    }
    uint16_t carried = load_be16(ppp + 6);
    const bool compressed = (carried & 0x0100U) != 0;  // a protocol number of one byte
    at_ += compressed ? kHeader - 1 : kHeader;
    if (compressed) {
      carried = static_cast<uint16_t>(carried >> 8);
    }
    switch (carried) {
      case kPppIpv4:
        ethertype_ = kIpv4;
        return Next::protocol;
      case kPppIpv6:
        ethertype_ = kIpv6;
        return Next::protocol;
      case kPppMpls:
      case kPppMplsMulticast:
        return Next::done;
      default:
        return (carried & 0x0101U) == 1 ? Next::done : Next::bad;  // RFC 1661: a valid number, or none
    }
  }

  // The source node. (For keep-alives the kernel draws a random number.)
  Next tipc() noexcept {
    const uint8_t* tipc = header(16);
    if (tipc == nullptr) {
      return Next::bad;
    }
    flow_.addresses = load32(tipc + 12);
    return Next::done;
  }

  Next batman() noexcept {
    constexpr uint8_t kUnicast = 0x40, kVersion = 15;
    constexpr uint32_t kHeader = 10 + kEtherHeader;
    const uint8_t* batman = header(kHeader);
    if (batman == nullptr || batman[0] != kUnicast || batman[1] != kVersion) {
      return Next::bad;
    }
    ethertype_ = load_be16(batman + kHeader - 2);
    at_ += kHeader;
    return Next::protocol;
  }

  Next redundancy() noexcept {
    const uint8_t* tag = header(6);
    if (tag == nullptr) {
      return Next::bad;
    }
    ethertype_ = load_be16(tag + 4);
    at_ += 6;
    return Next::protocol;
  }

  Next by_protocol() noexcept {
    switch (protocol_) {
      case kGre:
        return gre();
      case kHopByHop:
      case kRouting:
      case kDestination:
        return ethertype_ == kIpv6 ? extension() : Next::transport;
      case kFragment:
        return ethertype_ == kIpv6 ? ipv6_fragment() : Next::transport;
      case kIpip:
        ethertype_ = kIpv4;
        return Next::protocol;
      case kIp6In:
        ethertype_ = kIpv6;
        return Next::protocol;
      case kMplsIn:
        ethertype_ = kMpls;
        return Next::protocol;
      case kIcmp:
      case kIcmp6:
        if (const uint8_t* icmp = header(kIcmpHeader)) {
          query_ = icmp_query(icmp);
        }
        return Next::transport;
      default:
        return Next::transport;
    }
  }

  Next extension() noexcept {
    const uint8_t* options = header(2);
    if (options == nullptr) {
      return Next::bad;
    }
    protocol_ = options[0];
    at_ += (options[1] + 1U) * 8;
    return Next::ip;
  }

  Next ipv6_fragment() noexcept {
    const uint8_t* fragment = header(8);
    if (fragment == nullptr) {
      return Next::bad;
    }
    fragment_ = true;
    protocol_ = fragment[0];
    at_ += 8;
    return Next::done;
  }

  Next gre() noexcept {
    constexpr uint16_t kChecksum = 0x8000, kSource = 0x4000, kKey = 0x2000, kSequence = 0x1000, kAck = 0x0080;
    const uint8_t* gre = header(4);
    if (gre == nullptr) {
      return Next::bad;
    }
    const uint16_t flags = load_be16(gre);
    const uint32_t version = flags & 7U;
    if ((flags & kSource) != 0 || version > 1) {
      return Next::done;
    }
    ethertype_ = load_be16(gre + 2);
    if (version == 1 && (ethertype_ != kGrePpp || (flags & kKey) == 0)) {
      return Next::done;
    }
    uint32_t bytes = 4;
    if ((flags & kChecksum) != 0) {
      bytes += 4;
    }
    if ((flags & kKey) != 0) {
      bytes += 4;
      if (header(bytes) == nullptr) {
        return Next::bad;
      }
    }
    if ((flags & kSequence) != 0) {
      bytes += 4;
    }
    if (version == 1 && (flags & kAck) != 0) {
      bytes += 4;
    }
    at_ += bytes;
    return version == 0 ? gre_ethernet() : gre_ppp();
  }

  Next gre_ethernet() noexcept {
    if (ethertype_ == kTransparentBridge) {
      const uint8_t* ethernet = header(kEtherHeader);
      if (ethernet == nullptr) {
        return Next::bad;
      }
      ethertype_ = load_be16(ethernet + kEthertypeAt);
      at_ += kEtherHeader;
    }
    return Next::protocol;
  }

  Next gre_ppp() noexcept {
    const uint8_t* ppp = header(4);
    if (ppp == nullptr) {
      return Next::bad;
    }
    const uint16_t carried = load_be16(ppp + 2);
    if (carried == kPppIpv4) {
      ethertype_ = kIpv4;
    } else if (carried == kPppIpv6) {
      ethertype_ = kIpv6;
    }
    at_ += 4;
    return Next::protocol;
  }

  std::span<const uint8_t> frame_;
  uint32_t at_;
  uint16_t ethertype_, first_ethertype_;
  bool tag_beside_;
  bool fragment_ = false;
  uint32_t protocol_ = 0;
  uint32_t query_ = 0;
  Flow flow_;
};

}  // namespace

std::optional<Flow> dissect(std::span<const uint8_t> frame, const Start& start) noexcept {
  frame = frame.first(std::min<size_t>(frame.size(), kDissectAtMost));
  return Walk(frame, start).run();
}

}  // namespace xbond::bond
