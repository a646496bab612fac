#include "app/xbond/option_use.hpp"

#include <fmt/format.h>

#include <vector>

#include "lib/control/text.hpp"

namespace xbond::app {
namespace {

constexpr std::string_view kOneBond = ": a port can be in one bond only";
constexpr unsigned kMaskBits = 64;

}  // namespace

Status OptionUse::use(const std::string& device, const User& user) {
  const auto [known, first] = users_.emplace(device, user);
  if (first) return {};
  const User& other = known->second;
  const User& bonded = user.bond.empty() ? other : user;
  if (bonded.bond.empty()) {
    if (user.option == other.option)
      return fail(EINVAL, fmt::format("port {} is given twice by {}", device, user.option));
    return fail(EINVAL, fmt::format("port {} is given by {} and by {}", device, other.option, user.option));
  }
  if (user.bond.empty() || other.bond.empty()) {
    const User& single = user.bond.empty() ? user : other;
    return fail(EINVAL, fmt::format("port {} is in {} and given by {}: a bond's member is no port by itself", device,
                                    bonded.bond, single.option));
  }
  if (user.bond == other.bond) return fail(EINVAL, fmt::format("port {} is in {} twice", device, user.bond));
  return fail(EINVAL, fmt::format("port {} is in {} and in {}{}", device, other.bond, user.bond, kOneBond));
}

Status OptionUse::add_port(const std::string& device) {
  return use(device, {"--port", ""});
}

Status OptionUse::add_mask(uint64_t portmask) {
  for (unsigned bit = 0; bit < kMaskBits; ++bit) {
    if ((portmask >> bit & 1) == 0) continue;
    if (Status used = use(fmt::format("{}", bit), {"--portmask", ""}); !used) return used;
  }
  return {};
}

Status OptionUse::add_bond(const BondOption& bond) {
  if (!bonds_.insert(bond.name).second) return fail(EINVAL, fmt::format("bond {} is given twice", bond.name));
  for (const std::string& member : bond.members) {
    if (Status used = use(member, {"--bond", bond.name}); !used) return used;
  }
  return {};
}

Status OptionUse::check_names() const {
  for (const std::string& bond : bonds_) {
    const auto user = users_.find(bond);
    if (user == users_.end()) continue;
    if (user->second.bond.empty()) {
      return fail(EINVAL, fmt::format("{} is a port by {} and a bond by --bond: give the bond another name", bond,
                                      user->second.option));
    }
    // Each is in at most one bond, so the way up is a line; it ends, or comes back here.
    std::string above = user->second.bond;
    for (size_t i = 0; i < bonds_.size() && above != bond; ++i) {
      const auto next = users_.find(above);
      if (next == users_.end()) break;
      above = next->second.bond;
    }
    if (above == bond) return fail(EINVAL, fmt::format("bond {} is within itself", bond));
  }
  return {};
}

Status OptionUse::add_target(const std::string& target) {
  if (!bonds_.contains(target) && !users_.contains(target)) {
    return fail(ENODEV, fmt::format("--xdp: {} is no port or bond given here; there are: {}", control::quoted(target),
                                    targets()));
  }
  if (!targets_.insert(target).second) {
    return fail(EINVAL, fmt::format("--xdp: {} is given two programs", target));
  }
  return {};
}

std::string OptionUse::targets() const {
  std::set<std::string> names = bonds_;
  for (const auto& [device, user] : users_) names.insert(device);
  return names.empty() ? "none" : control::joined(std::vector<std::string>(names.begin(), names.end()), ", ");
}

}  // namespace xbond::app
