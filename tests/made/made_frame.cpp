#include "tests/made/made_frame.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "tests/made/choices.hpp"

namespace xbond::bpf::test {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kFront = 216;
constexpr size_t kBuffer = 640;

// Zeros, ones, signs, what `choose` says, each with the others between
void fill(std::span<uint8_t> packet, Choices& choose, unsigned turn) {
  for (auto& byte : packet) {
    static constexpr uint8_t kEdges[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
    const bool any = turn % 3 == 0 || choose.one_in(4);
    byte = any ? choose.byte() : kEdges[(turn + choose.below(2)) % std::size(kEdges)];
  }
}

}  // namespace

MadeFrame::MadeFrame(std::span<const uint8_t> bytes, unsigned turn) {
  void* memory = mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  pages_ = {static_cast<uint8_t*>(memory), 3 * kPage};
  auto* page = pages_.data() + kPage;
  if (mprotect(page, kPage, PROT_READ | PROT_WRITE) != 0) std::abort();
  Choices choose(bytes.subspan(std::min<size_t>(turn * 3, bytes.size())));
  const size_t length = 14 + turn * 9 + choose.below(9);
  // At the page's beginning, at its end with room behind the frame, and at its end without
  const size_t size = turn % 3 == 2 ? kFront + length : kBuffer;
  auto* start = turn % 3 == 0 ? page : page + kPage - size;
  std::fill_n(start, size, uint8_t{0x5a});
  auto* data = start + kFront;
  fill({data, length}, choose, turn);
  view_ = {data, data + length, data, start, start + size, 1, 0, 0};
}

MadeFrame::~MadeFrame() {
  munmap(pages_.data(), pages_.size());
}

MadeFrame::Place MadeFrame::place() const {
  return {view_.data - view_.hard_start,
          view_.data_end - view_.hard_start,
          view_.data_meta - view_.hard_start,
          view_.redirect.ifindex,
          view_.redirect.key,
          view_.redirect.flags};
}

}  // namespace xbond::bpf::test
