// Who uses which port and name: what options must not do to each other. Internal to the options' room.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "app/xbond/options.hpp"

namespace xbond::app {

// Errors: EINVAL, one line that names both uses.
class OptionUse {
 public:
  Status add_port(const std::string& device);
  Status add_mask(uint64_t portmask);
  Status add_bond(const BondOption& bond);

  // Once all are added.
  [[nodiscard]] Status check_names() const;
  // Once for each --xdp, after all are added.
  Status add_target(const std::string& target);

 private:
  // `bond` is empty where the port stands by itself, by `option`.
  struct User {
    std::string option, bond;
  };
  Status use(const std::string& device, const User& user);
  [[nodiscard]] std::string targets() const;

  std::map<std::string, User> users_;  // by device, or by bond within a bond
  std::set<std::string> bonds_, targets_;
};

}  // namespace xbond::app
