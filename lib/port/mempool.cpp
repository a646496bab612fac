// Mbuf pools.
#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>

#include "lib/port/eal.hpp"

namespace xbond::port {
namespace {

constexpr unsigned kLcoreCache = 256;
static_assert(kLcoreCache <= RTE_MEMPOOL_CACHE_MAX_SIZE && kMbufPriv % RTE_MBUF_PRIV_ALIGN == 0);

// Beyond two thirds of the pool the library refuses a cache.
unsigned cache_size(unsigned mbufs) {
  return static_cast<unsigned>(std::min<uint64_t>(kLcoreCache, uint64_t{mbufs} * 2 / 3));
}

uint64_t megabytes(uint64_t bytes) {
  return (bytes + (1u << 20) - 1) >> 20;
}

std::string no_memory(const std::string& name, unsigned mbufs, uint16_t room, int socket) {
  const uint64_t object = sizeof(rte_mbuf) + kMbufPriv + room + RTE_CACHE_LINE_SIZE;
  rte_malloc_socket_stats heap{};
  rte_malloc_get_socket_stats(std::max(socket, 0), &heap);
  return fmt::format(
      "mempool {}: no memory for {} mbufs of {} bytes{}: about {} MB wanted, {} MB free; "
      "give more by -m MB or more hugepages",
      name, mbufs, object, socket < 0 ? "" : fmt::format(" on socket {}", socket), megabytes(object * mbufs),
      heap.heap_freesz_bytes >> 20);
}

}  // namespace

void PoolDeleter::operator()(rte_mempool* pool) const noexcept {
  rte_mempool_free(pool);
}

Result<Pool> make_pool(const std::string& name, unsigned mbufs, uint16_t data_room, int socket) {
  if (mbufs == 0 || data_room == 0) return fail(EINVAL, fmt::format("mempool {}: its size is 0", name));
  if (data_room > UINT16_MAX - RTE_PKTMBUF_HEADROOM)
    return fail(EINVAL, fmt::format("mempool {}: frames of {} bytes do not fit an mbuf (at most {})", name, data_room,
                                    UINT16_MAX - RTE_PKTMBUF_HEADROOM));
  const auto room = static_cast<uint16_t>(data_room + RTE_PKTMBUF_HEADROOM);
  rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), mbufs, cache_size(mbufs), kMbufPriv, room, socket);
  if (pool != nullptr) return Pool(pool);
  const int code = rte_errno;
  // ENOBUFS: there was room for the pool's header, not for its objects
  if (code == ENOMEM || code == ENOBUFS) return fail(ENOMEM, no_memory(name, mbufs, room, socket));
  return fail(code, fmt::format("mempool {}: {}", name, rte_strerror(code)));
}

}  // namespace xbond::port
