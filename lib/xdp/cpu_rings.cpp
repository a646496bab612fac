#include "lib/xdp/cpu_rings.hpp"

#include <fmt/format.h>
#include <rte_errno.h>

namespace xbond::xdp {

Result<CpuMesh> CpuMesh::create(unsigned workers, int socket) {
  CpuMesh mesh;
  mesh.workers_ = workers;
  for (unsigned from = 0; from < workers; ++from) {
    for (unsigned to = 0; to < workers; ++to) {
      rte_ring* ring = rte_ring_create_elem(fmt::format("xbond-cpu-{}-{}", from, to).c_str(), sizeof(CpuFrame), kFrames,
                                            socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
      if (ring == nullptr) {
        return fail(rte_errno, fmt::format("ring from worker {} to {}: {}", from, to, rte_strerror(rte_errno)));
      }
      mesh.rings_.emplace_back(ring);
    }
  }
  for (unsigned own = 0; own < workers; ++own) {
    for (unsigned other = 0; other < workers; ++other) {
      mesh.to_.push_back(mesh.rings_[size_t{own} * workers + other].get());
      mesh.from_.push_back(mesh.rings_[size_t{other} * workers + own].get());
    }
  }
  return mesh;
}

void CpuMesh::Free::operator()(rte_ring* ring) const noexcept {
  CpuFrame one;
  while (rte_ring_sc_dequeue_elem(ring, &one, sizeof one) == 0) {
    rte_pktmbuf_free(one.frame);
  }
  rte_ring_free(ring);
}

}  // namespace xbond::xdp
