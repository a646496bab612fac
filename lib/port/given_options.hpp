// The EAL options that a user gave, read the way getopt_long reads them. Internal to the room. Thread: main.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xbond::port {

class GivenOptions {
 public:
  explicit GivenOptions(const std::vector<std::string>& words);

  // `name` with its dashes: "-l" or "--lcores". Long names may be given abbreviated, as getopt_long allows.
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool has_any(std::initializer_list<std::string_view> names) const;
  // All values given to any of these names, in order.
  [[nodiscard]] std::vector<std::string> values(std::initializer_list<std::string_view> names) const;

 private:
  std::vector<std::pair<std::string, std::string>> options_;  // name with dashes, value or empty
};

}  // namespace xbond::port
