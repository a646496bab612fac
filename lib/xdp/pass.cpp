#include "lib/xdp/pass.hpp"

#include <rte_ether.h>

#include <cstring>

#include "lib/bond/neighbour.hpp"
#include "lib/xdp/frame_view.hpp"
#include "lib/xdp/punt.hpp"

namespace xbond::xdp {
namespace {

bool is_probe(const rte_mbuf* m) noexcept {
  constexpr uint32_t kTagsAtMost = 2;
  return bond::neighbour_kind({rte_pktmbuf_mtod(m, const uint8_t*), m->data_len}, kTagsAtMost) !=
         bond::Neighbour::neither;
}

// A copy that finds no room is no loss of the frame: the next probe comes.
[[gnu::cold, gnu::noinline]] void copy_probes(const WorkerContext& worker, const PortView& view, rte_mbuf* const* pkts,
                                              uint16_t n) noexcept {
  constexpr uint32_t kBytes = 128;
  for (uint16_t i = 0; i < n; ++i) {
    if (worker.punt == nullptr || !is_probe(pkts[i])) {
      continue;
    }
    rte_mbuf* copy = rte_pktmbuf_copy(pkts[i], pkts[i]->pool, 0, kBytes);
    if (copy != nullptr && !PuntRing::push(worker.punt, copy, PuntKind::probe, view.port)) {
      rte_pktmbuf_free(copy);
    }
  }
}

// Drops frames to groups, which the active member gets as well; returns how many are left.
uint16_t without_groups(PortCounters& counters, rte_mbuf** pkts, uint16_t n) noexcept {
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; ++i) {
    rte_mbuf* m = pkts[i];
    if ((*rte_pktmbuf_mtod(m, const uint8_t*) & 1U) != 0) {
      discard(counters, Drop::inactive_member, &m, 1);
    } else {
      pkts[kept++] = m;
    }
  }
  return kept;
}

// Peers send to the member that they are assigned to, or to one that was; the host knows the bond's address only.
void to_host_address(const AlbAddresses& addresses, rte_mbuf* const* pkts, uint16_t n) noexcept {
  constexpr size_t kBytes = sizeof(rte_ether_addr);
  for (uint16_t i = 0; i < n; ++i) {
    auto* destination = rte_pktmbuf_mtod(pkts[i], uint8_t*);
    if (pkts[i]->data_len < kBytes || std::memcmp(destination, addresses.bond.data(), kBytes) == 0) {
      continue;
    }
    for (const auto& member : addresses.members) {
      if (std::memcmp(destination, member.data(), kBytes) == 0) {
        std::memcpy(destination, addresses.bond.data(), kBytes);
        break;
      }
    }
  }
}

}  // namespace

void pass(WorkerContext& worker, const PortView& view, rte_mbuf** pkts, uint16_t n) noexcept {
  PortCounters& counters = worker.counters[view.port];
  if (view.slow == SlowProtocols::after_program) {
    n = take_slow_protocols(counters, worker.punt, view.port, pkts, n);
  }
  if (view.probes) [[unlikely]] {
    copy_probes(worker, view, pkts, n);
  }
  if (view.alb != nullptr) [[unlikely]] {
    n = view.no_groups ? without_groups(counters, pkts, n) : n;
    to_host_address(*view.alb, pkts, n);
  }
  if (view.inactive) {
    discard(counters, Drop::inactive_member, pkts, n);
  } else if (!view.host_up) {
    discard(counters, Drop::bond_down, pkts, n);
  } else if (view.to_host.empty()) {
    discard(counters, Drop::no_host, pkts, n);
  } else {
    const auto taken = static_cast<uint16_t>(
        rte_ring_sp_enqueue_burst(view.to_host[worker.cpu], reinterpret_cast<void* const*>(pkts), n, nullptr));
    discard(counters, Drop::host_ring_full, pkts + taken, n - taken);
  }
}

}  // namespace xbond::xdp
