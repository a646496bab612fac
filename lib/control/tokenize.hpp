// A command line into words. Blanks part words; "..." and '...' keep blanks; a backslash takes the next character as it
// stands (between double quotes only before " and \); # at the start of a word begins a comment. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::control {

// Lines of a file hold whole frames in hex, so they may be long; but never without a bound.
inline constexpr size_t kMaxLine = size_t{1} << 20;
inline constexpr size_t kMaxWord = size_t{512} << 10;
inline constexpr size_t kMaxWords = size_t{1} << 16;

// Errors (EINVAL, one line, columns from 1): a control character or NUL, an open quote, a backslash at the end;
// E2BIG: line, word or number of words over its bound.
Result<std::vector<std::string>> tokenize(std::string_view line);

// A line that is still being typed: what stands before the last word, and the last word as far as it goes (empty after
// a blank).
struct PartialLine {
  std::vector<std::string> words;
  std::string last;
  char quote = 0;       // the quote that is still open in `last`, or 0
  bool closed = false;  // the end can't be completed: in a comment, or after a lone backslash
};
// Errors: as tokenize(), open ends excepted.
Result<PartialLine> tokenize_partial(std::string_view line);

// `text` as it has to be typed within `quote` (0: bare, with backslashes) to mean itself.
std::string escape(std::string_view text, char quote);

}  // namespace xbond::control
