// balance-alb's receive side: which member each peer sends to (rlb_* in drivers/net/bonding/bond_alb.c). A peer's ARP
// table says so, and the bond writes into it: what the host answers by ARP carries the MAC of the member that the peer
// is assigned to. Time is passed in, monotonic milliseconds. Frames are hostile. Thread: the bond's writer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "lib/bond/params.hpp"
#include "lib/port/tx_buffer.hpp"

namespace xbond::bond {

inline constexpr uint64_t kAlbRoundMs = 100;  // ALB_TIMER_TICKS_PER_SEC

// The VLAN tags between a frame's addresses and its ethertype, as they lie there: none, one or two.
struct Tags {
  std::array<uint8_t, 8> bytes{};
  uint8_t size = 0;
  auto operator<=>(const Tags&) const = default;
};

// An ARP reply by which a peer learns the MAC address that it shall send to.
struct ClientUpdate {
  uint16_t port = port::kNoPort;  // the member by which it leaves, and whose address it brings
  Mac member_mac{}, client_mac{};
  Ipv4 own{}, client{};
  Tags tags;
};

class Clients {
 public:
  static constexpr uint32_t kEntries = 256;  // RLB_HASH_TABLE_SIZE

  // A member that can transmit, in order of enslaving.
  struct Carrier {
    uint16_t port;
    uint32_t speed_mbps;
    Mac mac;  // that it carries
  };
  struct Members {
    std::span<const Carrier> carriers;
    std::span<const Mac> own;  // of all members: ARP from another address was not the host's
    Mac bond{};
    uint16_t active = port::kNoPort;
  };

  // ARP that the host sends by the bond, from the Ethernet header on. A reply gets its member's address, in place; the
  // result is that member's port. nullopt: unchanged, by the active member.
  std::optional<uint16_t> sent(std::span<uint8_t> frame, const Members& members, uint64_t now);
  // ARP that a member received.
  void received(std::span<const uint8_t> frame);

  // The member can't transmit any more, or left: others take its clients.
  void lost(uint16_t port, const Members& members);
  // A member came: all clients are dealt anew in the next round.
  void order_rebalance() { rebalance_ = true; }
  // The member carries another address: its clients hear of it.
  void address_changed(uint16_t port);
  void clear() { *this = Clients(); }

  // Whether round() has something to do, now or later: it is due each kAlbRoundMs.
  [[nodiscard]] bool busy() const { return rebalance_ || update_; }
  void round(const Members& members, uint64_t now);
  // To be sent, since the last call; each twice.
  [[nodiscard]] std::vector<ClientUpdate> take_updates();

  // For learning packets: every combination of tags that a client is behind, but for none.
  [[nodiscard]] std::set<Tags> tags() const;
  // The member that the peer is assigned to; for tests and `show`.
  [[nodiscard]] std::optional<uint16_t> port_of(const Ipv4& client) const;

 private:
  struct Entry {
    bool assigned = false;
    bool tell = false;  // the client needs to know (ntt: need to transmit)
    uint16_t port = port::kNoPort;
    Ipv4 own{}, client{};
    Mac own_mac{};     // as the host had it
    Mac client_mac{};  // broadcast: not known yet
    Tags tags;
  };
  struct Arp;

  static std::optional<Arp> read(std::span<const uint8_t> frame);
  const Carrier* next_carrier(const Members& members);
  uint16_t assign(const Arp& arp, const Members& members);
  void collapsed(const Ipv4& own, const Members& members);
  void push_update(const Entry& entry, const Members& members);

  std::array<Entry, kEntries> entries_{};
  std::vector<ClientUpdate> pending_;
  uint16_t last_ = port::kNoPort;  // the member that was assigned last
  bool rebalance_ = false;
  bool update_ = false;      // some entry has to be told
  uint64_t not_before_ = 0;  // when clients may be told again
  uint32_t retry_ = 0;       // further times that they are told
};

}  // namespace xbond::bond
