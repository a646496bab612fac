// All that control changes and workers read, in one immutable object. Published by one pointer store, reclaimed under
// QSBR: nobody waits for workers.
#pragma once

#include <rte_ring.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "lib/bond/transmit.hpp"
#include "lib/dataplane/qsbr.hpp"
#include "lib/xdp/receive.hpp"

namespace xbond::dataplane {

// A tap's frames on their way out: by a bond, or by a port of its own.
struct HostView {
  std::span<rte_ring* const> from_host;  // by worker
  const bond::TxTable* bond = nullptr;   // nullptr: by `port`
  bool up = true;                        // administrative state of that bond or port; down: dropped, counted
  bool punts_arp = false;                // balance-alb, somewhere below: ARP goes by the protocol thread
  uint16_t port = port::kNoPort;         // plain transmit, and where it is counted; for a bond the first port below
};

struct Snapshot {
  std::array<xdp::PortView, RTE_MAX_ETHPORTS> ports;  // by ethdev port id
  std::vector<HostView> hosts;
  xdp::Devices devices;                           // by ifindex
  std::vector<std::shared_ptr<const void>> keep;  // what the views point to: programs, tables
};

// The one pointer. Writer: protocol thread. Readers: workers, registered in the Qsbr, at quiescence once a round.
class Published {
 public:
  explicit Published(Qsbr& qsbr) : qsbr_(qsbr) {}

  [[nodiscard]] const Snapshot* get() const noexcept { return current_.load(std::memory_order_acquire); }
  void publish(std::unique_ptr<const Snapshot> next);
  // Frees old snapshots that no worker can hold any more, nor frames that wait for one by a CPU map's entry: two grace
  // periods. Call now and then.
  void reclaim() noexcept;
  // Token of the newest publication: once Qsbr::passed() says yes, no worker uses an older snapshot.
  [[nodiscard]] uint64_t token() const { return token_; }

 private:
  struct Retired {
    uint64_t token;
    uint32_t left;  // grace periods
    std::unique_ptr<const Snapshot> snapshot;
  };
  Qsbr& qsbr_;
  std::unique_ptr<const Snapshot> owned_;
  std::atomic<const Snapshot*> current_{nullptr};
  std::deque<Retired> retired_;
  uint64_t token_ = 0;
};

}  // namespace xbond::dataplane
