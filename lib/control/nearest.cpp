#include "lib/control/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace xbond::control {
namespace {

constexpr size_t kMaxLength = 64;  // longer input is no slip of the finger, and the distance costs its square
constexpr size_t kMaxSuggestions = 3;

using Row = std::array<size_t, kMaxLength + 1>;

// Optimal string alignment: insert, delete, replace, swap of neighbours. Both at most kMaxLength long.
size_t distance(std::string_view a, std::string_view b) {
  Row before{}, previous{}, current{};
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before = previous;
    previous = current;
  }
  return previous[b.size()];
}

std::string_view next_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool abbreviates(std::string_view input, std::string_view candidate) {
  if (input.empty()) return false;
  while (!input.empty()) {
    if (!next_word(candidate).starts_with(next_word(input))) return false;
  }
  return candidate.empty();
}

}  // namespace

std::vector<std::string> nearest(std::string_view input, std::span<const std::string> candidates) {
  std::vector<std::string> found;
  if (input.size() > kMaxLength) return found;
  size_t best = kMaxLength;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxLength) continue;
    const size_t apart = abbreviates(input, candidate) ? 1 : distance(input, candidate);
    if (apart > std::max<size_t>(1, std::min(input.size(), candidate.size()) / 3) || apart > best) continue;
    if (candidate.size() == apart) continue;  // nothing in common
    if (apart < best) found.clear();
    best = apart;
    const bool known = std::find(found.begin(), found.end(), candidate) != found.end();
    if (!known && found.size() < kMaxSuggestions) found.push_back(candidate);
  }
  return found;
}

std::string did_you_mean(std::span<const std::string> candidates) {
  if (candidates.empty()) return {};
  std::string text = "; did you mean ";
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0) text += i + 1 == candidates.size() ? " or " : ", ";
    text += '"' + candidates[i] + '"';
  }
  return text + "?";
}

}  // namespace xbond::control
