// Per lcore, per receiving port: what became of each frame. The worker writes (port::count_up), control reads and sums.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace xbond::xdp {

// Why a frame ended here. Names of the kernel's tracepoints where it has one: xdp_exception, xdp_redirect_err with its
// errno, xdp_devmap_xmit, xdp_cpumap_enqueue, xdp_cpumap_kthread.
enum class Drop : uint8_t {
  xdp_drop,                 // the program's verdict XDP_DROP
  xdp_aborted,              // the program's verdict XDP_ABORTED, or it broke a rule at run time (xdp_exception)
  xdp_unknown,              // a return value that is no verdict there; counts as ABORTED (bpf_warn_invalid_xdp_action)
  xdp_redirect_einval,      // xdp_redirect_err: there is no such interface
  xdp_redirect_enetdown,    // xdp_redirect_err: it is down
  xdp_redirect_emsgsize,    // xdp_redirect_err: the frame is longer than its MTU
  xdp_redirect_eopnotsupp,  // xdp_redirect_err: a bond in a mode that sends no XDP frames, or a map of consumers
  xdp_no_destination,       // to all of a map, where no entry was left (the kernel frees the frame and tells nobody)
  xdp_devmap_xmit,          // to a bond without a usable member
  xdp_devmap_drop,          // the verdict XDP_DROP of the program of a devmap's entry (xdp_devmap_xmit)
  xdp_cpumap_enqueue,       // the queue to the other worker is full
  xdp_cpumap_drop,          // the verdict XDP_DROP of the program of a CPU map's entry (xdp_cpumap_kthread)
  xdp_bond_down,            // XDP_TX while the bond is down; counts as ABORTED
  xdp_not_linear,           // several segments that do not fit one buffer, for a program without xdp.frags
  no_buffer,                // a copy that a program may write to was needed, and no buffer was free
  bond_down,                // PASS while the bond is down
  inactive_member,          // PASS on a backup member without all_slaves_active
  no_host,                  // PASS where there is no tap (host=off, or it could not be made)
  host_ring_full,           // PASS, but the host thread is behind
  no_member,                // from the host: the bond has no usable member, or it (or the port) is down
  punt_full,                // LACP or marker PDU, but the protocol thread is behind
  workers_stopped,  // forwarding was stopped: received by a member of an 802.3ad bond, or on the way to a worker
  not_lacp,         // on the queue of slow protocols, but of another one (no LACP, no marker)
};
inline constexpr std::array<std::string_view, 23> kDropNames = {
    "xdp_drop",
    "xdp_aborted",
    "xdp_unknown",
    "xdp_redirect_einval",
    "xdp_redirect_enetdown",
    "xdp_redirect_emsgsize",
    "xdp_redirect_eopnotsupp",
    "xdp_no_destination",
    "xdp_devmap_xmit",
    "xdp_devmap_drop",
    "xdp_cpumap_enqueue",
    "xdp_cpumap_drop",
    "xdp_bond_down",
    "xdp_not_linear",
    "no_buffer",
    "bond_down",
    "inactive_member",
    "no_host",
    "host_ring_full",
    "no_member",
    "punt_full",
    "workers_stopped",
    "not_lacp",
};

// Index: the verdict (XDP_ABORTED 0 … XDP_REDIRECT 4).
inline constexpr std::array<std::string_view, 5> kVerdictNames = {"aborted", "drop", "pass", "tx", "redirect"};

struct alignas(64) PortCounters {
  uint64_t rx = 0;                                        // frames received
  uint64_t runs = 0;                                      // of these, the program ran on
  std::array<uint64_t, kVerdictNames.size()> verdicts{};  // what it said; unknown values count as aborted
  std::array<uint64_t, kDropNames.size()> drops{};
  uint64_t slow_protocols = 0;  // LACP and marker PDUs given to the protocol thread
  uint64_t from_host = 0;       // frames that the host sent by this port or its bond
};

}  // namespace xbond::xdp
