// What the protocol thread owns: bonds, who is member of what, which program runs where. It alone publishes snapshots.
// Every member function runs on the protocol thread (before it starts: on the main thread).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/bond/bond.hpp"
#include "lib/dataplane/snapshot.hpp"
#include "lib/host/tap.hpp"
#include "lib/port/port.hpp"
#include "lib/xdp/attach.hpp"

namespace xbond::app {

// The tap behind a port or a bond.
struct TapRef {
  uint32_t handle = 0;                        // 0: none
  std::string name;                           // of the kernel netdevice
  std::vector<rte_ring*> to_host, from_host;  // by worker
};

class Core {
 public:
  struct Setup {
    dataplane::Published* published;
    host::Host* host;   // nullptr: no taps at all
    rte_mempool* pool;  // for the frames that control sends
    port::Notice notice;
    std::function<void(uint64_t)> wake_at;  // arms the protocol thread's timer, milliseconds
  };
  explicit Core(Setup setup) : setup_(std::move(setup)) {}

  // --- building, in ifindex order
  void add_port(port::Port& port, uint32_t ifindex, TapRef tap);
  Status add_bond(bond::Bond bond, uint32_t ifindex, TapRef tap);
  // The bond's MAC becomes that of its first member and goes to every member that can take it.
  Status enslave(std::string_view bond, port::Port& member);

  // --- from control
  Status set_bond_option(std::string_view bond, std::string_view option, std::string_view value);
  Status set_member_option(std::string_view bond, uint16_t port, std::string_view option, std::string_view value);
  Status set_bond_up(std::string_view bond, bool up);
  // Control has set it on the members.
  void set_bond_mac(std::string_view bond, const port::Mac& mac);
  // Takes a port out of (or back into) the workers' rounds; control waits for published.token() before it touches it.
  void set_polled(uint16_t port, bool polled);
  void workers_stopped(bool stopped) { workers_stopped_ = stopped; }

  [[nodiscard]] Status check_attach(uint32_t ifindex, bool force) const { return attachments_.check(ifindex, force); }
  Status attach(uint32_t ifindex, xdp::ProgramRef program, bool force);
  Status detach(uint32_t ifindex);
  [[nodiscard]] xdp::ProgramRef own_program(uint32_t ifindex) const { return attachments_.own(ifindex); }

  [[nodiscard]] const bond::Bond* find_bond(std::string_view name) const;
  [[nodiscard]] port::Mac bond_mac(std::string_view bond) const;  // all zero: no such bond, or no member yet
  // The bond a port is in, or nullptr.
  [[nodiscard]] const bond::Bond* bond_of(uint16_t port) const;

  // --- events
  void links_changed();  // an event: look at every link now
  void timer();
  void publish();

 private:
  struct PortEntry {
    port::Port* port;
    uint32_t ifindex;
    TapRef tap;
    bool polled = true;
    bool carrier = false;  // as last told to the tap
  };
  struct BondEntry {
    bond::Bond bond;
    uint32_t ifindex;
    TapRef tap;
    port::Mac mac{};
    bool carrier = false;        // as last told to the tap
    uint32_t announce_left = 0;  // gratuitous ARP / unsolicited NA still to send
    uint64_t announce_at_ms = 0;
    uint64_t poll_at_ms = 0;  // next look at the links (miimon)
  };

  BondEntry* entry(std::string_view name);
  void apply(BondEntry& bond, bond::Changes changes);
  void poll_links(BondEntry& bond, uint64_t now);
  void poll_port_taps();
  void announce(BondEntry& bond, uint64_t now);
  void arm(uint64_t now);
  [[nodiscard]] std::unique_ptr<dataplane::Snapshot> build() const;

  Setup setup_;
  std::map<uint16_t, PortEntry> ports_;  // by ethdev port id
  std::vector<std::unique_ptr<BondEntry>> bonds_;
  xdp::Attachments attachments_;
  bool workers_stopped_ = true;
};

}  // namespace xbond::app
