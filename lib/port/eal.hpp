// EAL start-up with defaults by what the machine has. Thread: main.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

struct rte_mempool;

namespace xbond::port {

// The EAL arguments to use: `given` (may be empty) completed by defaults. Adds: --no-huge --no-shconf --iova-mode=va
// -m 512 where no free hugepages are reserved, --in-memory where they are; --no-pci unless one of `devices` (names from
// --port / --bond) is a PCI address, which then gets -a; an own --file-prefix; quiet logs. Never overrides what is
// given.
std::vector<std::string> eal_arguments(const std::vector<std::string>& given, const std::vector<std::string>& devices);

class Eal {
 public:
  // Errors carry rte_errno's text. One per process.
  static Result<std::unique_ptr<Eal>> init(const std::string& program, const std::vector<std::string>& arguments);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

 private:
  Eal() = default;
};

struct PoolDeleter {
  void operator()(rte_mempool* pool) const noexcept;
};
using Pool = std::unique_ptr<rte_mempool, PoolDeleter>;

// One mempool serves all ports of a socket. data_room is for a frame of `mtu`. Errors: ENOMEM says how many and why.
Result<Pool> make_pool(const std::string& name, unsigned mbufs, uint16_t data_room, int socket);

}  // namespace xbond::port
