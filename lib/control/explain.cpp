#include "lib/control/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/control/nearest.hpp"
#include "lib/control/text.hpp"

namespace xbond::control {
namespace {

constexpr size_t kMaxPhrase = 8;
constexpr size_t kMaxNamed = 12;
constexpr size_t kMaxSyntaxes = 2;

std::string phrase_of(std::span<const std::string> words) {
  // Frames and maps make lines of many words; no error line needs more than the first ones.
  return joined(words.first(std::min(words.size(), kMaxPhrase)), " ");
}

std::string listed(const std::vector<std::string>& items) {
  const auto shown = std::span(items).first(std::min(items.size(), kMaxNamed));
  return joined(shown, ", ") + (items.size() > kMaxNamed ? ", ..." : "");
}

// The syntaxes that follow the line furthest, and what they expect there.
struct Furthest {
  size_t taken = 0;
  bool complete = false;       // one of them could end there
  bool only_literals = false;  // no word has been a free one yet
  std::vector<const Syntax*> syntaxes;
  std::vector<std::string> literals, placeholders;
};

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

Furthest follow(std::span<const Syntax* const> syntaxes, std::span<const std::string> words) {
  Furthest furthest;
  for (const Syntax* syntax : syntaxes) {
    Walk walk(*syntax);
    while (walk.taken() < words.size() && walk.step(words[walk.taken()])) {
    }
    if (walk.taken() < furthest.taken) continue;
    if (walk.taken() > furthest.taken) {
      furthest = {};
      furthest.taken = walk.taken();
    }
    furthest.syntaxes.push_back(syntax);
    furthest.complete |= walk.complete();
    furthest.only_literals |= walk.only_literals();
    for (const Walk::Next& next : walk.expected()) {
      for (const Element::Alternative& choice : next.element->alternatives) {
        add_once(choice.literal ? furthest.literals : furthest.placeholders, choice.text);
      }
    }
  }
  return furthest;
}

// `phrase` without what follows its first `count` words.
std::string first_words(const std::string& phrase, size_t count) {
  size_t end = phrase.find(' ');
  for (; count > 1 && end != std::string::npos; --count) end = phrase.find(' ', end + 1);
  return phrase.substr(0, end);
}

// What `count` typed words can be compared with: the fixed beginnings of that many words; longer ones by their first
// words, where nothing more was typed.
std::vector<std::string> phrases_of(std::span<const Syntax* const> syntaxes, size_t count, bool all_typed) {
  std::vector<std::string> phrases;
  for (const Syntax* syntax : syntaxes) {
    for (const std::string& phrase : syntax->phrases()) {
      const auto words = static_cast<size_t>(std::count(phrase.begin(), phrase.end(), ' ')) + 1;
      if (words == count || (words > count && all_typed)) add_once(phrases, first_words(phrase, count));
    }
  }
  return phrases;
}

std::string unknown_command(std::span<const Syntax* const> syntaxes, std::span<const std::string> words,
                            const Furthest& at) {
  for (size_t count = std::min(words.size(), kMaxPhrase); count > at.taken; --count) {
    const std::string typed = phrase_of(words.first(count));
    const std::vector<std::string> near = nearest(typed, phrases_of(syntaxes, count, count == words.size()));
    if (near.empty()) continue;
    return fmt::format("unknown command {}{} (\"help\" lists all)", quoted(typed), did_you_mean(near));
  }
  const std::string typed = quoted(phrase_of(words.first(at.taken + 1)));
  if (at.taken == 0) return fmt::format("unknown command {} (\"help\" lists all)", typed);
  return fmt::format("unknown command {}; {} is followed by one of: {}", typed,
                     quoted(phrase_of(words.first(at.taken))), listed(at.literals));
}

std::string syntax_of(const Furthest& at) {
  std::string text = "; syntax: " + at.syntaxes.front()->text();
  const size_t shown = std::min(at.syntaxes.size(), kMaxSyntaxes);
  for (size_t i = 1; i < shown; ++i) text += " or: " + at.syntaxes[i]->text();
  return at.syntaxes.size() > shown ? text + " or more (\"help\" lists all)" : text;
}

std::string missing(std::span<const std::string> words, const Furthest& at) {
  const std::string line = phrase_of(words).substr(0, kQuotedLength);
  const std::string after = quoted(words.back());
  if (at.placeholders.empty()) {
    return fmt::format("{}: missing word after {}, one of: {}", line, after, listed(at.literals)) +
           (at.syntaxes.size() == 1 ? syntax_of(at) : "");
  }
  return fmt::format("{}: missing {} after {}", line, joined(at.placeholders, " or "), after) + syntax_of(at);
}

std::string unexpected(std::span<const std::string> words, const Furthest& at) {
  const std::string& word = words[at.taken];
  const std::vector<std::string> near = nearest(word, at.literals);
  const std::string_view kind = at.complete && near.empty() ? "surplus" : "unexpected";
  std::string text = fmt::format("{} word {} after {}", kind, quoted(word), quoted(words[at.taken - 1]));
  return text + did_you_mean(near) + syntax_of(at);
}

}  // namespace

std::string explain(std::span<const Syntax* const> syntaxes, std::span<const std::string> words) {
  const Furthest at = follow(syntaxes, words);
  if (at.taken == words.size()) return missing(words, at);
  const bool no_choice = !at.complete && at.only_literals && at.placeholders.empty();
  if (at.taken == 0 || (no_choice && at.syntaxes.size() > 1)) return unknown_command(syntaxes, words, at);
  return unexpected(words, at);
}

}  // namespace xbond::control
