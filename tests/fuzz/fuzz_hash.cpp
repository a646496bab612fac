// Any frame, cut anywhere into segments, hashes within its bounds, and the burst's fast paths agree with the general
// function. Input: policy and path, size of the first segment, frame.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "lib/bond/hash.hpp"

namespace {

// A segment in a heap buffer of exactly its size, so that the sanitizer sees every byte too far. No EAL, no pool.
struct Segment {
  rte_mbuf mbuf{};
  std::unique_ptr<uint8_t[]> bytes;

  explicit Segment(std::span<const uint8_t> data) : bytes(std::make_unique<uint8_t[]>(data.size())) {
    std::memcpy(bytes.get(), data.data(), data.size());
    mbuf.buf_addr = bytes.get();
    mbuf.data_len = static_cast<uint16_t>(data.size());
    mbuf.pkt_len = static_cast<uint32_t>(data.size());
    mbuf.nb_segs = 1;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using xbond::bond::Path;
  using xbond::bond::Policy;
  if (size < 2 || size > 2048) {
    return 0;
  }
  const auto policy = static_cast<Policy>(data[0] % 6);
  const Path path = (data[0] & 0x80) != 0 ? Path::host : Path::xdp;
  const size_t cut = data[1];
  const std::span<const uint8_t> frame(data + 2, size - 2);
  Segment whole(frame);
  const uint32_t expected = xbond::bond::hash(policy, path, {whole.bytes.get(), frame.size()});

  Segment first(frame.first(std::min(cut, frame.size())));
  Segment second(frame.subspan(first.mbuf.data_len));
  first.mbuf.next = &second.mbuf;
  first.mbuf.nb_segs = 2;
  first.mbuf.pkt_len = static_cast<uint32_t>(frame.size());

  std::array<rte_mbuf*, 5> pkts{&whole.mbuf, &first.mbuf, &whole.mbuf, &whole.mbuf, &whole.mbuf};
  std::array<uint32_t, 5> out{};
  for (uint16_t n = 1; n <= pkts.size(); ++n) {
    xbond::bond::hash_burst(policy, path, pkts.data(), n, out.data());
    for (uint16_t i = 0; i < n; ++i) {
      if (out[i] != expected) {
        std::abort();
      }
    }
  }
  return 0;
}
