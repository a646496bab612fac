#include "lib/control/tokenize.hpp"

#include <fmt/format.h>

#include <utility>

namespace xbond::control {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

// One pass over the line; what is open at its end stays in the members for the caller to judge.
struct Scanner {
  std::vector<std::string> words;
  bool in_word = false, escaped = false, comment = false;
  char quote = 0;
  size_t quote_column = 0;

  Status scan(std::string_view line) {
    if (line.size() > kMaxLine) {
      return fail(E2BIG, fmt::format("line of {} bytes: at most {} are taken", line.size(), kMaxLine));
    }
    for (size_t i = 0; i < line.size() && !comment; ++i) {
      if (is_control(line[i])) {
        return fail(EINVAL, fmt::format("control character 0x{:02x} at column {}",
                                        static_cast<unsigned>(static_cast<unsigned char>(line[i])), i + 1));
      }
      if (Status taken = take(line[i], i + 1); !taken) return taken;
    }
    return {};
  }

 private:
  Status take(char c, size_t column) {
    if (escaped) return take_escaped(c);
    if (quote == '\'') return take_single_quoted(c);
    if (quote == '"') return take_double_quoted(c);
    if (is_blank(c)) {
      in_word = false;
      return {};
    }
    if (c == '#' && !in_word) {
      comment = true;
      return {};
    }
    if (Status begun = begin_word(); !begun) return begun;
    if (c == '\\') {
      escaped = true;
      return {};
    }
    if (c == '"' || c == '\'') {
      quote = c;
      quote_column = column;
      return {};
    }
    return append(c);
  }

  Status take_escaped(char c) {
    escaped = false;
    // Between double quotes a backslash before anything else is itself, so that patterns survive.
    if (quote == '"' && c != '"' && c != '\\') {
      if (Status added = append('\\'); !added) return added;
    }
    return append(c);
  }

  Status take_single_quoted(char c) {
    if (c != '\'') return append(c);
    quote = 0;
    return {};
  }

  Status take_double_quoted(char c) {
    if (c == '"') {
      quote = 0;
    } else if (c == '\\') {
      escaped = true;
    } else {
      return append(c);
    }
    return {};
  }

  Status begin_word() {
    if (in_word) return {};
    if (words.size() == kMaxWords) return fail(E2BIG, fmt::format("more than {} words in a line", kMaxWords));
    words.emplace_back();
    in_word = true;
    return {};
  }

  Status append(char c) {
    if (words.back().size() == kMaxWord) {
      return fail(E2BIG, fmt::format("word {} is longer than {} bytes", words.size(), kMaxWord));
    }
    words.back().push_back(c);
    return {};
  }
};

}  // namespace

Result<std::vector<std::string>> tokenize(std::string_view line) {
  Scanner scanner;
  if (Status scanned = scanner.scan(line); !scanned) return scanned.error();
  if (scanner.quote != 0) {
    return fail(EINVAL,
                fmt::format("missing closing {} for the one at column {}", scanner.quote, scanner.quote_column));
  }
  if (scanner.escaped) return fail(EINVAL, "backslash at the end of the line");
  return std::move(scanner.words);
}

Result<PartialLine> tokenize_partial(std::string_view line) {
  Scanner scanner;
  if (Status scanned = scanner.scan(line); !scanned) return scanned.error();
  PartialLine partial;
  partial.closed = scanner.comment || scanner.escaped;
  partial.quote = scanner.quote;
  if (scanner.in_word) {
    partial.last = std::move(scanner.words.back());
    scanner.words.pop_back();
  }
  partial.words = std::move(scanner.words);
  return partial;
}

std::string escape(std::string_view text, char quote) {
  std::string out;
  for (const char c : text) {
    const bool special = quote == 0     ? is_blank(c) || c == '"' || c == '\'' || c == '\\' || c == '#'
                         : quote == '"' ? c == '"' || c == '\\'
                                        : false;
    if (special) out.push_back('\\');
    // The one character that single quotes can't hold: step out of them for it.
    out += quote == '\'' && c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out;
}

}  // namespace xbond::control
