#include "bpf_compat/helper/host_tables.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

namespace xbond::bpf {
namespace {

HostAddress masked(const HostAddress& address, uint8_t length) {
  HostAddress out{};
  const size_t whole = length / 8;
  std::copy_n(address.begin(), whole, out.begin());
  if (length % 8 != 0) out[whole] = static_cast<uint8_t>(address[whole] & (0xff00U >> (length % 8)));
  return out;
}

int common_bits(const HostAddress& a, const HostAddress& b) {
  int bits = 0;
  for (size_t i = 0; i < a.size(); ++i, bits += 8)
    if (const auto differ = static_cast<uint8_t>(a[i] ^ b[i]); differ != 0) return bits + std::countl_zero(differ);
  return bits;
}

// The errno that a route of that type stands for (fib_props in net/ipv4/fib_semantics.c); 0: it is a route.
int type_error(uint8_t type) {
  switch (type) {
    case RTN_BLACKHOLE:
      return EINVAL;
    case RTN_UNREACHABLE:
      return EHOSTUNREACH;
    case RTN_PROHIBIT:
      return EACCES;
    case RTN_THROW:
      return EAGAIN;
    default:
      return 0;
  }
}

int action_error(uint8_t action) {
  switch (action) {
    case FR_ACT_UNREACHABLE:
      return ENETUNREACH;
    case FR_ACT_PROHIBIT:
      return EACCES;
    default:
      return EINVAL;
  }
}

struct Retired {
  std::unique_ptr<const HostTables> tables;
  Grace* grace;
  uint64_t token;
};

std::atomic<const HostTables*> g_current{nullptr};

}  // namespace

size_t HostTables::Hash::operator()(const Prefix& prefix) const noexcept {
  uint64_t high = 0;
  uint64_t low = 0;
  std::memcpy(&high, prefix.address.data(), sizeof(high));
  std::memcpy(&low, prefix.address.data() + sizeof(high), sizeof(low));
  uint64_t mixed = (high ^ prefix.length) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 32) ^ low) * 0xbf58476d1ce4e5b9;
  return mixed ^ (mixed >> 29);
}

const HostTables::Family& HostTables::family(uint8_t number) const {
  return number == AF_INET ? inet_ : inet6_;
}

void HostTables::add(const Interface& interface) {
  by_ifindex_[interface.ifindex] = interfaces_.size();
  if (interface.kernel != 0) by_kernel_[interface.kernel] = interfaces_.size();
  interfaces_.push_back(interface);
}

void HostTables::add(uint8_t number, uint32_t table, const Prefix& prefix, Route route) {
  auto& routes = (number == AF_INET ? inet_ : inet6_).tables[table].routes;
  routes[{masked(prefix.address, prefix.length), prefix.length}].push_back(std::move(route));
}

void HostTables::add(uint8_t number, const Rule& rule) {
  (number == AF_INET ? inet_ : inet6_).rules.push_back(rule);
}

void HostTables::add(uint32_t kernel, const HostAddress& address, const HostMac& mac) {
  neighbours_[kernel][{address, 128}] = mac;
}

void HostTables::add(uint32_t kernel, const Address& address) {
  addresses_[kernel].push_back(address);
}

void HostTables::finish() {
  for (auto* family : {&inet_, &inet6_}) {
    std::ranges::stable_sort(family->rules, {}, &Rule::priority);
    for (auto& [number, table] : family->tables) {
      for (auto& [prefix, routes] : table.routes) {
        if (std::ranges::find(table.lengths, prefix.length) == table.lengths.end())
          table.lengths.push_back(prefix.length);
        std::ranges::stable_sort(routes, [](const Route& a, const Route& b) {
          return std::pair(-a.tos, a.priority) < std::pair(-b.tos, b.priority);
        });
      }
      std::ranges::sort(table.lengths, std::greater());
    }
  }
}

const HostTables::Interface* HostTables::by_ifindex(uint32_t ifindex) const {
  const auto it = by_ifindex_.find(ifindex);
  return it == by_ifindex_.end() ? nullptr : &interfaces_[it->second];
}

const HostTables::Interface* HostTables::by_kernel(uint32_t kernel) const {
  const auto it = by_kernel_.find(kernel);
  return it == by_kernel_.end() ? nullptr : &interfaces_[it->second];
}

// IPv4 insists on the asked way out; IPv6 only prefers it among routes of one metric.
HostTables::Found HostTables::among(const std::vector<Route>& routes, const Flow& flow) {
  Found first;
  for (const auto& route : routes) {
    if (first.route && route.priority != first.route->priority) break;
    if (route.tos != 0 && route.tos != flow.tos) continue;
    if (const int error = type_error(route.type); error != 0) return first.route ? first : Found{&route, error};
    const auto alive = [](const Hop& hop) { return !hop.dead; };
    const auto wanted = [&](const Hop& hop) { return !hop.dead && hop.kernel == flow.output; };
    if (flow.output != 0 && std::ranges::any_of(route.hops, wanted)) return {&route, 0};
    if ((flow.output == 0 || flow.family == AF_INET6) && !first.route && std::ranges::any_of(route.hops, alive))
      first = {&route, 0};
    if (first.route && flow.output == 0) break;
  }
  return first;
}

HostTables::Found HostTables::search(const Table& table, const Flow& flow, int suppress) {
  for (const auto length : table.lengths) {
    if (length <= suppress) break;
    const auto it = table.routes.find({masked(flow.destination, length), length});
    if (it == table.routes.end()) continue;
    if (const auto found = among(it->second, flow); found.route) return found;
  }
  return {nullptr, EAGAIN};
}

HostTables::Found HostTables::in_table(const Flow& flow, uint32_t number) const {
  const auto& tables = family(flow.family).tables;
  const auto table = tables.find(number);
  return table == tables.end() ? Found{nullptr, ENETUNREACH} : search(table->second, flow, -1);
}

bool HostTables::selects(const Rule& rule, const Flow& flow) {
  if (rule.never) return false;
  const bool fits = (rule.source.length == 0 || flow.has_source) &&
                    masked(flow.source, rule.source.length) == rule.source.address &&
                    masked(flow.destination, rule.destination.length) == rule.destination.address &&
                    (rule.input == 0 || rule.input == flow.input) && (rule.output == 0 || rule.output == flow.output) &&
                    (rule.tos == 0 || rule.tos == flow.tos) && ((rule.mark ^ flow.mark) & rule.mark_mask) == 0;
  return fits != rule.invert;
}

HostTables::Found HostTables::by_rules(const Flow& flow) const {
  const auto& [tables, rules] = family(flow.family);
  uint32_t from = 0;
  for (const auto& rule : rules) {
    if (rule.priority < from || !selects(rule, flow)) continue;
    switch (rule.action) {
      case FR_ACT_GOTO:
        from = rule.target;
        break;
      case FR_ACT_NOP:
        break;
      case FR_ACT_TO_TBL: {
        const auto table = tables.find(rule.table);
        if (table == tables.end()) break;
        const auto found = search(table->second, flow, rule.suppress_length);
        // No route, or one that says so: on to the next rule
        if (found.error != EAGAIN) return found;
        break;
      }
      default:
        return {nullptr, action_error(rule.action)};
    }
  }
  return {nullptr, ENETUNREACH};
}

const HostMac* HostTables::neighbour(uint32_t kernel, const HostAddress& address) const {
  const auto device = neighbours_.find(kernel);
  if (device == neighbours_.end()) return nullptr;
  const auto it = device->second.find({address, 128});
  return it == device->second.end() ? nullptr : &it->second;
}

const HostAddress* HostTables::source(uint32_t kernel, uint8_t number, const HostAddress& toward) const {
  const auto device = addresses_.find(kernel);
  if (device == addresses_.end()) return nullptr;
  const HostAddress* best = nullptr;
  int most = -1;
  for (const auto& [address_family, prefix] : device->second) {
    if (address_family != number) continue;
    const int in_common = number == AF_INET
                              ? int{masked(toward, prefix.length) == masked(prefix.address, prefix.length)}
                              : common_bits(toward, prefix.address);
    if (in_common <= most) continue;
    most = in_common;
    best = &prefix.address;
  }
  return best;
}

const HostTables* HostTables::current() noexcept {
  return g_current.load(std::memory_order_acquire);
}

void HostTables::publish(std::unique_ptr<const HostTables> tables, Grace& grace) {
  static std::vector<Retired> retired;
  std::unique_ptr<const HostTables> old(g_current.exchange(tables.release(), std::memory_order_acq_rel));
  if (old) retired.push_back({std::move(old), &grace, grace.start()});
  std::erase_if(retired, [](const Retired& one) { return one.grace->passed(one.token); });
}

}  // namespace xbond::bpf
