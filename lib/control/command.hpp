// One table of commands: console, start file, control socket and one-shot client all run these. Thread: control.
#pragma once

#include <functional>
#include <map>
#include <memory>
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
  // groups, NAME... one or more words. Choices may mix both (PORT|all, bound as PORT); @FILE takes only words that
  // begin with @. Where a line can be read in several ways, literals win over placeholders.
  std::string syntax;
  std::string help;  // one line
  Handler run;
};

// Candidates for a placeholder of that name, for TAB: e.g. "PORT" -> device names. Placeholders "FILE" and "OBJ"
// complete paths by themselves.
using Completer = std::function<std::vector<std::string>(const Args& so_far)>;

class CommandTable {
 public:
  // Holds "help [WORD...]" from the start.
  CommandTable();

  // A malformed syntax or a missing handler ends the process with a line that says so: it is an error in the program.
  void add(Command command);
  void completer(std::string placeholder, Completer candidates);

  // Runs one line; quotes and escapes as in tokenize.hpp. Empty lines and comments (#) do nothing. Errors: unknown
  // command (says the nearest ones), missing or surplus word (says the syntax), or the handler's.
  Status run(std::string_view line, std::string& out) const;
  // Candidates for the last word of `line` (empty last word after a blank: all that may follow), whole words, unquoted,
  // sorted.
  [[nodiscard]] std::vector<std::string> complete(std::string_view line) const;
  // Text of `help` (all, grouped by first word) or `help WORD...`: the commands that begin so. Empty: none does.
  [[nodiscard]] std::string help(std::string_view prefix) const;

 private:
  struct Entry;
  [[nodiscard]] const Entry* match(std::span<const std::string> words, Args& args) const;
  Status run_help(const Args& args, std::string& out) const;
  void add_candidates(const Entry& entry, std::span<const std::string> words, std::string_view last,
                      std::vector<std::string>& found) const;

  std::vector<std::shared_ptr<const Entry>> entries_;
  std::map<std::string, Completer, std::less<>> completers_;
};

}  // namespace xbond::control
