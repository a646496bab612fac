// Where options come from: the command line and the configuration file, as one list. Internal to the options' room.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::app {

// One option as it was given. Flags have an empty value.
struct Given {
  std::string name;  // without dashes
  std::string value;
  std::string where;  // "FILE:LINE: ", or empty for the command line: the beginning of any error about it
};

// Errors: one line; unknown option (says the nearest), value missing or not wanted.
Result<std::vector<Given>> from_command_line(const std::vector<std::string>& argv);

// One option a line: `name = value`, `name value`, or a flag alone; dashes before the name are allowed. A # at the
// start of a line or after a blank begins a comment. Bounded. Errors: as above, with FILE:LINE.
Result<std::vector<Given>> from_file(const std::string& path);

// All options, grouped; for both the parser and the help text.
struct OptionGroups {
  boost::program_options::options_description ports, xdp, running, queues, other;
  OptionGroups();
  [[nodiscard]] boost::program_options::options_description all() const;
};

}  // namespace xbond::app
