// One bond as control and the protocol thread see it: options, members, link monitor, the choice of usable members.
// Free of DPDK and of clocks: time is passed in, links are told. Sole writer: the protocol thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  bool table = false;            // publish table() anew
  bool carrier = false;          // carrier() changed
  bool active_changed = false;   // active-backup: another active member (announce: gratuitous ARP, num_grat_arp times)
  std::vector<std::string> log;  // one line each, worded as the kernel's log has it
};

class Bond {
 public:
  // Options in order, "mode" among them or defaulted; each checked as by set_option. Errors: EINVAL "option %s: invalid
  // value (%s)" with the allowed values, ENOENT no such option (lists them), EACCES mode dependency.
  static Result<Bond> create(std::string name, uint8_t bond_index,
                             std::span<const std::pair<std::string, std::string>> options);
  Bond(Bond&&) noexcept;
  Bond& operator=(Bond&&) noexcept;
  ~Bond();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] uint8_t index() const;
  [[nodiscard]] Mode mode() const;
  [[nodiscard]] Policy policy() const;
  [[nodiscard]] bool up() const;                            // administrative
  [[nodiscard]] bool carrier() const;                       // up and at least one usable member
  [[nodiscard]] std::span<const uint16_t> ports() const;    // members in order of enslaving
  [[nodiscard]] std::optional<uint16_t> active() const;     // active-backup's active member (port)
  [[nodiscard]] bool member_inactive(uint16_t port) const;  // PASS is dropped: a backup without all_slaves_active
  [[nodiscard]] uint32_t miimon_ms() const;
  [[nodiscard]] uint32_t announcements() const;  // num_grat_arp

  Changes set_up(bool up, uint64_t now_ms);
  Result<Changes> set_option(std::string_view option, std::string_view value, uint64_t now_ms);
  Result<Changes> set_member_option(uint16_t port, std::string_view option, std::string_view value, uint64_t now_ms);
  Result<Changes> add_member(NewMember member, uint64_t now_ms);  // EBUSY already one, ENOSPC too many
  Result<Changes> remove_member(uint16_t port, uint64_t now_ms);  // ENOENT

  // The link monitor: reports a member's carrier (idempotent). updelay and downdelay run in tick().
  Changes link(uint16_t port, const LinkReport& report, uint64_t now_ms);
  // Runs delays that ended. Call at next_deadline() or later.
  Changes tick(uint64_t now_ms);
  [[nodiscard]] std::optional<uint64_t> next_deadline_ms() const;

  [[nodiscard]] TxTable table() const;                                    // sealed
  [[nodiscard]] std::string show(std::string_view kernel_release) const;  // text of /proc/net/bonding/NAME
  [[nodiscard]] std::string json() const;

  // All option names, for completion; their allowed values (empty for numbers).
  static std::vector<std::string> option_names();
  static std::vector<std::string> option_values(std::string_view option);

 private:
  struct State;
  explicit Bond(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xbond::bond
