// The running appliance: ports, bonds, taps, workers and threads, built from the options. Commands speak to it.
// Thread: control (creation and destruction: main).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/xbond/core.hpp"
#include "app/xbond/host_feed.hpp"
#include "app/xbond/options.hpp"
#include "app/xbond/protocol_thread.hpp"
#include "bpf_compat/result.hpp"
#include "lib/control/mailbox.hpp"
#include "lib/dataplane/worker_pool.hpp"
#include "lib/port/eal.hpp"
#include "lib/port/link_watch.hpp"

namespace xbond::app {

// A netdevice of the appliance, as users name it.
struct Device {
  std::string name;
  uint32_t ifindex;
  port::Port* port = nullptr;  // nullptr: a bond
};

// One attached program as control remembers it.
struct AttachedInfo {
  std::string object;                              // path
  std::map<uint16_t, xdp::PortCounters> baseline;  // by port, at attach time: its counters start from 0
};

// The netdevice of a port or bond on the host: a PCI address is no name for one, the kernel refuses ':'.
std::string tap_name(std::string device);

class Appliance {
 public:
  // EAL is up. Opens every port, makes bonds and taps, attaches the programs. Errors: one line; nothing is left behind.
  static Result<std::unique_ptr<Appliance>> create(const Options& options, const port::Notice& notice);
  ~Appliance();
  Appliance(const Appliance&) = delete;
  Appliance& operator=(const Appliance&) = delete;

  Status start();
  Status stop();
  // Before the end: partners hear that the bonds go down. Waits for it, a second at most.
  void leave();
  [[nodiscard]] bool started() const { return pool_->running(); }
  dataplane::WorkerPool& workers() { return *pool_; }
  [[nodiscard]] size_t port_count() const { return ports_.size(); }

  // --- names. find() takes a device name or a DPDK port number. Errors list the devices there are.
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  [[nodiscard]] Result<const Device*> find(std::string_view name) const;
  [[nodiscard]] Result<const Device*> find_port(std::string_view name) const;
  [[nodiscard]] Result<const Device*> find_bond(std::string_view name) const;
  // The ports below: a port itself, those of a bond's members in order, through bonds under it.
  [[nodiscard]] std::vector<port::Port*> ports_below(const Device& device);
  // A bond's members, in order: ports and bonds.
  [[nodiscard]] std::vector<const Device*> members_of(const Device& bond);
  // How bonds name a device as their member.
  [[nodiscard]] uint16_t member_id(const Device& device);

  // Runs `fn(Core&)` on the protocol thread and returns its result.
  template <class Fn>
  auto with_core(Fn fn) {
    return protocol_->call([this, fn = std::move(fn)]() mutable { return fn(*core_); });
  }

  // --- programs
  Status attach(const Device& target, const std::string& object, std::string_view program, bool force);
  Status detach(const Device& target);
  [[nodiscard]] std::shared_ptr<const bpf::Program> program(const Device& target);
  [[nodiscard]] const AttachedInfo* attached(const std::string& device) const;

  // --- ports
  Status set_port_admin(const Device& device, bool up);
  // Other reconfiguration of a port (MAC, MTU, promiscuous …), workers away from it.
  Status reconfigure(const Device& device, const std::function<Status(port::Port&)>& change);

  // --- bonds (appliance_members.cpp). Pointers to devices die when a bond is deleted.
  // The new bond is up, without members. Errors: EEXIST, ENOSPC, as bond::Bond::create.
  Status create_bond(const std::string& name, std::span<const std::pair<std::string, std::string>> options);
  // Releases the members first, as Linux does.
  Status delete_bond(const Device& bond);
  // The member, a port or a bond, takes the bond's MTU and loses its tap; when it leaves both are as before. Errors: as
  // Core::enslave, and what the driver refuses.
  Status add_member(const Device& bond, const Device& member);
  Status remove_member(const Device& bond, const Device& member);

  // What other threads have for the control thread, which runs it between commands.
  [[nodiscard]] control::Mailbox& mailbox() { return *mailbox_; }

  // --- counters, summed over workers, since `clear stats`
  [[nodiscard]] xdp::PortCounters counters(uint16_t port) const;
  [[nodiscard]] xdp::PortCounters counters_since_attach(uint16_t port, const AttachedInfo& info) const;
  struct TxCounters {
    uint64_t sent = 0, dropped = 0;
  };
  // A port's; of a bond below another one what it had no usable member for.
  [[nodiscard]] TxCounters tx_counters(const Device& device);
  [[nodiscard]] bool has_tap(const Device& device) const;
  [[nodiscard]] host::Counters host_counters(const Device& device) const;
  void clear_stats();

 private:
  Appliance() = default;
  Status open_ports(const Options& options, const port::Notice& notice);
  Status make_workers(const Options& options, const port::Notice& notice);
  Status make_devices(const Options& options, const port::Notice& notice);
  Status make_ports(const Options& options, const port::Notice& notice);
  Status make_bonds(const Options& options, const port::Notice& notice);
  Status make_bond(const BondOption& option, uint8_t index, uint32_t ifindex, const port::Notice& notice);
  TapRef make_tap(const std::string& name, const port::Mac& mac, uint16_t mtu, const port::Notice& notice);
  [[nodiscard]] xdp::PortCounters raw_counters(uint16_t port) const;
  [[nodiscard]] TxCounters raw_tx(uint16_t member) const;  // bond::member_id()
  bool wait_for_workers(uint64_t token);
  Status feed_host_tables(const bpf::Object& object);
  Status add_port(const Device& bond, const Device& member);
  Status add_bond(const Device& bond, const Device& member);
  Status remove_port(const Device& bond, const Device& member);
  Status remove_bond(const Device& bond, const Device& member);
  void joined(const Device& bond, const Device& member, uint16_t mtu);
  bool set_polled(const port::Port& port, bool polled);
  void remove_tap(const std::string& device);
  // Any thread
  [[nodiscard]] BondLoad bond_load(uint8_t bond) const;
  [[nodiscard]] uint64_t received(uint16_t port) const;
  // appliance_tap.cpp
  using PortChange = std::function<Status(port::Port&, port::Restart)>;
  void tap_changed(const host::TapChange& change);
  Status set_mac(const Device& device, const port::Mac& mac);
  Status set_mtu(const Device& device, uint16_t mtu);
  Status change_each(const Device& device, const PortChange& change, const PortChange& undo);
  Status change_port(const Device& device, const PortChange& change);
  [[nodiscard]] const Device& device_of(const port::Port& port) const;
  [[nodiscard]] port::Mac mac_of(const Device& device);

  // Destroyed from the bottom up: threads first, then what they use.
  port::Notice notice_;
  std::unique_ptr<control::Mailbox> mailbox_;
  port::Pool mbufs_;
  std::vector<std::unique_ptr<port::Port>> ports_;
  std::vector<xdp::PuntRing> punts_;  // by worker
  xdp::CpuMesh cpus_;
  std::unique_ptr<dataplane::Qsbr> qsbr_;
  std::unique_ptr<dataplane::Published> published_;
  std::unique_ptr<port::LinkWatch> watch_;
  std::unique_ptr<ProtocolThread> protocol_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<dataplane::WorkerPool> pool_;

  std::vector<Device> devices_;
  uint32_t last_ifindex_ = 0;               // never given twice
  std::map<std::string, uint32_t> taps_;    // device name -> tap handle
  std::map<uint16_t, uint16_t> mtu_alone_;  // by member: before it became one
  std::set<uint16_t> without_tap_;          // members that had none (host=off)
  std::map<std::string, AttachedInfo> attached_;
  // Maps that programs pinned by name (LIBBPF_PIN_BY_NAME): one of each name, for all objects. As in a file system of
  // the kernel's, they stay when the last program that uses them goes.
  std::vector<std::shared_ptr<bpf::Map>> pinned_;
  // From the first program on that asks the host's tables
  std::unique_ptr<HostFeed> host_feed_;
  bpf::EngineKind engine_ = bpf::EngineKind::automatic;
  std::map<uint16_t, xdp::PortCounters> cleared_;
  std::map<uint16_t, TxCounters> cleared_tx_;
};

}  // namespace xbond::app
