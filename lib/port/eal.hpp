// EAL start-up with defaults by what the machine has. Thread: main.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

struct rte_mempool;

namespace xbond::port {

// What EAL's defaults depend on.
struct Machine {
  uint64_t free_hugepage_bytes = 0;  // reserved, free, and given to this user
  std::vector<unsigned> cpus;        // CPUs that this process may run on, ascending
};
Machine read_machine();

// The EAL arguments to use: `given` (may be empty, without a program name) completed by defaults. Adds: --no-huge
// --no-shconf -m 512 where too few free hugepages are reserved, --in-memory where they are; --iova-mode=va; --no-pci
// unless one of `devices` (names from --port / --bond) is a PCI address, which then gets -a; all allowed CPUs; an own
// --file-prefix; quiet logs (errors only). Never overrides or contradicts what is given: who chooses memory, a process
// type, cores or PCI devices gets no default of that kind.
std::vector<std::string> eal_arguments(const std::vector<std::string>& given, const std::vector<std::string>& devices);
std::vector<std::string> eal_arguments(const std::vector<std::string>& given, const std::vector<std::string>& devices,
                                       const Machine& machine);

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

// Private area of every mbuf, in bytes: reserved for the program's context (an engine wants it within 64 KB in front
// of the frame). A whole cache line, so that a write there shares none with the mbuf header or the frame.
inline constexpr uint16_t kMbufPriv = 64;

struct PoolDeleter {
  void operator()(rte_mempool* pool) const noexcept;
};
using Pool = std::unique_ptr<rte_mempool, PoolDeleter>;

// One mempool serves all ports of a socket. `mbufs`: how many; `data_room`: bytes of the longest frame that one of them
// has to hold (the headroom comes on top; net_af_packet asks for its whole framesz, 2048 by default). `socket`: NUMA
// node, negative: any. Errors: EEXIST the name is taken, EINVAL no mbufs, ENAMETOOLONG, ENOMEM says how much was wanted
// and what to do.
Result<Pool> make_pool(const std::string& name, unsigned mbufs, uint16_t data_room, int socket);

}  // namespace xbond::port
