// The transmit hash of a burst: the common frames of each policy four at a time, others by hash_mbuf(). Reading the
// headers is what costs, so that each frame is loaded with two vector loads at offsets that put every field into a word
// of its own; four frames' words are then transposed and hashed side by side.
#include <emmintrin.h>
#include <rte_byteorder.h>

#include <algorithm>

#include "lib/bond/frame.hpp"
#include "lib/bond/hash.hpp"

namespace xbond::bond {
namespace {

constexpr uint16_t kIpv4End = kEtherHeader + 20;
constexpr uint16_t kIpv6End = kEtherHeader + 40;
constexpr uint32_t kTcp = 6, kUdp = 17;

// Where four frames' bytes start; read once from the mbufs.
struct Starts {
  const uint8_t *a, *b, *c, *d;

  explicit Starts(rte_mbuf* const* pkts) noexcept
      : a(rte_pktmbuf_mtod(pkts[0], const uint8_t*)),
        b(rte_pktmbuf_mtod(pkts[1], const uint8_t*)),
        c(rte_pktmbuf_mtod(pkts[2], const uint8_t*)),
        d(rte_pktmbuf_mtod(pkts[3], const uint8_t*)) {}
};

bool all_have(rte_mbuf* const* pkts, uint16_t length) noexcept {
  return pkts[0]->data_len >= length && pkts[1]->data_len >= length && pkts[2]->data_len >= length &&
         pkts[3]->data_len >= length;
}

// 16 bytes at the same offset of four frames, and the transposition: word k of each frame, in frame order.
struct Four {
  __m128i a, b, c, d;

  Four(const Starts& starts, uint32_t offset) noexcept
      : a(load(starts.a + offset)),
        b(load(starts.b + offset)),
        c(load(starts.c + offset)),
        d(load(starts.d + offset)) {}

  [[nodiscard]] __m128i word0() const noexcept {
    return _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
  }
  [[nodiscard]] __m128i word1() const noexcept {
    return _mm_unpackhi_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
  }
  [[nodiscard]] __m128i word2() const noexcept {
    return _mm_unpacklo_epi64(_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
  }
  [[nodiscard]] __m128i word3() const noexcept {
    return _mm_unpackhi_epi64(_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
  }

 private:
  static __m128i load(const uint8_t* at) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
};

__m128i all(uint32_t word) noexcept {
  return _mm_set1_epi32(static_cast<int>(word));
}
// Lanes where the bits of `mask` are those of `word`.
__m128i equal(__m128i lanes, uint32_t mask, uint32_t word) noexcept {
  return _mm_cmpeq_epi32(_mm_and_si128(lanes, all(mask)), all(word));
}
__m128i tcp_or_udp(__m128i lanes, uint32_t mask, unsigned shift) noexcept {
  const __m128i masked = _mm_and_si128(lanes, all(mask));
  return _mm_or_si128(_mm_cmpeq_epi32(masked, all(kTcp << shift)), _mm_cmpeq_epi32(masked, all(kUdp << shift)));
}
bool everywhere(__m128i lanes) noexcept {
  return _mm_movemask_epi8(lanes) == 0xffff;
}

bool nowhere(__m128i lanes) noexcept {
  return _mm_movemask_epi8(lanes) == 0;
}

// `words` hold the ethertypes in their upper halves.
bool untagged(__m128i words) noexcept {
  return nowhere(_mm_or_si128(equal(words, 0xffff0000, 0x00810000),    // 802.1Q
                              equal(words, 0xffff0000, 0xa8880000)));  // 802.1ad
}

__m128i fold(__m128i h) noexcept {
  h = _mm_xor_si128(h, _mm_srli_epi32(h, 16));
  return _mm_xor_si128(h, _mm_srli_epi32(h, 8));
}

// Xor of the eight words of both IPv6 addresses.
__m128i ipv6_addresses(const Starts& starts) noexcept {
  const Four source(starts, 22);
  const Four destination(starts, 38);
  const __m128i a = _mm_xor_si128(source.a, destination.a);
  const __m128i b = _mm_xor_si128(source.b, destination.b);
  const __m128i c = _mm_xor_si128(source.c, destination.c);
  const __m128i d = _mm_xor_si128(source.d, destination.d);
  const __m128i ab = _mm_xor_si128(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
  const __m128i cd = _mm_xor_si128(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
  return _mm_xor_si128(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}

void store(uint32_t* out, __m128i h) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), h);
}

// Each policy: four() and four_ipv6() hash four frames, or return false where one of them is not of that kind. Frames
// with a tag never are, so that IP is the same on both paths. Offsets are into the frame; words are little-endian.

struct Layer2 {
  static constexpr Policy kPolicy = Policy::layer2;

  static bool four(Path path, rte_mbuf* const* pkts, uint32_t* out) noexcept {
    if (!all_have(pkts, 18)) [[unlikely]] {
      return false;
    }
    const Starts starts(pkts);
    const Four ether(starts, 2);  // 2..5: destination's end; 10..13: source's end, ethertype
    const __m128i type = ether.word2();
    // Moved down by a byte: source[5], first and second byte of the ethertype. The second belongs into the lowest byte.
    const __m128i source = _mm_and_si128(_mm_srli_epi32(type, 8), all(0xffff));
    store(out, _mm_xor_si128(_mm_xor_si128(source, _mm_srli_epi32(type, 24)), _mm_srli_epi32(ether.word0(), 24)));
    return path == Path::xdp || untagged(type);
  }
  // All kinds without a tag are alike.
  static bool four_ipv6(rte_mbuf* const* /*pkts*/, uint32_t* /*out*/) noexcept { return false; }
};

// IPv4 with TCP or UDP. Fragments and options do not matter: the addresses are where they are.
struct Layer23 {
  static constexpr Policy kPolicy = Policy::layer23;

  static bool four(Path /*path*/, rte_mbuf* const* pkts, uint32_t* out) noexcept {
    if (!all_have(pkts, kIpv4End)) [[unlikely]] {
      return false;
    }
    const Starts starts(pkts);
    const Four ether(starts, 2);  // 2..5: destination's end; 10..13: source's end, ethertype
    const Four ip(starts, 18);    // 22..25: TTL, protocol, checksum; 26..33: addresses
    const __m128i type = ether.word2();
    const __m128i common = _mm_and_si128(equal(type, 0xffff0000, 0x00080000), tcp_or_udp(ip.word1(), 0xff00, 8));
    // With this ethertype, the word moved down by a byte is source[5] ^ ethertype in host order, 0x0800.
    const __m128i layer2 = _mm_xor_si128(_mm_srli_epi32(ether.word0(), 24), _mm_srli_epi32(type, 8));
    store(out, fold(_mm_xor_si128(layer2, _mm_xor_si128(ip.word2(), ip.word3()))));
    return everywhere(common);
  }

  static bool four_ipv6(rte_mbuf* const* pkts, uint32_t* out) noexcept {
    if (!all_have(pkts, kIpv6End)) {
      return false;
    }
    const Starts starts(pkts);
    const Four ether(starts, 2);
    const Four ip(starts, 8);  // 20..23: next header, hop limit, source address
    const __m128i type = ether.word2();
    const __m128i common = _mm_and_si128(equal(type, 0xffff0000, 0xdd860000), tcp_or_udp(ip.word3(), 0xff, 0));
    const __m128i source = _mm_and_si128(_mm_srli_epi32(type, 8), all(0xff));
    const __m128i layer2 =
        _mm_xor_si128(_mm_xor_si128(source, all(RTE_ETHER_TYPE_IPV6)), _mm_srli_epi32(ether.word0(), 24));
    store(out, fold(_mm_xor_si128(layer2, ipv6_addresses(starts))));
    return everywhere(common);
  }
};

// The same, and no options: a header length that is too short makes Linux's dissector give up. What such a frame
// carries is no tunnel.
struct Encap23 {
  static constexpr Policy kPolicy = Policy::encap23;

  static bool four(Path path, rte_mbuf* const* pkts, uint32_t* out) noexcept {
    return Layer23::four(path, pkts, out) && everywhere(equal(Four(Starts(pkts), 2).word3(), 0xf, 5));
  }
  static bool four_ipv6(rte_mbuf* const* pkts, uint32_t* out) noexcept { return Layer23::four_ipv6(pkts, out); }
};

// IPv4 without options, not a fragment, with TCP or UDP. No tunnel either: encap3+4 has the same.
template <Policy policy>
struct Layer34 {
  static constexpr Policy kPolicy = policy;

  static bool four(Path /*path*/, rte_mbuf* const* pkts, uint32_t* out) noexcept {
    if (!all_have(pkts, kIpv4End + 4)) [[unlikely]] {
      return false;
    }
    const Starts starts(pkts);
    const Four head(starts, 8);   // 12..15: ethertype, version and length, TOS; 20..23: fragment word, TTL, protocol
    const Four tail(starts, 22);  // 26..33: addresses; 34..37: ports
    const __m128i common =
        _mm_and_si128(equal(head.word1(), 0x000fffff, 0x00050008), tcp_or_udp(head.word3(), 0xff00ff3f, 24));
    const __m128i flow = _mm_xor_si128(_mm_xor_si128(tail.word1(), tail.word2()), tail.word3());
    store(out, _mm_srli_epi32(fold(flow), 1));
    return everywhere(common);
  }

  static bool four_ipv6(rte_mbuf* const* pkts, uint32_t* out) noexcept {
    if (!all_have(pkts, kIpv6End + 4)) {
      return false;
    }
    const Starts starts(pkts);
    const Four head(starts, 8);   // 12..15: ethertype, version, class, label; 20..23: next header
    const Four tail(starts, 42);  // 54..57: ports
    const __m128i common = _mm_and_si128(equal(head.word1(), 0xffff, 0xdd86), tcp_or_udp(head.word3(), 0xff, 0));
    store(out, _mm_srli_epi32(fold(_mm_xor_si128(tail.word3(), ipv6_addresses(starts))), 1));
    return everywhere(common);
  }
};

struct VlanSrcmac {
  static constexpr Policy kPolicy = Policy::vlan_srcmac;

  static bool four(Path path, rte_mbuf* const* pkts, uint32_t* out) noexcept {
    if (!all_have(pkts, 18)) [[unlikely]] {
      return false;
    }
    const Four ether(Starts(pkts), 2);  // 6..9: source's beginning; 10..13: source's end, ethertype
    const __m128i head = ether.word1();
    const __m128i tail = ether.word2();
    const __m128i byte = all(0xff);
    const __m128i high = _mm_and_si128(_mm_xor_si128(head, _mm_srli_epi32(head, 24)), byte);
    const __m128i middle = _mm_and_si128(_mm_xor_si128(_mm_srli_epi32(head, 8), tail), byte);
    const __m128i low = _mm_and_si128(_mm_xor_si128(_mm_srli_epi32(head, 16), _mm_srli_epi32(tail, 8)), byte);
    store(out, _mm_or_si128(_mm_or_si128(_mm_slli_epi32(high, 16), _mm_slli_epi32(middle, 8)), low));
    return path == Path::xdp || untagged(tail);
  }
  static bool four_ipv6(rte_mbuf* const* /*pkts*/, uint32_t* /*out*/) noexcept { return false; }
};

template <class Fast>
[[gnu::noinline]] void other_four(Path path, rte_mbuf* const* pkts, uint32_t* out) noexcept {
  if (Fast::four_ipv6(pkts, out)) {
    return;
  }
  for (uint32_t i = 0; i < 4; ++i) {
    out[i] = hash_mbuf(Fast::kPolicy, path, pkts[i]);
  }
}

template <class Fast>
[[gnu::always_inline]] inline void four_of(Path path, rte_mbuf* const* pkts, uint32_t* out) noexcept {
  if (!Fast::four(path, pkts, out)) [[unlikely]] {
    other_four<Fast>(path, pkts, out);
  }
}

template <class Fast>
void burst(Path path, rte_mbuf* const* pkts, uint32_t n, uint32_t* out) noexcept {
  if (n == 0) {
    return;
  }
  if (n < 4) {
    rte_mbuf* const padded[4] = {pkts[0], pkts[n > 1 ? 1 : 0], pkts[n > 2 ? 2 : 0], pkts[0]};
    uint32_t hashes[4];
    four_of<Fast>(path, padded, hashes);
    std::copy_n(hashes, n, out);
    return;
  }
  rte_mbuf* const* const last = pkts + n - 4;
  for (; pkts <= last; pkts += 4, out += 4) {
    four_of<Fast>(path, pkts, out);
  }
  if (n % 4 != 0) {  // the last four, some of them a second time
    four_of<Fast>(path, last, out - (pkts - last));
  }
}

}  // namespace

void hash_burst(Policy policy, Path path, rte_mbuf* const* pkts, uint16_t n, uint32_t* out) noexcept {
  switch (policy) {
    case Policy::layer2:
      return burst<Layer2>(path, pkts, n, out);
    case Policy::layer23:
      return burst<Layer23>(path, pkts, n, out);
    case Policy::layer34:
      return burst<Layer34<Policy::layer34>>(path, pkts, n, out);
    case Policy::encap23:
      return burst<Encap23>(path, pkts, n, out);
    case Policy::encap34:
      return burst<Layer34<Policy::encap34>>(path, pkts, n, out);
    case Policy::vlan_srcmac:
      return burst<VlanSrcmac>(path, pkts, n, out);
  }
}

}  // namespace xbond::bond
