// LACP for one bond (IEEE 802.1AX as Linux speaks it; the differences are in README.md). Free of DPDK, threads and
// clocks: time and frames are handed in, frames to send go to a callback. No allocation but in add_port, remove_port
// and the snapshots. Thread: one, the bond's owner; errors are Result, nothing throws.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/lacp/counters.hpp"
#include "lib/lacp/link_key.hpp"
#include "lib/lacp/pdu.hpp"
#include "lib/lacp/selection_policy.hpp"
#include "lib/lacp/types.hpp"

namespace xbond::lacp {

// Numbers are Linux's (lacp_rate).
enum class Rate : uint8_t { slow = 0, fast = 1 };

// Named as Linux's options; each may change at any time.
struct Options {
  bool lacp_active = true;  // off: silent until the partner speaks
  Rate lacp_rate = Rate::slow;
  Select ad_select = Select::stable;
  uint16_t ad_actor_sys_prio = 65535;  // 1…65535
  Mac ad_actor_system{};               // all zero: the bond's MAC
  uint16_t ad_user_port_key = 0;       // 0…1023
  bool coupled_control = true;
  uint32_t min_links = 0;
  bool operator==(const Options&) const = default;
};

struct NewPort {
  uint16_t id = 0;  // any number that the caller knows the port by
  Mac mac{};        // its permanent one: the source of its frames
  Link link;
  uint16_t actor_port_prio = 255;
};

// Takes a frame to send by a port, at once: the bytes are gone after the call. Must not call back into the group.
using Send = std::function<void(uint16_t port, std::span<const uint8_t> frame)>;

// What became of a frame.
enum class Outcome : uint8_t { taken, answered, refused, not_a_member };

// Something that deserves a line in a log.
struct Notice {
  enum class Kind : uint8_t {
    loopback,      // "An illegal loopback occurred on slave": once in 10 s per port
    no_response,   // "No 802.3ad response from the link partner for any adapters in the bond"
    speed_unknown  // link up without a known speed: no LACP
  };
  Kind kind = Kind::loopback;
  uint16_t port = 0;  // not for no_response
  bool operator==(const Notice&) const = default;
};

// What calls since the last take_changes() changed.
struct Changes {
  static constexpr std::size_t kMaxNotices = 16;
  bool usable = false;      // usable() or collecting() of a port differs: publish anew
  bool carrier = false;     //
  bool aggregator = false;  // another active aggregator
  std::array<Notice, kMaxNotices> notice{};
  std::size_t notices = 0;  // how many of them count; more are dropped

  [[nodiscard]] bool any() const noexcept { return usable || carrier || aggregator || notices != 0; }
};

struct AggregatorInfo {
  uint16_t id = 0;
  unsigned ports = 0;  // with a working link
  uint16_t actor_key = 0;
  uint16_t partner_key = 0;
  Mac partner_system{};
  bool individual = false;
  bool active = false;
};

struct PortInfo {
  uint16_t id = 0;
  Mac mac{};
  Link link;
  bool lacp_enabled = false;
  bool selected = false;
  bool collecting = false;     // frames may be received by it …
  bool distributing = false;   // … and sent: it is in usable()
  uint16_t aggregator_id = 0;  // 0: none
  Info actor;
  Info partner;
  ReceiveState receive = ReceiveState::initialize;
  PeriodicState periodic = PeriodicState::no_periodic;
  MuxState mux = MuxState::detached;
  ChurnState actor_churn = ChurnState::monitor;
  ChurnState partner_churn = ChurnState::monitor;
  uint16_t actor_churned_count = 0;
  uint16_t partner_churned_count = 0;
  // When timers run out; kNever where one does not run.
  Time current_while = kNever;
  Time periodic_timer = kNever;
  Time wait_while = kNever;
  Time actor_churn_timer = kNever;
  Time partner_churn_timer = kNever;
  Time next_pdu_from = 0;  // the limit on PDUs per second holds the next one back until then
  Counters counters;
  Refused refused;
  std::vector<Transition> history;  // the last ones, oldest first
};

struct GroupInfo {
  Options options;
  bool up = false;
  bool carrier = false;
  uint16_t system_priority = 0;
  Mac system{};
  std::optional<AggregatorInfo> active;
  std::vector<AggregatorInfo> aggregators;  // those that have ports
  Time select_timer = kNever;
  Counters counters;                // of all ports, past ones included
  std::vector<Transition> history;  // of the choice of the active aggregator
};

class Group {
 public:
  // Errors: EINVAL "option %s: invalid value (%s)".
  static Result<Group> create(const Mac& bond_mac, const Options& options, Send send);
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;
  ~Group();

  // Opens or closes the bond. Down: every partner is told by a last PDU, then the group is silent, deaf and unusable.
  void set_up(bool up, Time now);
  Status set_options(const Options& options, Time now);
  // Where ad_actor_system is not set, this is the system id; partners hear of it at once.
  void set_bond_mac(const Mac& mac, Time now);
  Status set_port_priority(uint16_t port, uint16_t priority, Time now);  // ENOENT

  Status add_port(const NewPort& port, Time now);        // EEXIST, ENOSPC
  Status remove_port(uint16_t port, Time now);           // ENOENT; tells the partner first
  void link(uint16_t port, const Link& link, Time now);  // idempotent

  // A frame that the port received, from the destination MAC on.
  Outcome receive(uint16_t port, std::span<const uint8_t> frame, Time now);
  // Runs what is due. Call at next_deadline() or soon after; hand in frames that wait before. Late calls lose nothing.
  void tick(Time now);
  [[nodiscard]] std::optional<Time> next_deadline() const;
  // Last PDUs that the limit of three a second still holds back, for a second at most: tick on before exiting.
  [[nodiscard]] bool farewells_pending() const;

  [[nodiscard]] Changes take_changes();
  [[nodiscard]] const Options& options() const;
  [[nodiscard]] bool up() const;
  // Up, and the active aggregator has min_links ports with a link.
  [[nodiscard]] bool carrier() const;
  // Ports to send by, in the order of enslaving.
  [[nodiscard]] std::span<const uint16_t> usable() const;
  // Whether frames that the port receives are the bond's.
  [[nodiscard]] bool collecting(uint16_t port) const;

  [[nodiscard]] std::vector<uint16_t> ports() const;  // in the order of enslaving
  [[nodiscard]] std::optional<PortInfo> port(uint16_t port) const;
  [[nodiscard]] GroupInfo info() const;

 private:
  struct State;
  explicit Group(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xbond::lacp
