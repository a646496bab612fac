// The host's interfaces, routes, rules and neighbours, as fib_lookup and check_mtu need them: an immutable snapshot
// that workers read while control makes the next. Addresses are in network byte order; IPv4 takes the first four bytes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bpf_compat/map/grace.hpp"

namespace xbond::bpf {

using HostAddress = std::array<uint8_t, 16>;
using HostMac = std::array<uint8_t, 6>;

class HostTables {
 public:
  // `ifindex` is the number that programs use; `kernel` the host's, 0 where the host has no such interface.
  struct Interface {
    uint32_t ifindex = 0;
    uint32_t kernel = 0;
    uint32_t mtu = 0;
    uint32_t mtu6 = 0;  // the host's for IPv6; 0: no IPv6 there
    bool forwards4 = false;
    bool forwards6 = false;
    HostMac mac{};
  };
  struct Hop {
    uint32_t kernel = 0;         // interface, the host's number
    uint8_t gateway_family = 0;  // AF_INET, AF_INET6, or 0: the destination is on the link
    HostAddress gateway{};
    uint32_t weight = 1;
    bool dead = false;
    bool tunnel = false;  // lightweight tunnel encapsulation
  };
  struct Route {
    uint8_t type = 0;  // RTN_UNICAST …
    uint8_t tos = 0;
    uint32_t priority = 0;
    uint32_t mtu = 0;  // where the route locks one; else 0
    HostAddress source{};
    bool has_source = false;
    std::vector<Hop> hops;
  };
  struct Prefix {
    HostAddress address{};
    uint8_t length = 0;
    bool operator==(const Prefix&) const = default;
  };
  struct Rule {
    uint32_t priority = 0;
    uint8_t action = 0;  // FR_ACT_TO_TBL …
    uint32_t table = 0;
    Prefix source, destination;
    uint32_t input = 0, output = 0;  // interfaces by the host's numbers; 0: any
    bool invert = false;
    bool never = false;  // it selects by what a lookup here never has
    uint8_t tos = 0;
    uint32_t mark = 0, mark_mask = 0;
    uint32_t target = 0;       // FR_ACT_GOTO: the priority to go on from
    int suppress_length = -1;  // a route of a prefix no longer than this does not count
  };

  // An address of the host's own, one that the host would send from.
  struct Address {
    uint8_t family = 0;
    Prefix prefix;
    bool operator==(const Address&) const = default;
  };

  // What is looked up.
  struct Flow {
    uint8_t family;  // AF_INET, AF_INET6
    HostAddress source, destination;
    uint32_t input, output;  // the host's numbers; 0: none
    uint8_t tos;
    uint32_t mark;
    bool has_source = true;  // false: rules that ask for a source don't select it
  };
  // How a lookup ends: with a route, or an errno as fib_lookup of the kernel gives.
  struct Found {
    const Route* route = nullptr;
    int error = 0;
  };

  // --- filling: control, before it is published
  void add(const Interface& interface);
  void add(uint8_t family, uint32_t table, const Prefix& prefix, Route route);
  void add(uint8_t family, const Rule& rule);
  void add(uint32_t kernel, const HostAddress& address, const HostMac& mac);
  void add(uint32_t kernel, const Address& address);
  // Rules and routes into the order of a look-up.
  void finish();

  // --- asking: workers. No allocation.
  [[nodiscard]] const Interface* by_ifindex(uint32_t ifindex) const;
  [[nodiscard]] const Interface* by_kernel(uint32_t kernel) const;
  [[nodiscard]] Found by_rules(const Flow& flow) const;
  [[nodiscard]] Found in_table(const Flow& flow, uint32_t table) const;
  // Null: none, or none that is valid.
  [[nodiscard]] const HostMac* neighbour(uint32_t kernel, const HostAddress& address) const;
  // What the host would send from on that interface: IPv4, the first address in the subnet of `toward`, else the first;
  // IPv6, the one that has most bits in common with it. Null: it has none there.
  [[nodiscard]] const HostAddress* source(uint32_t kernel, uint8_t family, const HostAddress& toward) const;

  // --- the one that is in force, for all programs of the process. Null: none yet.
  [[nodiscard]] static const HostTables* current() noexcept;
  // Control, one thread at a time. The old one goes when no worker can hold it any more, by the next call at the latest
  // that finds it so.
  static void publish(std::unique_ptr<const HostTables> tables, Grace& grace);

 private:
  struct Hash {
    size_t operator()(const Prefix& prefix) const noexcept;
  };
  struct Table {
    std::unordered_map<Prefix, std::vector<Route>, Hash> routes;
    std::vector<uint8_t> lengths;  // in use, longest first
  };
  struct Family {
    std::map<uint32_t, Table> tables;
    std::vector<Rule> rules;
  };
  // The least prefix length of a route that counts is above `suppress`.
  [[nodiscard]] static Found search(const Table& table, const Flow& flow, int suppress);
  [[nodiscard]] static Found among(const std::vector<Route>& routes, const Flow& flow);
  [[nodiscard]] static bool selects(const Rule& rule, const Flow& flow);
  [[nodiscard]] const Family& family(uint8_t number) const;

  std::vector<Interface> interfaces_;
  std::unordered_map<uint32_t, size_t> by_ifindex_, by_kernel_;
  Family inet_, inet6_;
  std::map<uint32_t, std::unordered_map<Prefix, HostMac, Hash>> neighbours_;
  std::map<uint32_t, std::vector<Address>> addresses_;
};

}  // namespace xbond::bpf
