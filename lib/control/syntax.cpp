#include "lib/control/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

namespace xbond::control {
namespace {

bool has_lower(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

bool has_upper(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c) != 0; });
}

constexpr std::string_view kRepeat = "...";
constexpr size_t kMaxPhrases = 64;

}  // namespace

bool Element::all_literal() const {
  return std::all_of(alternatives.begin(), alternatives.end(), [](const Alternative& a) { return a.literal; });
}

// Recursive descent into a tree, then the tree into nodes from its end backwards, so that each node knows its follower.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) { syntax_.text_ = text; }

  Result<Syntax> run() {
    Result<std::vector<Item>> items = sequence(0);
    if (!items) return items.error();
    if (!rest_.empty()) return fail(EINVAL, fmt::format("syntax \"{}\": ] without [", syntax_.text_));
    if (items->empty()) return fail(EINVAL, "syntax without a word");
    syntax_.start_ = emit(*items, node({.kind = Syntax::Kind::end}));
    return std::move(syntax_);
  }

 private:
  struct Item {
    bool optional = false, repeated = false;
    uint32_t element = 0;  // where `group` is empty
    std::vector<Item> group;
  };

  Result<std::vector<Item>> sequence(unsigned depth) {
    std::vector<Item> items;
    for (skip_blanks(); !rest_.empty() && rest_.front() != ']'; skip_blanks()) {
      Result<Item> item = rest_.front() == '[' ? group(depth + 1) : word();
      if (!item) return item.error();
      items.push_back(std::move(*item));
    }
    return items;
  }

  Result<Item> group(unsigned depth) {
    if (depth > 8) return fail(EINVAL, fmt::format("syntax \"{}\": groups nested too deep", syntax_.text_));
    rest_.remove_prefix(1);
    Result<std::vector<Item>> items = sequence(depth);
    if (!items) return items.error();
    if (rest_.empty()) return fail(EINVAL, fmt::format("syntax \"{}\": [ without ]", syntax_.text_));
    if (items->empty()) return fail(EINVAL, fmt::format("syntax \"{}\": [] holds nothing", syntax_.text_));
    rest_.remove_prefix(1);
    Item item{.optional = true, .group = std::move(*items)};
    item.repeated = take_repeat();
    return item;
  }

  Result<Item> word() {
    const size_t end = std::min(rest_.find_first_of(" []"), rest_.size());
    std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    Item item;
    if (text.ends_with(kRepeat)) {
      item.repeated = true;
      text.remove_suffix(kRepeat.size());
    }
    Element element;
    for (;;) {
      const size_t bar = std::min(text.find('|'), text.size());
      const std::string_view choice = text.substr(0, bar);
      if (choice.empty()) return fail(EINVAL, fmt::format("syntax \"{}\": an empty choice", syntax_.text_));
      element.alternatives.push_back({std::string(choice), has_lower(choice) || !has_upper(choice)});
      if (bar == text.size()) break;
      text.remove_prefix(bar + 1);
    }
    item.element = static_cast<uint32_t>(syntax_.elements_.size());
    syntax_.elements_.push_back(std::move(element));
    return item;
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool take_repeat() {
    if (!rest_.starts_with(kRepeat)) return false;
    rest_.remove_prefix(kRepeat.size());
    return true;
  }

  uint32_t node(Syntax::Node made) {
    syntax_.nodes_.push_back(made);
    return static_cast<uint32_t>(syntax_.nodes_.size() - 1);
  }

  // Returns the node where the items begin; `next` is what follows them.
  uint32_t emit(const std::vector<Item>& items, uint32_t next) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) next = emit(*item, next);
    return next;
  }

  uint32_t emit(const Item& item, uint32_t next) {
    if (!item.repeated) {
      const uint32_t body = emit_once(item, next);
      return item.optional ? node({.kind = Syntax::Kind::branch, .next = body, .another = next}) : body;
    }
    const uint32_t again = node({.kind = Syntax::Kind::branch, .next = next});
    const uint32_t body = emit_once(item, again);
    syntax_.nodes_[again].another = body;
    return item.optional ? again : body;
  }

  uint32_t emit_once(const Item& item, uint32_t next) {
    if (!item.group.empty()) return emit(item.group, next);
    return node({.kind = Syntax::Kind::word, .element = item.element, .next = next});
  }

  std::string_view rest_;
  Syntax syntax_;
};

Result<Syntax> Syntax::parse(std::string_view text) {
  return Parser(text).run();
}

std::vector<std::string> Syntax::phrases() const {
  std::vector<std::string> phrases{""};
  uint32_t at = start_;
  while (nodes_[at].kind == Kind::word && elements_[nodes_[at].element].all_literal()) {
    const Element& element = elements_[nodes_[at].element];
    if (phrases.size() * element.alternatives.size() > kMaxPhrases) break;
    std::vector<std::string> longer;
    for (const std::string& phrase : phrases) {
      for (const Element::Alternative& choice : element.alternatives) {
        longer.push_back(phrase.empty() ? choice.text : phrase + ' ' + choice.text);
      }
    }
    phrases = std::move(longer);
    at = nodes_[at].next;
  }
  if (phrases.front().empty()) phrases.clear();
  return phrases;
}

Walk::Walk(const Syntax& syntax) : syntax_(&syntax), best_(syntax.nodes_.size(), -1) {
  enter(threads_, {.node = syntax.start_});
}

void Walk::enter(std::vector<Thread>& threads, Thread thread) {
  if (best_[thread.node] >= int64_t{thread.literals}) return;
  best_[thread.node] = thread.literals;
  const Syntax::Node& node = syntax_->nodes_[thread.node];
  if (node.kind == Syntax::Kind::branch) {
    enter(threads, {node.next, thread.literals, thread.trail});
    enter(threads, {node.another, thread.literals, thread.trail});
    return;
  }
  const auto same =
      std::find_if(threads.begin(), threads.end(), [&](const Thread& t) { return t.node == thread.node; });
  if (same == threads.end()) {
    threads.push_back(thread);
  } else {
    *same = thread;
  }
}

namespace {

enum class Taken : uint8_t { no, literal, placeholder };

Taken take(const Element& element, std::string_view word) {
  Taken taken = Taken::no;
  for (const Element::Alternative& choice : element.alternatives) {
    if (choice.literal) {
      if (choice.text == word) return Taken::literal;
    } else if (!choice.text.starts_with('@') || word.starts_with('@')) {
      taken = Taken::placeholder;
    }
  }
  return taken;
}

}  // namespace

bool Walk::step(std::string_view word) {
  std::fill(best_.begin(), best_.end(), -1);
  next_.clear();
  for (const Thread& thread : threads_) {
    const Syntax::Node& node = syntax_->nodes_[thread.node];
    if (node.kind != Syntax::Kind::word) continue;
    const Taken taken = take(syntax_->elements_[node.element], word);
    if (taken == Taken::no) continue;
    steps_.push_back({thread.trail, node.element, static_cast<uint32_t>(taken_)});
    enter(next_,
          {node.next, thread.literals + (taken == Taken::literal ? 1 : 0), static_cast<uint32_t>(steps_.size() - 1)});
  }
  if (next_.empty()) return false;
  threads_.swap(next_);
  ++taken_;
  return true;
}

const Walk::Thread* Walk::end_thread() const {
  const auto end = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& thread) {
    return syntax_->nodes_[thread.node].kind == Syntax::Kind::end;
  });
  return end == threads_.end() ? nullptr : &*end;
}

bool Walk::complete() const {
  return end_thread() != nullptr;
}

size_t Walk::literals() const {
  const Thread* end = end_thread();
  return end == nullptr ? 0 : end->literals;
}

bool Walk::only_literals() const {
  return std::any_of(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.literals == taken_; });
}

Bound Walk::follow(uint32_t trail, std::span<const std::string> words) const {
  Bound bound;
  for (; trail != kNoTrail; trail = steps_[trail].previous) {
    bound[syntax_->elements_[steps_[trail].element].name()].push_back(words[steps_[trail].word]);
  }
  for (auto& [name, values] : bound) std::reverse(values.begin(), values.end());
  return bound;
}

Bound Walk::bound(std::span<const std::string> words) const {
  const Thread* end = end_thread();
  return end == nullptr ? Bound{} : follow(end->trail, words);
}

std::vector<Walk::Next> Walk::expected() const {
  std::vector<Next> expected;
  for (const Thread& thread : threads_) {
    const Syntax::Node& node = syntax_->nodes_[thread.node];
    if (node.kind == Syntax::Kind::word) expected.push_back({&syntax_->elements_[node.element], thread.trail});
  }
  return expected;
}

Bound Walk::bound(const Next& next, std::span<const std::string> words) const {
  return follow(next.trail, words);
}

}  // namespace xbond::control
