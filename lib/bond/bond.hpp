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
#include "lib/bond/transmit.hpp"
#include "lib/bond/types.hpp"

namespace xbond::bond {

using Mac = std::array<uint8_t, 6>;

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

// What a call changed; the caller acts on it.
struct Changes {
  bool table = false;            // publish table() and member_inactive() anew
  bool carrier = false;          // carrier() changed
  bool active_changed = false;   // active-backup: another active member (announce: gratuitous ARP, num_grat_arp times)
  std::vector<std::string> log;  // one line each, worded as the kernel's log has it
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
  [[nodiscard]] bool up() const;                          // administrative
  [[nodiscard]] bool carrier() const;                     // up and at least one usable member
  [[nodiscard]] std::span<const uint16_t> ports() const;  // members in order of enslaving
  // active-backup's active member (port); in other modes the one that IGMP goes to.
  [[nodiscard]] std::optional<uint16_t> active() const;
  [[nodiscard]] bool member_inactive(uint16_t port) const;  // PASS is dropped: a backup without all_slaves_active
  [[nodiscard]] uint32_t miimon_ms() const;
  [[nodiscard]] uint32_t announcements() const;          // num_grat_arp
  [[nodiscard]] uint64_t announcement_delay_ms() const;  // peer_notif_delay; 0: each at the next miimon
  // That of the first member, also after it left; all zero before there is one.
  [[nodiscard]] Mac mac() const;

  // While the bond is down its link monitor rests, as in Linux.
  Changes set_up(bool up, uint64_t now_ms);
  // From now on members don't change it. EADDRNOTAVAIL: multicast or all zero.
  Status set_mac(const Mac& mac);
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
  // Runs delays that ended. Call at next_deadline() or later.
  Changes tick(uint64_t now_ms);
  [[nodiscard]] std::optional<uint64_t> next_deadline_ms() const;

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
