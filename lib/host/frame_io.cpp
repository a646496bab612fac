#include "lib/host/frame_io.hpp"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace xbond::host {
namespace {

constexpr size_t kTagOffset = 12;  // the VLAN tag goes behind both addresses
constexpr size_t kHeadroom = 22;   // Ethernet header and two VLAN tags, which the MTU does not count
constexpr size_t kMaxSegments = 64;

Written outcome_of(ssize_t written) noexcept {
  if (written >= 0) return Written::yes;
  if (errno == EIO) return Written::down;
  if (errno == EBADFD || errno == EBADF) return Written::gone;
  return Written::refused;
}

struct Parts {
  std::array<iovec, kMaxSegments + 2> at{};
  size_t count = 0;
  void add(const void* data, size_t size) noexcept { at[count++] = {const_cast<void*>(data), size}; }
};

// Precondition: at most kMaxSegments segments from `segment` on
void add_segments(Parts& parts, const rte_mbuf* segment) noexcept {
  for (; segment != nullptr; segment = segment->next)
    parts.add(rte_pktmbuf_mtod(segment, const void*), segment->data_len);
}

Written write_tagged(int fd, const rte_mbuf& frame) noexcept {
  if (frame.data_len < kTagOffset) return Written::refused;
  const auto* head = rte_pktmbuf_mtod(&frame, const uint8_t*);
  const std::array<rte_be16_t, 2> tag{rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN), rte_cpu_to_be_16(frame.vlan_tci)};
  Parts parts;
  parts.add(head, kTagOffset);
  parts.add(tag.data(), sizeof tag);
  parts.add(head + kTagOffset, frame.data_len - kTagOffset);
  add_segments(parts, frame.next);
  return outcome_of(writev(fd, parts.at.data(), static_cast<int>(parts.count)));
}

}  // namespace

Written write_frame(int fd, const rte_mbuf& frame) noexcept {
  if (frame.nb_segs > kMaxSegments) return Written::refused;
  if ((frame.ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) return write_tagged(fd, frame);
  if (frame.nb_segs == 1) return outcome_of(write(fd, rte_pktmbuf_mtod(&frame, const void*), frame.data_len));
  Parts parts;
  add_segments(parts, &frame);
  return outcome_of(writev(fd, parts.at.data(), static_cast<int>(parts.count)));
}

FrameReader::FrameReader(rte_mempool* pool)
    : pool_(pool),
      room_(static_cast<uint16_t>(rte_pktmbuf_data_room_size(pool) -
                                  std::min<uint16_t>(rte_pktmbuf_data_room_size(pool), RTE_PKTMBUF_HEADROOM))),
      // More than a tap's largest frame, so that none is cut short unnoticed
      overflow_(UINT16_MAX + 2 * kHeadroom) {}

FrameReader::~FrameReader() {
  release();
}

void FrameReader::release() noexcept {
  rte_pktmbuf_free_bulk(stock_.data(), stocked_);
  stocked_ = 0;
}

void FrameReader::stock_up(uint16_t wanted) noexcept {
  if (stocked_ >= wanted) return;
  const auto get = [&](uint16_t upto) {
    const auto count = static_cast<uint16_t>(upto - stocked_);
    if (rte_pktmbuf_alloc_bulk(pool_, stock_.data() + stocked_, count) == 0) stocked_ = upto;
  };
  get(kStock);
  if (stocked_ < wanted) get(wanted);  // the pool is nearly empty: ask for no more than needed
}

// The first mbufs of the stock become the frame of `size` bytes that was read into them.
rte_mbuf* FrameReader::take(uint32_t size) noexcept {
  rte_mbuf* const head = stock_[--stocked_];
  rte_mbuf* last = head;
  head->pkt_len = size;
  for (uint32_t left = size;;) {
    last->data_len = static_cast<uint16_t>(std::min<uint32_t>(left, room_));
    left -= last->data_len;
    if (left == 0) return head;
    last->next = stock_[--stocked_];
    last = last->next;
    ++head->nb_segs;
  }
}

FrameReader::Read FrameReader::read(int fd, uint32_t mtu) noexcept {
  const size_t wanted = room_ == 0 ? 0 : (mtu + kHeadroom + room_ - 1) / room_;
  stock_up(static_cast<uint16_t>(std::min<size_t>(wanted, kStock)));
  const auto mbufs = std::min<size_t>({wanted, stocked_, kStock});

  std::array<iovec, kStock + 1> parts;
  for (size_t i = 0; i < mbufs; ++i) parts[i] = {rte_pktmbuf_mtod(stock_[stocked_ - 1 - i], void*), room_};
  parts[mbufs] = {overflow_.data(), overflow_.size()};
  const ssize_t size = readv(fd, parts.data(), static_cast<int>(mbufs + 1));

  if (size < 0) return {errno == EBADFD || errno == EBADF ? Outcome::gone : Outcome::empty, nullptr};
  if (size == 0 || static_cast<size_t>(size) > mbufs * room_) return {Outcome::dropped, nullptr};
  return {Outcome::frame, take(static_cast<uint32_t>(size))};
}

}  // namespace xbond::host
