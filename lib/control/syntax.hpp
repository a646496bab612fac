// The grammar of one command's syntax, and the walk of a line's words through it. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::control {

// Words by the name of the element that took them.
using Bound = std::map<std::string, std::vector<std::string>, std::less<>>;

// One word's place: a|b|PLACEHOLDER. A placeholder written @NAME takes only words that begin with @.
struct Element {
  struct Alternative {
    std::string text;  // the literal, or the placeholder's name
    bool literal = false;
  };
  std::vector<Alternative> alternatives;

  [[nodiscard]] const std::string& name() const { return alternatives.front().text; }
  [[nodiscard]] bool all_literal() const;
};

// A parsed syntax: a small graph whose nodes take a word, branch, or end.
class Syntax {
 public:
  // Errors: EINVAL says what is malformed.
  static Result<Syntax> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  // What a line must begin with, up to the first word that is free or optional, each choice by itself: "show port
  // info", "show port stats", ...
  [[nodiscard]] std::vector<std::string> phrases() const;

 private:
  friend class Parser;
  friend class Walk;
  enum class Kind : uint8_t { word, branch, end };
  struct Node {
    Kind kind = Kind::end;
    uint32_t element = 0;            // word: which
    uint32_t next = 0, another = 0;  // branch: tried in this order
  };

  std::string text_;
  std::vector<Element> elements_;
  std::vector<Node> nodes_;
  uint32_t start_ = 0;
};

// All ways at once in which the words so far can be read, so that no line takes more than words x nodes steps. Among
// several readings of the same words the one with most literals wins ("show bond json" is not a bond called json), then
// the one that enters an optional group earlier and repeats less. The syntax must outlive the walk.
class Walk {
 public:
  explicit Walk(const Syntax& syntax);

  // False: no reading takes the word; the walk stays where it was.
  bool step(std::string_view word);
  [[nodiscard]] size_t taken() const { return taken_; }
  // The words so far are the whole command.
  [[nodiscard]] bool complete() const;
  // Literals in the best reading of a complete command.
  [[nodiscard]] size_t literals() const;
  // Every word so far was a literal, in at least one reading.
  [[nodiscard]] bool only_literals() const;
  // Precondition: complete(); `words` are those that were stepped over.
  [[nodiscard]] Bound bound(std::span<const std::string> words) const;

  // What may come next, and what the words so far are bound to when it does.
  struct Next {
    const Element* element;
    uint32_t trail;
  };
  [[nodiscard]] std::vector<Next> expected() const;
  [[nodiscard]] Bound bound(const Next& next, std::span<const std::string> words) const;

 private:
  static constexpr uint32_t kNoTrail = UINT32_MAX;
  struct Thread {
    uint32_t node = 0, literals = 0, trail = kNoTrail;
  };
  // One word taken by one element; linked backwards to the word before it.
  struct Step {
    uint32_t previous, element, word;
  };
  void enter(std::vector<Thread>& threads, Thread thread);
  [[nodiscard]] const Thread* end_thread() const;
  [[nodiscard]] Bound follow(uint32_t trail, std::span<const std::string> words) const;

  const Syntax* syntax_;
  std::vector<Thread> threads_, next_;
  std::vector<Step> steps_;
  std::vector<int64_t> best_;  // by node: most literals it was entered with at this word, -1 not yet
  size_t taken_ = 0;
};

}  // namespace xbond::control
