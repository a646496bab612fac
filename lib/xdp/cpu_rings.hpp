// Rings from each worker to each, itself included, for frames that CPU maps send on: one producer, one consumer.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::xdp {

// One element: a frame that its receiving port's number (mbuf.port) travels with.
struct CpuFrame {
  rte_mbuf* frame;
  const bpf::Program* program;  // runs on it there; nullptr: none
  uint32_t meta;                // bytes of metadata in front of it
  uint32_t unused;
};
static_assert(sizeof(CpuFrame) % 4 == 0, "rte_ring's elements");

// One worker's ends, by the other worker's number. Empty: there are no CPU maps.
struct CpuRings {
  std::span<rte_ring*const> to, from;
};

class CpuMesh {
 public:
  static constexpr unsigned kFrames = 4096;  // a ring's, and so the most of a CPU map entry's queue that counts

  // Control. Errors: what DPDK says.
  static Result<CpuMesh> create(unsigned workers, int socket);

  // Living as long as the mesh.
  [[nodiscard]] CpuRings of(unsigned worker) const {
    const size_t first = size_t{worker} * workers_;
    return {.to = std::span(to_).subspan(first, workers_), .from = std::span(from_).subspan(first, workers_)};
  }

 private:
  // Frames that nobody took go back to their pool.
  struct Free {
    void operator()(rte_ring* ring) const noexcept;
  };
  unsigned workers_ = 0;
  std::vector<std::unique_ptr<rte_ring, Free>> rings_;
  std::vector<rte_ring*> to_, from_;  // by own number times workers plus the other's
};

}  // namespace xbond::xdp
