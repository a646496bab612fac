// The transmit hash against what a kernel's bonding driver did (tests/data/golden).
#include <gtest/gtest.h>

#include <memory>

#include "lib/bond/hash.hpp"
#include "tests/unit/bond/ring_ports.hpp"

namespace xbond::bond::test {
namespace {

struct Named {
  Policy policy;
  const char* name;
};
constexpr std::array<Named, 6> kPolicies{{{Policy::layer2, "layer2"},
                                          {Policy::layer23, "layer2+3"},
                                          {Policy::layer34, "layer3+4"},
                                          {Policy::encap23, "encap2+3"},
                                          {Policy::encap34, "encap3+4"},
                                          {Policy::vlan_srcmac, "vlan+srcmac"}}};

// The kernel refuses vlan+srcmac for XDP on a bond, so its hash without a tag beside the frame was recorded on the
// socket path, where a tag inside the frame counts as none as well.
size_t xdp_column(const Golden& golden, const Named& policy) {
  return golden.column((policy.policy == Policy::vlan_srcmac ? "skb:" : "xdp:") + std::string(policy.name));
}

uint32_t number(const std::string& hex) {
  return static_cast<uint32_t>(std::stoul(hex, nullptr, 16));
}

// The frame as the host's stack hands it to a tap: the VLAN device's tag in it.
std::vector<uint8_t> tagged(std::vector<uint8_t> frame, uint16_t tci, uint16_t tpid = 0x8100) {
  const uint8_t tag[] = {static_cast<uint8_t>(tpid >> 8), static_cast<uint8_t>(tpid), static_cast<uint8_t>(tci >> 8),
                         static_cast<uint8_t>(tci)};
  frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
  return frame;
}

// Every way to compute the hash of one frame: in one piece, in a burst, and with its headers spread over segments.
void expect_hash(const Pool& pool, Policy policy, Path path, const std::vector<uint8_t>& frame, uint32_t expected,
                 const std::string& what) {
  EXPECT_EQ(hash(policy, path, frame), expected) << what;
  const std::vector<std::vector<size_t>> cuts{{}, {14}, {13}, {1, 1, 12}, {20}, {27, 5}, {34}, {37}, {42, 20}};
  for (const auto& cut : cuts) {
    rte_mbuf* m = cut.empty() ? pool.frame(frame) : pool.split(frame, cut);
    uint32_t out = ~expected;
    hash_burst(policy, path, &m, 1, &out);
    EXPECT_EQ(out, expected) << what << ", burst, first segment of " << m->data_len;
    rte_pktmbuf_free(m);
  }
}

class Hash : public testing::Test {
 protected:
  static void SetUpTestSuite() { start_eal(); }
};

TEST_F(Hash, EveryGoldenFrameOnTheXdpPath) {
  const Golden golden = read_golden("hash32.csv");
  ASSERT_GT(golden.rows.size(), 400u);
  const Pool pool;
  for (const Named& policy : kPolicies) {
    const size_t column = xdp_column(golden, policy);
    for (const auto& row : golden.rows) {
      expect_hash(pool, policy.policy, Path::xdp, bytes_of(row[1]), number(row[column]), row[0] + " " + policy.name);
    }
  }
}

TEST_F(Hash, EveryGoldenFrameOnTheHostPath) {
  const Golden golden = read_golden("vlandev32.csv");
  ASSERT_GT(golden.rows.size(), 150u);
  const Pool pool;
  for (const Named& policy : kPolicies) {
    for (const uint16_t vid : {1, 100, 4094}) {
      const size_t column = golden.column(std::string(policy.name) + "@" + std::to_string(vid));
      for (const auto& row : golden.rows) {
        expect_hash(pool, policy.policy, Path::host, tagged(bytes_of(row[1]), vid), number(row[column]),
                    row[0] + " " + policy.name + " vid " + std::to_string(vid));
      }
    }
  }
}

TEST_F(Hash, ABurstOfAllGoldenFramesMixed) {
  const Golden golden = read_golden("hash32.csv");
  const Pool pool;
  std::vector<rte_mbuf*> frames;
  for (const auto& row : golden.rows) {
    frames.push_back(pool.frame(bytes_of(row[1])));
  }
  for (const Named& policy : kPolicies) {
    const size_t column = xdp_column(golden, policy);
    std::vector<uint32_t> out(frames.size() + 1, 0xdeadbeef);
    hash_burst(policy.policy, Path::xdp, frames.data(), static_cast<uint16_t>(frames.size()), out.data());
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(out[i], number(golden.rows[i][column])) << golden.rows[i][0];
    }
    EXPECT_EQ(out.back(), 0xdeadbeef) << "wrote past the burst";
  }
  rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
}

// Bursts are hashed in fours: any size, at any place among frames of all kinds.
TEST_F(Hash, BurstsOfEverySize) {
  const Golden golden = read_golden("hash32.csv");
  const Pool pool;
  std::vector<rte_mbuf*> frames;
  for (const auto& row : golden.rows) {
    frames.push_back(pool.frame(bytes_of(row[1])));
  }
  for (const Named& policy : kPolicies) {
    const size_t column = xdp_column(golden, policy);
    for (uint16_t n = 0; n <= 33; ++n) {
      for (size_t start = n; start + n <= frames.size(); start += 29) {
        std::vector<uint32_t> out(n + 1u, 0xdeadbeef);
        hash_burst(policy.policy, Path::xdp, frames.data() + start, n, out.data());
        for (uint16_t i = 0; i < n; ++i) {
          ASSERT_EQ(out[i], number(golden.rows[start + i][column])) << golden.rows[start + i][0] << " in " << n;
        }
        EXPECT_EQ(out[n], 0xdeadbeef) << "wrote past the burst";
      }
    }
  }
  rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
}

// Untagged frames do not depend on the path, and a tag inside the frame hides what is behind it from XDP only.
TEST_F(Hash, TagsMatterOnTheHostPathOnly) {
  const std::vector<uint8_t> plain = udp_frame(5, 0);
  for (const Named& policy : std::span(kPolicies).first(3)) {
    const uint32_t expected = hash(policy.policy, Path::xdp, plain);
    EXPECT_EQ(hash(policy.policy, Path::host, plain), expected);
    EXPECT_EQ(hash(policy.policy, Path::host, tagged(plain, 7)), expected);
    EXPECT_EQ(hash(policy.policy, Path::host, tagged(plain, 7, 0x88a8)), expected);
    const uint32_t ethernet = 9u ^ plain[11] ^ 0x8100u;
    EXPECT_EQ(hash(policy.policy, Path::xdp, tagged(plain, 7)), ethernet);
    // Two tags: the inner one stays in the frame.
    EXPECT_EQ(hash(policy.policy, Path::host, tagged(tagged(plain, 7), 8, 0x88a8)), ethernet);
  }
}

// Policies that walk the headers see behind tags on either path; vlan+srcmac sees only the tag that is beside the
// frame.
TEST_F(Hash, TagsOfThePoliciesThatLookBehindThem) {
  const std::vector<uint8_t> plain = udp_frame(5, 0);
  for (const Path path : {Path::xdp, Path::host}) {
    const uint32_t flow = hash(Policy::layer34, Path::xdp, plain);
    EXPECT_EQ(hash(Policy::encap34, path, plain), flow);
    EXPECT_EQ(hash(Policy::encap34, path, tagged(plain, 7)), flow);
    EXPECT_EQ(hash(Policy::encap34, path, tagged(tagged(plain, 7), 8, 0x88a8)), flow);
  }
  const uint32_t mac = hash(Policy::vlan_srcmac, Path::host, plain);
  EXPECT_EQ(mac, (0x020000u ^ (uint32_t{plain[9]} << 16 | uint32_t{plain[10]} << 8 | plain[11])));
  EXPECT_EQ(hash(Policy::vlan_srcmac, Path::xdp, tagged(plain, 0x6007)), mac);
  EXPECT_EQ(hash(Policy::vlan_srcmac, Path::host, tagged(plain, 0x6007)), mac ^ 0x6007u) << "priority counts";
  EXPECT_EQ(hash(Policy::vlan_srcmac, Path::host, tagged(tagged(plain, 7), 8, 0x88a8)), mac ^ 8u) << "the outer one";
}

// The walk ends by itself: a chain of extension headers that would go on for ever, and jumps out of the frame.
TEST_F(Hash, HeaderChainsAreBounded) {
  std::vector<uint8_t> frame(14 + 40 + 40 * 8, 0);
  frame[12] = 0x86;
  frame[13] = 0xdd;
  frame[14] = 0x60;
  frame[14 + 6] = 60;
  for (size_t at = 54; at < frame.size(); at += 8) {
    frame[at] = 60;  // the next one is a destination header again, of 8 bytes
  }
  const uint32_t ethernet = 0x86dd;
  EXPECT_EQ(hash(Policy::encap23, Path::xdp, frame), ethernet ^ ethernet >> 8);
  EXPECT_EQ(hash(Policy::encap34, Path::xdp, frame), 0u);
  frame[54 + 1] = 255;  // to 2048 bytes on: cut there, so the frame is not understood
  EXPECT_EQ(hash(Policy::encap34, Path::xdp, frame), ethernet);
}

// Ports behind a long chain count, up to where the walk ends, and segments change neither.
TEST_F(Hash, LongHeaderChainsHashAlikeInOnePieceAndInSeveral) {
  const Pool pool;
  for (const size_t chain : {size_t{448}, size_t{512}, size_t{600}, size_t{1984}, size_t{1992}, size_t{2400}}) {
    std::vector<uint8_t> frame(14 + 40 + chain + 8, 0);
    frame[12] = 0x86;
    frame[13] = 0xdd;
    frame[14] = 0x60;
    frame[14 + 6] = 60;
    const size_t first = chain % 256 == 0 ? 256 : chain % 256;  // headers of 256 bytes, the first one shorter
    for (size_t at = 54, size = first; at < 54 + chain; at += size, size = 256) {
      frame[at] = at + size == 54 + chain ? 17 : 60;
      frame[at + 1] = static_cast<uint8_t>(size / 8 - 1);
    }
    frame[54 + chain + 1] = 7;
    for (const Policy policy : {Policy::encap23, Policy::encap34}) {
      const uint32_t expected = hash(policy, Path::xdp, frame);
      for (const std::vector<size_t>& cut : {std::vector<size_t>{3, 1200}, {520, 1000}, {54, 500, 700}, {1900}}) {
        rte_mbuf* m = pool.split(frame, cut);
        uint32_t out = ~expected;
        hash_burst(policy, Path::xdp, &m, 1, &out);
        EXPECT_EQ(out, expected) << "chain of " << chain << ", first segment of " << m->data_len;
        rte_pktmbuf_free(m);
      }
    }
    std::vector<uint8_t> other = frame;
    other[54 + chain + 1] = 9;
    const bool in_reach = 54 + chain + 4 <= 2048;
    EXPECT_EQ(hash(Policy::encap34, Path::xdp, frame) != hash(Policy::encap34, Path::xdp, other), in_reach) << chain;
  }
}

TEST_F(Hash, MplsKeepsItsTagsInside) {
  std::vector<uint8_t> mpls = udp_frame(5, 0);
  for (const uint8_t low : {0x47, 0x48}) {
    mpls[12] = 0x88;
    mpls[13] = low;
    EXPECT_EQ(hash(Policy::layer2, Path::host, tagged(mpls, 7)), 9u ^ mpls[11] ^ 0x8100u);
    EXPECT_EQ(hash(Policy::layer2, Path::host, tagged(tagged(mpls, 7), 8, 0x88a8)), 9u ^ mpls[11] ^ 0x88a8u);
  }
}

// Every length of every golden frame, in a buffer that ends with the frame (a sanitizer build sees a byte too far).
// Cut frames differ from whole ones in nothing but what is gone, so the burst has to agree as well.
TEST_F(Hash, CutFramesStayInBounds) {
  const Golden golden = read_golden("hash32.csv");
  const Pool pool;
  for (const auto& row : golden.rows) {
    const std::vector<uint8_t> whole = bytes_of(row[1]);
    for (size_t length = 0; length <= std::min<size_t>(whole.size(), 170); ++length) {
      const auto cut = std::make_unique<uint8_t[]>(length);
      std::copy_n(whole.begin(), length, cut.get());
      for (const Path path : {Path::xdp, Path::host}) {
        for (const Named& policy : kPolicies) {
          const uint32_t expected = hash(policy.policy, path, {cut.get(), length});
          if (length < 14) {
            EXPECT_EQ(expected, 0u);
          } else if (length < 34 && path == Path::xdp && policy.policy <= Policy::layer23) {
            EXPECT_EQ(expected, uint32_t{cut[5]} ^ cut[11] ^ (uint32_t{cut[12]} << 8 | cut[13]));
          }
          rte_mbuf* m = pool.frame({cut.get(), length});
          uint32_t out = ~expected;
          hash_burst(policy.policy, path, &m, 1, &out);
          ASSERT_EQ(out, expected) << row[0] << " cut to " << length;
          rte_pktmbuf_free(m);
        }
      }
    }
  }
}

TEST_F(Hash, AnyEmptyFrameHashesToZero) {
  const Pool pool;
  rte_mbuf* empty[2] = {pool.frame({}), pool.split({}, std::array<size_t, 2>{0, 0})};
  for (const Named& policy : kPolicies) {
    uint32_t out[2] = {1, 1};
    hash_burst(policy.policy, Path::host, empty, 2, out);
    EXPECT_EQ(out[0], 0u);
    EXPECT_EQ(out[1], 0u);
    EXPECT_EQ(hash(policy.policy, Path::xdp, {}), 0u);
  }
  rte_pktmbuf_free_bulk(empty, 2);
}

}  // namespace
}  // namespace xbond::bond::test
