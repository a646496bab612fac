#include "lib/control/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lib/control/explain.hpp"
#include "lib/control/paths.hpp"
#include "lib/control/syntax.hpp"
#include "lib/control/text.hpp"
#include "lib/control/tokenize.hpp"

namespace xbond::control {

bool Args::has(std::string_view name) const {
  return bound.find(name) != bound.end();
}

const std::string& Args::get(std::string_view name) const {
  static const std::string absent;
  const auto found = bound.find(name);
  return found == bound.end() || found->second.empty() ? absent : found->second.front();
}

std::span<const std::string> Args::rest(std::string_view name) const {
  const auto found = bound.find(name);
  if (found == bound.end()) return {};
  return found->second;
}

struct CommandTable::Entry {
  Syntax syntax;
  std::string help;
  Handler run;  // empty: the table's own help
};

CommandTable::CommandTable() {
  Result<Syntax> syntax = Syntax::parse("help [WORD...]");
  entries_.push_back(
      std::make_shared<Entry>(Entry{std::move(*syntax), "list the commands, or those that begin so", {}}));
}

void CommandTable::add(Command command) {
  Result<Syntax> syntax = Syntax::parse(command.syntax);
  if (!syntax || !command.run) {
    fmt::print(stderr, "command table: {}\n",
               syntax ? fmt::format("no handler for \"{}\"", command.syntax) : syntax.error().text);
    std::abort();
  }
  entries_.push_back(
      std::make_shared<Entry>(Entry{std::move(*syntax), std::move(command.help), std::move(command.run)}));
}

void CommandTable::completer(std::string placeholder, Completer candidates) {
  completers_[std::move(placeholder)] = std::move(candidates);
}

const CommandTable::Entry* CommandTable::match(std::span<const std::string> words, Args& args) const {
  const Entry* best = nullptr;
  size_t best_literals = 0;
  for (const auto& entry : entries_) {
    Walk walk(entry->syntax);
    const bool taken =
        std::all_of(words.begin(), words.end(), [&](const std::string& word) { return walk.step(word); });
    if (!taken || !walk.complete() || (best != nullptr && walk.literals() <= best_literals)) continue;
    best = entry.get();
    best_literals = walk.literals();
    args.bound = walk.bound(words);
  }
  return best;
}

Status CommandTable::run(std::string_view line, std::string& out) const {
  const Result<std::vector<std::string>> words = tokenize(line);
  if (!words) return words.error();
  if (words->empty()) return {};

  Args args;
  const Entry* entry = match(*words, args);
  if (entry == nullptr) {
    std::vector<const Syntax*> syntaxes;
    for (const auto& known : entries_) syntaxes.push_back(&known->syntax);
    return fail(EINVAL, explain(syntaxes, *words));
  }
  const size_t before = out.size();
  Status status = entry->run ? entry->run(args, out) : run_help(args, out);
  // The contract: on error nothing but the error line is shown.
  if (!status) out.resize(std::min(before, out.size()));
  return status;
}

Status CommandTable::run_help(const Args& args, std::string& out) const {
  std::string prefix;
  for (const std::string& word : args.rest("WORD")) prefix += (prefix.empty() ? "" : " ") + word;
  std::string text = help(prefix);
  if (text.empty()) {
    return fail(ENOENT, fmt::format("no command begins with {} (\"help\" lists all)", quoted(prefix)));
  }
  out += text;
  return {};
}

namespace {

// Longer syntaxes push their help to the right by themselves instead of moving everybody's.
constexpr size_t kMaxColumn = 56;

std::string first_word(const std::string& syntax) {
  return syntax.substr(0, syntax.find(' '));
}

std::string help_line(const std::string& syntax, const std::string& help, size_t column) {
  const size_t padding = column > syntax.size() ? column - syntax.size() : 0;
  return syntax + std::string(padding + 2, ' ') + help + '\n';
}

bool begins_with(const Syntax& syntax, std::span<const std::string> words) {
  Walk walk(syntax);
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return walk.step(word); });
}

}  // namespace

std::string CommandTable::help(std::string_view prefix) const {
  const Result<std::vector<std::string>> words = tokenize(prefix);
  if (!words) return {};

  // Groups in the order in which their first command was added.
  std::vector<std::string> names;
  std::map<std::string, std::vector<const Entry*>> groups;
  size_t column = 0;
  for (const auto& entry : entries_) {
    if (!begins_with(entry->syntax, *words)) continue;
    const std::string name = first_word(entry->syntax.text());
    if (groups[name].empty()) names.push_back(name);
    groups[name].push_back(entry.get());
    if (entry->syntax.text().size() <= kMaxColumn) column = std::max(column, entry->syntax.text().size());
  }

  std::string text;
  bool after_several = false;
  for (const std::string& name : names) {
    const bool several = groups[name].size() > 1;
    if (!text.empty() && (several || after_several)) text += '\n';
    for (const Entry* entry : groups[name]) text += help_line(entry->syntax.text(), entry->help, column);
    after_several = several;
  }
  return text;
}

void CommandTable::add_candidates(const Entry& entry, std::span<const std::string> words, std::string_view last,
                                  std::vector<std::string>& found) const {
  Walk walk(entry.syntax);
  for (const std::string& word : words) {
    if (!walk.step(word)) return;
  }
  const auto add = [&](std::string candidate) {
    if (candidate.starts_with(last)) found.push_back(std::move(candidate));
  };
  for (const Walk::Next& next : walk.expected()) {
    for (const Element::Alternative& choice : next.element->alternatives) {
      if (choice.literal) {
        add(choice.text);
      } else if (const auto known = completers_.find(choice.text); known != completers_.end()) {
        for (std::string& candidate : known->second(Args{walk.bound(next, words)})) add(std::move(candidate));
      } else if (choice.text == "FILE" || choice.text == "OBJ") {
        for (std::string& path : complete_path(last)) add(std::move(path));
      } else if (choice.text == "@FILE" && last.starts_with('@')) {
        for (const std::string& path : complete_path(last.substr(1))) add('@' + path);
      }
    }
  }
}

std::vector<std::string> CommandTable::complete(std::string_view line) const {
  const Result<PartialLine> partial = tokenize_partial(line);
  std::vector<std::string> found;
  if (!partial || partial->closed) return found;

  std::span<const std::string> words = partial->words;
  for (const auto& entry : entries_) add_candidates(*entry, words, partial->last, found);
  if (!words.empty() && words.front() == "help") {
    // help's own words are the beginning of another command
    for (const auto& entry : entries_) add_candidates(*entry, words.subspan(1), partial->last, found);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace xbond::control
