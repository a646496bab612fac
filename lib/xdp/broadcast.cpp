// One frame to all entries of a map. Entries whose program could write to it get copies; the others share it, since
// drivers only read what they send (and MBUF_FAST_FREE is off). The map is walked once for a batch of frames, so that
// each entry which is there all the while gets each frame once, whatever becomes of others.
#include <linux/bpf.h>

#include <algorithm>

#include "bpf_compat/map/devmap_hash.hpp"
#include "bpf_compat/map/target_array.hpp"
#include "lib/xdp/frame_view.hpp"
#include "lib/xdp/redirect.hpp"

namespace xbond::xdp {
namespace {

// A frame's count of holders has 16 bits: with so many added a copy goes on in its place.
constexpr uint32_t kMostHolders = 1U << 15;

struct Exit {
  const DeviceView* device;
  const bpf::Program* program;
};

// Every segment has a count of its own: whoever frees the frame gives each of them back.
void share(rte_mbuf* frame, uint16_t more) noexcept {
  for (rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    rte_mbuf_refcnt_update(segment, static_cast<int16_t>(more));
  }
}

class Broadcast {
 public:
  Broadcast(WorkerContext& worker, const PortView& view, bool exclude_ingress, const Batch& batch) noexcept
      : worker_(worker), view_(view), batch_(batch) {
    if (exclude_ingress) {
      exclude(view.ifindex);
    }
    for (uint16_t i = 0; i < batch.n; ++i) {
      length_ = std::max(length_, batch.pkts[i]->pkt_len);
    }
  }

  void to(const bpf::Destination& entry) noexcept {
    const DeviceView* device = view_.devices != nullptr ? view_.devices->find(entry.number) : nullptr;
    if (device == nullptr || !device->up || !device->transmits || excluded(entry.number)) {
      return;
    }
    if (device->longest < length_) [[unlikely]] {
      copy_those_that_fit({device, entry.program});
      return;
    }
    if (waiting_ == exits_.size()) {
      send_all_but_last();
    }
    exits_[waiting_++] = {device, entry.program};
  }

  // The last destination takes the original.
  void end() noexcept {
    if (waiting_ == 0) {
      give_up();
      return;
    }
    send_all_but_last();
    leave_by(worker_, view_, *exits_[0].device, exits_[0].program, batch_);
  }

 private:
  // The interface, and each bond above it.
  void exclude(uint32_t ifindex) noexcept {
    while (ifindex != 0 && excluded_count_ < excluded_.size()) {
      excluded_[excluded_count_++] = ifindex;
      const DeviceView* device = view_.devices != nullptr ? view_.devices->find(ifindex) : nullptr;
      ifindex = device != nullptr ? device->upper : 0;
    }
  }
  [[nodiscard]] bool excluded(uint32_t ifindex) const noexcept {
    const auto* end = excluded_.begin() + excluded_count_;
    return std::find(excluded_.begin(), end, ifindex) != end;
  }

  // The last one waits on: it is the one to take the originals if nobody follows.
  void send_all_but_last() noexcept {
    uint16_t sharing = 0;
    for (uint16_t i = 0; i + 1 < waiting_; ++i) {
      sharing = static_cast<uint16_t>(sharing + (exits_[i].program == nullptr ? 1 : 0));
    }
    const bool shared = sharing != 0 && add_holders(sharing);
    for (uint16_t i = 0; i + 1 < waiting_; ++i) {
      if (exits_[i].program != nullptr) {
        send_copies(exits_[i], batch_);
      } else if (shared) {
        leave_by(worker_, view_, *exits_[i].device, nullptr, batch_);
      } else {
        count(Drop::no_buffer, batch_.n);
      }
    }
    exits_[0] = exits_[waiting_ - 1];
    waiting_ = 1;
  }

  // False: copies were needed and there was no buffer; nothing is shared then.
  bool add_holders(uint16_t more) noexcept {
    if (holders_ + more > kMostHolders && !start_anew()) [[unlikely]] {
      return false;
    }
    holders_ += more;
    for (uint16_t i = 0; i < batch_.n; ++i) {
      share(batch_.pkts[i], more);
    }
    return true;
  }

  // With a copy of each frame, which nobody holds yet.
  [[gnu::noinline]] bool start_anew() noexcept {
    for (uint16_t i = 0; i < batch_.n; ++i) {
      rte_mbuf* copy = deep_copy(batch_.pkts[i]);
      if (copy == nullptr) {
        return false;
      }
      rte_pktmbuf_free(batch_.pkts[i]);
      batch_.pkts[i] = copy;
    }
    holders_ = 0;
    return true;
  }

  void count(Drop reason, uint64_t frames) noexcept {
    port::count_up(worker_.counters[view_.port].drops[static_cast<size_t>(reason)], frames);
  }

  void send_copies(const Exit& exit, const Batch& batch) noexcept {
    std::array<rte_mbuf*, port::kMaxBurst> pkts;
    std::array<uint8_t, port::kMaxBurst> at;
    Batch copies{pkts.data(), at.data(), 0};
    for (uint16_t i = 0; i < batch.n; ++i) {
      pkts[copies.n] = deep_copy(batch.pkts[i]);
      at[copies.n] = batch.at[i];
      copies.n = static_cast<uint16_t>(copies.n + (pkts[copies.n] != nullptr ? 1 : 0));
    }
    if (copies.n != batch.n) {
      count(Drop::no_buffer, static_cast<uint64_t>(batch.n - copies.n));
    }
    leave_by(worker_, view_, *exit.device, exit.program, copies);
  }

  // A destination whose MTU some frames of the batch exceed: a batch of the others, and never the last.
  [[gnu::noinline]] void copy_those_that_fit(const Exit& exit) noexcept {
    std::array<rte_mbuf*, port::kMaxBurst> pkts;
    std::array<uint8_t, port::kMaxBurst> at;
    Batch fitting{pkts.data(), at.data(), 0};
    for (uint16_t i = 0; i < batch_.n; ++i) {
      if (batch_.pkts[i]->pkt_len <= exit.device->longest) {
        pkts[fitting.n] = batch_.pkts[i];
        at[fitting.n++] = batch_.at[i];
      }
    }
    if (fitting.n == 0) {
      return;
    }
    fitting_ = std::max(fitting_, exit.device->longest);
    if (exit.program != nullptr) {
      send_copies(exit, fitting);
      return;
    }
    if (!add_holders(1)) {
      count(Drop::no_buffer, fitting.n);
      return;
    }
    for (uint16_t i = 0, next = 0; i < batch_.n; ++i) {
      if (next < fitting.n && fitting.at[next] == batch_.at[i]) {
        fitting.pkts[next++] = batch_.pkts[i];  // add_holders() may have put a copy there
      } else {
        rte_pktmbuf_free(batch_.pkts[i]);
      }
    }
    leave_by(worker_, view_, *exit.device, nullptr, fitting);
  }

  // Nobody takes the originals; a frame that no destination had room for has ended.
  [[gnu::noinline]] void give_up() noexcept {
    PortCounters& counters = worker_.counters[view_.port];
    for (uint16_t i = 0; i < batch_.n; ++i) {
      rte_mbuf* m = batch_.pkts[i];
      if (m->pkt_len > fitting_) {
        discard(counters, Drop::xdp_no_destination, &m, 1);
      } else {
        rte_pktmbuf_free(m);
      }
    }
  }

  WorkerContext& worker_;
  const PortView& view_;
  Batch batch_;
  uint32_t length_ = 0;   // of the longest frame
  uint32_t fitting_ = 0;  // frames up to this length have gone somewhere, even if nobody takes the originals
  uint32_t holders_ = 0;  // that each frame has got
  std::array<uint32_t, bond::kMaxLevels + 1> excluded_;
  size_t excluded_count_ = 0;
  std::array<Exit, 64> exits_;
  uint16_t waiting_ = 0;
};

}  // namespace

void broadcast(WorkerContext& worker, const PortView& view, const bpf::Map& map, bool exclude_ingress,
               const Batch& batch) noexcept {
  Broadcast all(worker, view, exclude_ingress, batch);
  const auto each = [&](const bpf::Destination& entry) { all.to(entry); };
  if (map.spec().type == BPF_MAP_TYPE_DEVMAP_HASH) {
    static_cast<const bpf::DevmapHash&>(map).each_destination(each);
  } else {
    static_cast<const bpf::TargetArrayMap&>(map).each_destination(each);
  }
  all.end();
}

}  // namespace xbond::xdp
