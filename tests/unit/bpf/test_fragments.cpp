// Frames in several pieces: helpers see one row of bytes, and no byte beside the pieces is touched.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "bpf_compat/helper/frame_bytes.hpp"
#include "tests/conformance/bpf/random.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

constexpr uint32_t kRoom = 24;  // behind each piece; the sanitizer guards what lies behind that

// The same bytes in pieces of the given sizes, each in memory of its own.
class PiecedFrame {
 public:
  PiecedFrame(std::span<const uint8_t> packet, std::span<const uint32_t> sizes) : first(packet.first(sizes[0])) {
    size_t at = sizes[0];
    for (const auto size : sizes.subspan(1)) {
      auto& piece = pieces_.emplace_back(size + kRoom);
      std::copy_n(packet.begin() + static_cast<ptrdiff_t>(at), size, piece.begin());
      fragments_.push_back({piece.data(), size, kRoom});
      first.view.fragment_bytes += size;
      at += size;
    }
    first.view.fragments = fragments_.data();
    first.view.fragment_count = static_cast<uint32_t>(fragments_.size());
  }
  [[nodiscard]] std::vector<uint8_t> packet() const {
    auto all = first.packet();
    for (uint32_t i = 0; i < first.view.fragment_count; ++i)
      all.insert(all.end(), fragments_[i].data, fragments_[i].data + fragments_[i].size);
    return all;
  }

  Frame first;

 private:
  std::vector<std::vector<uint8_t>> pieces_;
  std::vector<XdpFragment> fragments_;
};

int64_t call_with(PiecedFrame& frame, const Code& code) {
  Bench bench(code);
  const auto outcome = bench.run(frame.first);
  EXPECT_EQ(outcome.fault, "");
  return static_cast<int32_t>(outcome.verdict);
}

Code adjust_tail(int by) {
  return join({mov(2, by), call(BPF_FUNC_xdp_adjust_tail), leave()});
}

// Writes 16 bytes at `to` that it read at `from`
Code copy16(uint32_t from, uint32_t to) {
  const Code where = join({movr(3, 10), alu(BPF_ADD, 3, -16), mov(4, 16)});
  return join({movr(6, 1), mov(2, static_cast<int>(from)), where, call(BPF_FUNC_xdp_load_bytes), jump(BPF_JNE, 0, 0, 7),
               movr(1, 6), mov(2, static_cast<int>(to)), where, call(BPF_FUNC_xdp_store_bytes), leave(), leave()});
}

TEST(Fragments, AreOneRowOfBytes) {
  conformance::Random random(5);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random.below(limit)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> sizes{14 + below(40)};
    for (uint32_t pieces = 1 + below(5); pieces != 0; --pieces) sizes.push_back(1 + below(30));
    uint32_t length = 0;
    for (const auto size : sizes) length += size;
    auto flat = Frame::counting(length);
    PiecedFrame frame(flat, sizes);
    for (int step = 0; step < 12; ++step) {
      const uint32_t from = below(length + 2), to = below(length + 2);
      const bool fits = from + 16 <= flat.size() && to + 16 <= flat.size();
      EXPECT_EQ(call_with(frame, copy16(from, to)), fits ? 0 : -EINVAL);
      if (fits) {
        const std::vector<uint8_t> copy(flat.begin() + from, flat.begin() + from + 16);
        std::copy(copy.begin(), copy.end(), flat.begin() + to);
      }
      ASSERT_EQ(frame.packet(), flat);
    }
    EXPECT_EQ(frame_length(frame.first.view), flat.size());
  }
}

// Only the last piece grows; what is cut goes from the back, down to an Ethernet header.
TEST(Fragments, EndMovesOverPieces) {
  conformance::Random random(6);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random.below(limit)); };
  for (int round = 0; round < 300; ++round) {
    const std::vector<uint32_t> sizes{14 + below(40), 1 + below(30), 1 + below(30)};
    auto flat = Frame::counting(sizes[0] + sizes[1] + sizes[2]);
    PiecedFrame frame(flat, sizes);
    auto& view = frame.first.view;
    for (int step = 0; step < 12 && view.fragment_count != 0; ++step) {
      const int by = static_cast<int>(below(40)) - 25;
      const auto wanted = static_cast<ptrdiff_t>(flat.size()) + by;
      const bool allowed =
          by <= 0 ? wanted >= 14 : static_cast<uint32_t>(by) <= view.fragments[view.fragment_count - 1].room;
      EXPECT_EQ(call_with(frame, adjust_tail(by)), allowed ? 0 : -EINVAL);
      if (allowed) flat.resize(static_cast<size_t>(wanted), 0);
      ASSERT_EQ(frame.packet(), flat);
    }
  }
}

TEST(Fragments, ExtremeOffsetsAreRefused) {
  PiecedFrame frame(Frame::counting(90), std::vector<uint32_t>{40, 30, 20});
  for (const int by : {INT32_MIN, INT32_MAX, -77, static_cast<int>(kRoom) + 1})
    EXPECT_EQ(call_with(frame, adjust_tail(by)), -EINVAL);
  EXPECT_EQ(frame.packet(), Frame::counting(90));
  EXPECT_EQ(call_with(frame, adjust_tail(-76)), 0);
  EXPECT_EQ(frame.packet(), Frame::counting(14));
  EXPECT_EQ(frame.first.view.fragment_count, 0U);
}

}  // namespace
}  // namespace xbond::bpf::test
