// One table of commands: console, start file, control socket and one-shot client all run these. Thread: control.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::control {

// What the words of a line were bound to. Placeholders by their name in the syntax ("PORT", "NAME"), trailing repeated
// ones as a list.
class Args {
 public:
  [[nodiscard]] bool has(std::string_view name) const;                // also for optional literals: has("json")
  [[nodiscard]] const std::string& get(std::string_view name) const;  // empty string where absent
  [[nodiscard]] std::span<const std::string> rest(std::string_view name) const;

  std::map<std::string, std::vector<std::string>, std::less<>> bound;
};

// Handlers append complete lines to `out`. On error nothing but the error line is shown.
using Handler = std::function<Status(const Args& args, std::string& out)>;

struct Command {
  // "show port info|stats|xstats|summary [PORT] [json]": lower-case words are literals, a|b|c one of them (bound under
  // the first one's name with the chosen word as value), UPPER-CASE placeholders, [x] optional, [x y]... repeated
  // groups, NAME... one or more words.
  std::string syntax;
  std::string help;  // one line
  Handler run;
};

// Candidates for a placeholder of that name, for TAB: e.g. "PORT" -> device names. Placeholders "FILE" and "OBJ"
// complete paths by themselves.
using Completer = std::function<std::vector<std::string>(const Args& so_far)>;

class CommandTable {
 public:
  void add(Command command);
  void completer(std::string placeholder, Completer candidates);

  // Runs one line. Empty lines and comments (#) do nothing. Errors: unknown command (says the nearest ones), missing or
  // surplus word (says the syntax), or the handler's.
  Status run(std::string_view line, std::string& out) const;
  // Candidates for the last word of `line` (empty last word after a blank: all that may follow).
  [[nodiscard]] std::vector<std::string> complete(std::string_view line) const;
  // Text of `help` (all, grouped by first word) or `help WORD...`.
  [[nodiscard]] std::string help(std::string_view prefix) const;

 private:
  struct Entry;
  std::vector<Command> commands_;
  std::map<std::string, Completer, std::less<>> completers_;
};

}  // namespace xbond::control
