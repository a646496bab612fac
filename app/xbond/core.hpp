// What the protocol thread owns: bonds, who is member of what, which program runs where. It alone publishes snapshots.
// Every member function runs on the protocol thread (before it starts: on the main thread).
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/bond/bond.hpp"
#include "lib/dataplane/snapshot.hpp"
#include "lib/host/tap.hpp"
#include "lib/port/port.hpp"
#include "lib/port/tx_buffer.hpp"
#include "lib/xdp/attach.hpp"
#include "lib/xdp/punt.hpp"

namespace xbond::app {

// By worker. Snapshots keep them: views point to them.
struct TapRings {
  std::vector<rte_ring*> to_host, from_host;
};

// The tap behind a port or a bond.
struct TapRef {
  uint32_t handle = 0;  // 0: none
  std::string name;     // of the kernel netdevice
  std::shared_ptr<const TapRings> rings = std::make_shared<TapRings>();
};

// Bytes that workers sent since their start, for balance-tlb and balance-alb.
struct BondLoad {
  std::array<uint64_t, bond::kChannels> channels{};
  uint64_t unbalanced = 0;
};

// Frames that members of 802.3ad bonds received while workers were stopped, or by their queue of slow protocols. Read
// them with port::read_counter.
struct ReceivedByControl {
  uint64_t taken = 0;                          // LACP and marker PDUs
  uint64_t workers_stopped = 0, not_lacp = 0;  // dropped: xdp::Drop
};

class Core {
 public:
  struct Setup {
    dataplane::Published* published;
    host::Host* host;   // nullptr: no taps at all
    rte_mempool* pool;  // for the frames that control sends
    port::Notice notice;
    std::function<void(uint64_t)> wake_at;            // arms the protocol thread's timer, milliseconds
    std::span<xdp::PuntRing> punts;                   // by worker
    std::function<uint64_t(uint16_t port)> received;  // frames that workers received by it
    std::function<BondLoad(uint8_t bond)> load;       // by bond index: what workers sent
  };
  explicit Core(Setup setup) : setup_(std::move(setup)) {}

  // --- building, in ifindex order
  void add_port(port::Port& port, uint32_t ifindex, TapRef tap);
  Status add_bond(bond::Bond bond, uint32_t ifindex, TapRef tap);
  // Members are ports and bonds, by their ids (bond::member_id). The member's tap is gone by then, or nobody's any more
  // when this returns. Errors: as check_enslave() and Bond::add_member; nothing changed then.
  Status enslave(std::string_view bond, uint16_t member);

  // Whether enslave() would be taken: a port need not leave the workers for a refusal. Errors: EBUSY it is a member
  // already or a bond above, EPERM the bond itself, EMLINK too deep, EOPNOTSUPP as Attachments::can_enslave.
  [[nodiscard]] Status check_enslave(std::string_view bond, uint16_t member) const;

  // --- from control
  Status set_bond_option(std::string_view bond, std::string_view option, std::string_view value);
  Status set_member_option(std::string_view bond, uint16_t member, std::string_view option, std::string_view value);
  Status set_bond_up(std::string_view bond, bool up);
  // The member is as it was before, and has `tap` from now on. ENOENT: not a member.
  Status release(std::string_view bond, uint16_t member, TapRef tap);
  // EBUSY: it has members. Returns once no later snapshot knows it; the caller waits for the workers, then removes the
  // tap.
  Status remove_bond(std::string_view bond);
  [[nodiscard]] std::optional<uint8_t> free_bond_index() const;  // nullopt: bond::kMaxBonds are in use
  // Members follow, as the bond's mode has it. Errors: as Bond::set_mac.
  Status set_bond_mac(std::string_view bond, const port::Mac& mac);
  // Takes a port out of (or back into) the workers' rounds; control waits for published.token() before it touches it.
  void set_polled(uint16_t port, bool polled);
  void workers_stopped(bool stopped) { workers_stopped_ = stopped; }

  [[nodiscard]] Status check_attach(uint32_t ifindex, bool force) const;
  Status attach(uint32_t ifindex, xdp::ProgramRef program, bool force);
  Status detach(uint32_t ifindex);
  [[nodiscard]] xdp::ProgramRef own_program(uint32_t ifindex) const { return attachments_.own(ifindex); }

  [[nodiscard]] const bond::Bond* find_bond(std::string_view name) const;
  [[nodiscard]] port::Mac bond_mac(std::string_view bond) const;   // all zero: no such bond, or no member yet
  [[nodiscard]] port::Mac mac_alone(std::string_view bond) const;  // of a bond that is a member: before it was one
  // The bond a member is in, or nullptr.
  [[nodiscard]] const bond::Bond* bond_of(uint16_t member) const;
  [[nodiscard]] bool has_nested(std::string_view bond) const;  // some member of it is a bond
  // The ports below a bond, through bonds under it, in order.
  [[nodiscard]] std::vector<uint16_t> ports_below(std::string_view bond) const;

  // Before the end: every bond goes down, LACP's partners are told. Call until leaving() is false (a second at most).
  void leave();
  [[nodiscard]] bool leaving() const;
  // What this thread itself received by a port. Any thread may read.
  [[nodiscard]] const ReceivedByControl& received_by_control(uint16_t port) const { return by_control_[port]; }

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
    // As they were before the port came under a bond.
    bool promiscuous = false, allmulticast = false;
    bool made_promiscuous = false;  // for a while: bond::Bond::promiscuous_member()
    uint64_t received = 0;          // as last counted, for the ARP monitor
  };
  struct BondEntry {
    bond::Bond bond;
    uint32_t ifindex;
    TapRef tap;
    bool carrier = false;        // as last told to the tap
    port::Mac tap_mac{};         // likewise
    uint32_t announce_left = 0;  // gratuitous ARP / unsolicited NA still to send
    uint64_t announce_at_ms = 0;
    uint64_t poll_at_ms = 0;   // next look at the links (miimon)
    uint32_t rejoin_left = 0;  // IGMP reports still to send
    uint64_t rejoin_at_ms = 0;
    port::Mac own_mac{};        // a member itself: as it was before
    uint64_t received = 0;      // likewise: frames of its ports as last counted, for the ARP monitor
    bond::Addresses addresses;  // the host's, as last asked for
    uint64_t addresses_at_ms = 0;
  };

  [[nodiscard]] BondEntry* entry(std::string_view name) const;
  [[nodiscard]] uint32_t ifindex_of(uint16_t member) const;
  [[nodiscard]] BondEntry* entry_of(uint16_t member) const;  // the bond that it is in, or nullptr
  // core_nested.cpp: bonds under bonds
  [[nodiscard]] BondEntry* bond_member(uint16_t member) const;     // nullptr: it is a port
  [[nodiscard]] BondEntry* upper_of(const BondEntry& bond) const;  // nullptr: it is no member
  [[nodiscard]] BondEntry& top_of(BondEntry& bond) const;
  void add_ports_below(uint16_t member, std::vector<uint16_t>& ports) const;
  [[nodiscard]] std::vector<uint16_t> ports_below(uint16_t member) const;
  [[nodiscard]] std::vector<uint16_t> ports_below(const BondEntry& bond) const;
  // Who takes the slow protocols that a port receives: the lowest bond in 802.3ad above it, by which of its members.
  struct LacpMember {
    BondEntry* bond = nullptr;
    uint16_t member = port::kNoPort;
  };
  [[nodiscard]] LacpMember lacp_above(uint16_t port) const;
  [[nodiscard]] uint16_t levels_below(const BondEntry& bond) const;
  [[nodiscard]] Status check_nesting(const BondEntry& bond, const BondEntry& member) const;
  [[nodiscard]] bond::NewMember described(uint16_t member) const;
  [[nodiscard]] bond::LinkReport report_of(uint16_t member) const;
  void enslave_bond(BondEntry& inner);
  void release_bond(BondEntry& inner, TapRef tap);
  [[nodiscard]] port::Mac mac_now(uint16_t member) const;
  void tell_upper(const BondEntry& bond);
  [[nodiscard]] uint64_t received_by(uint16_t member) const;
  void send_by(BondEntry& bond, rte_mbuf* frame);
  void send_to_each(const bond::TxTable& table, rte_mbuf* frame);
  void apply(BondEntry& bond, bond::Changes changes);
  void poll_links(BondEntry& bond, uint64_t now);
  void poll_port_taps();
  void announce(BondEntry& bond, uint64_t now);
  // core_members.cpp
  void apply_macs(BondEntry& bond);
  void release_port(PortEntry& port, TapRef tap);
  void apply_mac(const BondEntry& bond, uint16_t member);
  void apply_promiscuous(BondEntry& bond);
  [[nodiscard]] Status check_program(const BondEntry& bond, std::string_view option, std::string_view value) const;
  [[nodiscard]] const BondEntry* bond_with(uint32_t ifindex) const;
  [[nodiscard]] bool runs_xdp(const BondEntry& bond) const;
  // core_slow.cpp
  void slow_protocol(BondEntry& bond, uint16_t member, const rte_mbuf* frame);
  void send_slow_protocol(uint16_t member, std::span<const uint8_t> frame);
  void steer(uint16_t port) const;
  void go_down(const BondEntry& bond);
  void receive_slow_protocols();
  void receive_slow_protocols(const LacpMember& to, uint16_t port, uint16_t queue, uint64_t& dropped);
  // core_probes.cpp
  void tick(BondEntry& bond, uint64_t now);
  void send_probes(BondEntry& bond, std::span<const uint16_t> ports);
  void refresh_addresses(BondEntry& bond, uint64_t now);
  void send_learning(BondEntry& bond, const bond::Teach& what);
  void send_balancing(BondEntry& bond, const bond::Changes& changes);
  void rejoin(BondEntry& bond, uint64_t now);
  void probe_received(uint16_t port, std::span<const uint8_t> bytes, uint64_t now);
  void take_punts(uint64_t now);
  [[nodiscard]] bool wants_punts() const;
  void send(uint16_t member, rte_mbuf* frame);
  void arm(uint64_t now);
  // core_publish.cpp
  struct Above;
  struct Draft;
  [[nodiscard]] std::unique_ptr<dataplane::Snapshot> build() const;
  const bond::TxTable* add_table(const BondEntry& bond, Draft& draft) const;
  void view_below(const BondEntry& bond, const Above& above, Draft& draft) const;
  void view_bond(const BondEntry& bond, Draft& draft) const;
  void view_port(uint16_t id, const PortEntry& port, dataplane::Snapshot& snapshot) const;
  [[nodiscard]] bool steers_peers(const BondEntry& bond) const;

  Setup setup_;
  std::map<uint16_t, PortEntry> ports_;  // by ethdev port id
  std::vector<std::unique_ptr<BondEntry>> bonds_;
  xdp::Attachments attachments_;
  std::array<ReceivedByControl, RTE_MAX_ETHPORTS> by_control_{};
  bool workers_stopped_ = true;
};

}  // namespace xbond::app
