// Per lcore, per receiving port: what became of each frame. The worker writes (port::count_up), control reads and sums.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace xbond::xdp {

// Why a frame ended here. Tracepoint names of the kernel where it has one (xdp_exception, xdp_redirect_err).
enum class Drop : uint8_t {
  xdp_drop,          // the program's verdict XDP_DROP
  xdp_aborted,       // the program's verdict XDP_ABORTED, or it broke a rule at run time (kernel: xdp_exception)
  xdp_unknown,       // a return value that is no verdict; counts as ABORTED (kernel: bpf_warn_invalid_xdp_action)
  xdp_redirect_err,  // XDP_REDIRECT without a target (kernel: xdp_redirect_err)
  xdp_bond_down,     // XDP_TX while the bond is down; counts as ABORTED
  xdp_not_linear,    // several segments that do not fit one buffer, for a program without xdp.frags
  bond_down,         // PASS while the bond is down
  inactive_member,   // PASS on a backup member without all_slaves_active
  no_host,           // PASS where there is no tap (host=off, or it could not be made)
  host_ring_full,    // PASS, but the host thread is behind
  no_member,         // from the host: the bond has no usable member, or it (or the port) is down
  punt_full,         // LACP or marker PDU, but the protocol thread is behind
  workers_stopped,   // received by a member of an 802.3ad bond while forwarding was stopped
  not_lacp,          // on the queue of slow protocols, but of another one (no LACP, no marker)
};
inline constexpr std::array<std::string_view, 14> kDropNames = {
    "xdp_drop",       "xdp_aborted", "xdp_unknown",     "xdp_redirect_err", "xdp_bond_down",
    "xdp_not_linear", "bond_down",   "inactive_member", "no_host",          "host_ring_full",
    "no_member",      "punt_full",   "workers_stopped", "not_lacp"};

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
