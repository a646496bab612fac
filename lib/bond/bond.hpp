// One bond as control and the protocol thread see it: options, members, link monitor, the choice of usable members.
// Free of DPDK and of clocks: time is passed in, links are told. Sole writer: the protocol thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/bond/clients.hpp"
#include "lib/bond/params.hpp"
#include "lib/bond/transmit.hpp"
#include "lib/bond/types.hpp"

namespace xbond::bond {

struct LinkReport {
  bool up = false;
  uint32_t speed_mbps = 0;  // 0 or UINT32_MAX: unknown
  bool full_duplex = true;
  bool operator==(const LinkReport&) const = default;
};

// A member as it is handed to a bond.
struct NewMember {
  uint16_t port = 0;  // ethdev port id
  std::string name;   // device name
  Mac permanent_mac{};
  LinkReport link;  // now
};

// The host's addresses on the bond, against which probes are checked.
struct Addresses {
  std::vector<Ipv4> v4;
  std::vector<Ipv6> v6;
};

// A learning packet by which a switch learns that the address of a member that is down is behind the active one.
struct Teach {
  uint16_t port = 0;  // by which it leaves
  Mac mac{};
};

// What a call changed; the caller acts on it.
struct Changes {
  bool table = false;           // publish table() and member_inactive() anew
  bool carrier = false;         // carrier() changed
  bool active_changed = false;  // active-backup: another active member (announce: gratuitous ARP, num_grat_arp times)
  bool rejoin = false;          // another active member (announce: IGMP reports, resend_igmp times)
  bool macs = false;            // mac() or a member_mac() changed: set them on the devices
  bool learn = false;           // balance-tlb, balance-alb: a learning packet by every usable member, now
  std::vector<Teach> teach;     // balance-alb: further learning packets
  bool promiscuous = false;     // balance-alb: promiscuous_member() changed
  std::vector<ClientUpdate> updates;  // balance-alb: ARP replies to send
  std::vector<uint16_t> probes;       // members by which every target is to be asked now (ARP, neighbour solicitation)
  std::vector<std::string> log;       // one line each, worded as the kernel's log has it
};

class Bond {
 public:
  // The bond starts down and without members. Mode and miimon are set first, whatever their place, because others
  // depend on them; the rest in order, each checked as by set_option. Errors: EINVAL a name that Linux would refuse, or
  // what set_option gives. active_slave can only be set when there are members.
  static Result<Bond> create(std::string name, uint8_t bond_index,
                             std::span<const std::pair<std::string, std::string>> options);
  Bond(Bond&&) noexcept;
  Bond& operator=(Bond&&) noexcept;
  ~Bond();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] uint8_t index() const;
  [[nodiscard]] Mode mode() const;
  [[nodiscard]] Policy policy() const;
  [[nodiscard]] bool up() const;       // administrative
  [[nodiscard]] bool carrier() const;  // up and at least one usable member
  // Of those that can transmit: the sum, in broadcast the least; 0: unknown (bond_ethtool_get_link_ksettings).
  [[nodiscard]] uint32_t speed_mbps() const;
  [[nodiscard]] std::span<const uint16_t> ports() const;  // members in order of enslaving
  // active-backup's active member (port); in other modes the one that IGMP goes to.
  [[nodiscard]] std::optional<uint16_t> active() const;
  [[nodiscard]] bool member_inactive(uint16_t port) const;  // PASS is dropped: a backup without all_slaves_active
  [[nodiscard]] uint32_t miimon_ms() const;
  [[nodiscard]] uint32_t announcements() const;          // num_grat_arp
  [[nodiscard]] uint64_t announcement_delay_ms() const;  // peer_notif_delay; 0: each at the next miimon
  // That of the first member, also after it left; all zero before there is one. fail_over_mac active: the active one's.
  [[nodiscard]] Mac mac() const;
  // What the member should carry, and its name. Precondition: it is one.
  [[nodiscard]] Mac member_mac(uint16_t port) const;
  [[nodiscard]] const std::string& member_name(uint16_t port) const;
  [[nodiscard]] const Params& params() const;

  // While the bond is down its link monitor rests, as in Linux.
  Changes set_up(bool up, uint64_t now_ms);
  // From now on members don't change it; the result says which of them change. EADDRNOTAVAIL: multicast or all zero.
  Result<Changes> set_mac(const Mac& mac, uint64_t now_ms);
  void set_addresses(Addresses addresses);
  // By name, number or the word `default`. A refused call changes nothing. Errors: ENOENT no such option (lists them),
  // EINVAL "option %s: invalid value (%s)" with the allowed values, EOPNOTSUPP a value that only Linux has, EACCES
  // "option %s: mode dependency failed, not supported in mode %s(%d)", ENOTEMPTY and EBUSY mode with members or while
  // up, EPERM a delay without miimon.
  Result<Changes> set_option(std::string_view option, std::string_view value, uint64_t now_ms);
  Result<Changes> set_member_option(uint16_t port, std::string_view option, std::string_view value, uint64_t now_ms);
  Result<Changes> add_member(NewMember member, uint64_t now_ms);  // EBUSY already one, ENOSPC too many
  Result<Changes> remove_member(uint16_t port, uint64_t now_ms);  // ENOENT

  // The link monitor: reports a member's carrier (idempotent; a port that is no member is ignored). Acts at once where
  // no delay is set; updelay and downdelay run in tick().
  Changes link(uint16_t port, const LinkReport& report, uint64_t now_ms);
  // The ARP monitor (arp_interval): what the member received. saw_frames: something, since the last call; received: a
  // copy of an ARP or neighbour discovery frame, from the Ethernet header on, unchecked.
  void saw_frames(uint16_t port, uint64_t now_ms);
  void received(uint16_t port, std::span<const uint8_t> frame, uint64_t now_ms);
  // balance-alb: ARP that the host sends by the bond. Replies are rewritten in place. `by`: the member that it has to
  // leave by; kNoPort: nobody can send it.
  struct HostArp {
    uint16_t by = port::kNoPort;
    Changes changes;
  };
  HostArp host_arp(std::span<uint8_t> frame, uint64_t now_ms);
  // balance-alb: the member that receives in place of one that is down, ten seconds long.
  [[nodiscard]] std::optional<uint16_t> promiscuous_member() const;
  // balance-alb: the VLAN tags that learning packets are due with, beside those without.
  [[nodiscard]] std::set<Tags> learning_tags() const;

  // balance-tlb and balance-alb with tlb_dynamic_lb: before tick(), when it wants to know, what workers have sent since
  // their start: bytes by channel (LcoreState), and unbalanced.
  [[nodiscard]] bool wants_load(uint64_t now_ms) const;
  void measured(std::span<const uint64_t, kChannels> bytes, uint64_t unbalanced);

  // Runs delays that ended, and rounds of the monitors that are due. Call at next_deadline() or later.
  Changes tick(uint64_t now_ms);
  [[nodiscard]] std::optional<uint64_t> next_deadline_ms() const;

  // --- 802.3ad
  // Where LACPDUs and marker answers go; called in the midst of the calls below and above. Must not call back.
  void on_slow_protocol_frame(lacp::Send send);
  // A frame of a slow protocol that the member received, from the destination MAC on, unchecked.
  Changes slow_protocol(uint16_t port, std::span<const uint8_t> frame, uint64_t now_ms);
  // Down, and a last PDU still has to wait for the limit on PDUs a second: tick on.
  [[nodiscard]] bool farewells_pending() const;
  // `show lacp`; empty in other modes. JSON: one object.
  [[nodiscard]] std::string show_lacp(uint64_t now_ms) const;
  [[nodiscard]] std::string lacp_json(uint64_t now_ms) const;

  [[nodiscard]] TxTable table() const;                                    // sealed
  [[nodiscard]] std::string show(std::string_view kernel_release) const;  // text of /proc/net/bonding/NAME
  [[nodiscard]] std::string json() const;

  // All option names of a bond, for completion; their allowed values (empty for numbers and devices).
  static std::vector<std::string> option_names();
  static std::vector<std::string> option_values(std::string_view option);

 private:
  struct Held;
  explicit Bond(std::unique_ptr<Held> held);
  std::unique_ptr<Held> held_;
};

}  // namespace xbond::bond
