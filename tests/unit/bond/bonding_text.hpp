// Reads the text of /proc/net/bonding/NAME as the tools do that live off it: a blank line ends a section, "Slave
// Interface:" begins a member's, a title without a value begins a group within it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xbond::bond::test {

// "section/group/key" to value; the section is "" for the bond's own lines and the member's name for its. What is not
// of that form is in `strange`.
struct BondingText {
  std::map<std::string, std::string> values;
  std::vector<std::string> members;
  std::vector<std::string> strange;
};

inline BondingText read_bonding_text(std::string_view text) {
  constexpr std::string_view kMember = "Slave Interface";
  BondingText out;
  std::string member, group;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) {
      group.clear();
      continue;
    }
    const bool indented = line.front() == ' ' || line.front() == '\t';
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const size_t colon = line.find(':');
    const std::string key(line.substr(0, colon));
    if (colon == std::string_view::npos || colon + 1 == line.size()) {
      group = key;
      continue;
    }
    const std::string value(line.substr(colon + 2));
    if (key == kMember) {
      out.members.push_back(member = value);
    } else if (line[colon + 1] != ' ' || value.empty() || (indented && group.empty()) ||
               !out.values.emplace(member + '/' + group + '/' + key, value).second) {
      out.strange.emplace_back(line);
    }
  }
  return out;
}

}  // namespace xbond::bond::test
