#include "lib/bond/targets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "lib/bond/options.hpp"

namespace xbond::bond {
namespace {

// bond_is_ip_target_ok: neither "any" nor "everybody".
bool can_be_target(const Ipv4& address) {
  return address != Ipv4{} && address != Ipv4{255, 255, 255, 255};
}
bool can_be_target(const Ipv6& address) {
  return address != Ipv6{} && address[0] != 0xff;
}

constexpr int family(const Ipv4& /*address*/) {
  return AF_INET;
}
constexpr int family(const Ipv6& /*address*/) {
  return AF_INET6;
}

template <class Address>
bool parse(std::string_view text, Address& address) {
  // inet_pton wants an end, and no address is longer.
  std::array<char, INET6_ADDRSTRLEN + 1> word{};
  if (text.size() >= word.size()) return false;
  std::copy(text.begin(), text.end(), word.begin());
  return inet_pton(family(address), word.data(), address.data()) == 1 && can_be_target(address);
}

template <class Address>
Status change_one(std::vector<Address>& targets, std::string_view option, std::string_view word) {
  const bool remove = word.starts_with('-');
  const std::string_view text = remove || word.starts_with('+') ? word.substr(1) : word;
  Address address{};
  if (!parse(text, address)) {
    return fail(EINVAL, fmt::format("option {}: invalid target ({}), allowed values {} addresses of a host", option,
                                    printable(word), family(address) == AF_INET ? "IPv4" : "IPv6"));
  }
  const auto at = std::find(targets.begin(), targets.end(), address);
  if (remove) {
    if (at == targets.end()) {
      return fail(EINVAL, fmt::format("option {}: unable to remove nonexistent target {}", option, printable(text)));
    }
    targets.erase(at);
    return {};
  }
  if (at != targets.end()) {
    return fail(EINVAL, fmt::format("option {}: target {} is already present", option, printable(text)));
  }
  if (targets.size() >= kMaxTargets) {
    return fail(EINVAL, fmt::format("option {}: target table is full, it holds {}", option, kMaxTargets));
  }
  targets.push_back(address);
  return {};
}

template <class Address>
Status change(std::vector<Address>& targets, std::string_view option, std::string_view text) {
  if (text.empty() || text == "default") {
    targets.clear();
    return {};
  }
  std::vector<Address> changed = targets;
  while (true) {
    const size_t comma = text.find(',');
    if (Status ok = change_one(changed, option, text.substr(0, comma)); !ok) return ok;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  targets = std::move(changed);
  return {};
}

template <class Address>
std::string to_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(family(address), address.data(), text.data(), text.size()) != nullptr ? text.data() : "";
}

}  // namespace

Status change_targets(std::vector<Ipv4>& targets, std::string_view option, std::string_view text) {
  return change(targets, option, text);
}
Status change_targets(std::vector<Ipv6>& targets, std::string_view option, std::string_view text) {
  return change(targets, option, text);
}

std::string address_text(const Ipv4& address) {
  return to_text(address);
}
std::string address_text(const Ipv6& address) {
  return to_text(address);
}

}  // namespace xbond::bond
