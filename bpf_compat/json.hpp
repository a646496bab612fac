// A small JSON writer for everything that has a `json` form. Writes only; output is always valid JSON in UTF-8.
// Lives here because bpf_compat is the room that all others may use. Thread: any, one Writer per thread.
#pragma once

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace xbond::json {

namespace detail {

// Length in bytes of the well-formed UTF-8 sequence at the start of `s` (not empty), 0 if there is none. Overlong
// forms, surrogates and what lies beyond U+10FFFF are not well-formed (RFC 3629).
inline size_t utf8_length(std::string_view s) noexcept {
  const auto byte = [s](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : uint8_t{0}; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const bool second = byte(1) >= (lead == 0xe0 ? 0xa0 : 0x80) && byte(1) <= (lead == 0xed ? 0x9f : 0xbf);
    return second && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const bool second = byte(1) >= (lead == 0xf0 ? 0x90 : 0x80) && byte(1) <= (lead == 0xf4 ? 0x8f : 0xbf);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

inline void append_escape(std::string& out, uint8_t control) {
  switch (control) {
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default: {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += "\\u00";
      out += kHex[control >> 4];
      out += kHex[control & 15U];
    }
  }
}

}  // namespace detail

// Appends `text` as a JSON string, quotes included. Names come from devices, objects and consoles: a byte that is not
// UTF-8 becomes U+FFFD, because one such byte would make the whole document unreadable to strict parsers.
inline void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = detail::utf8_length(text);
    const auto first = static_cast<uint8_t>(text[0]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (first < 0x20 || first == 0x7f) {
      detail::append_escape(out, first);
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += text[0];
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

[[nodiscard]] inline std::string quote(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

// Writes one JSON value, on one line. Commas and colons are its business:
//   Writer w;
//   w.begin_object().member("name", "bond0").key("members").begin_array().value(1).value(2).end_array().end_object();
//   w.take() == R"({"name":"bond0","members":[1,2]})"
// Misuse (a value without a key in an object, an end that does not match) is a bug in the caller: asserted.
class Writer {
 public:
  Writer& begin_object() { return begin('{'); }
  Writer& end_object() { return end('}'); }
  Writer& begin_array() { return begin('['); }
  Writer& end_array() { return end(']'); }

  Writer& key(std::string_view name) {
    assert(!open_.empty() && open_.back() == '}' && !after_key_);
    separate();
    append_string(out_, name);
    out_ += ':';
    after_key_ = true;
    return *this;
  }

  Writer& value(std::string_view text) {
    before_value();
    append_string(out_, text);
    return *this;
  }
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  // Without this overload a string literal would be taken for a bool.
  Writer& value(const char* text) { return value(std::string_view(text)); }

  template <std::same_as<bool> T>
  Writer& value(T flag) {
    return raw(flag ? "true" : "false");
  }

  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Writer& value(T number) { return number_text(number); }

  // JSON has no NaN and no infinity: null.
  Writer& value(double number) { return std::isfinite(number) ? number_text(number) : null(); }

  Writer& null() { return raw("null"); }

  // `text` is JSON already (another Writer's).
  Writer& raw(std::string_view text) {
    before_value();
    out_ += text;
    return *this;
  }

  template <class T>
  Writer& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // Precondition: everything that began has ended. Leaves the writer empty.
  [[nodiscard]] std::string take() {
    assert(open_.empty() && !after_key_);
    comma_ = false;
    return std::exchange(out_, {});
  }

 private:
  Writer& begin(char bracket) {
    before_value();
    out_ += bracket;
    open_ += bracket == '{' ? '}' : ']';
    comma_ = false;
    return *this;
  }

  Writer& end(char bracket) {
    assert(!open_.empty() && open_.back() == bracket && !after_key_);
    open_.pop_back();
    out_ += bracket;
    comma_ = true;
    return *this;
  }

  void separate() {
    if (comma_) out_ += ',';
    comma_ = true;
  }

  void before_value() {
    assert(open_.empty() ? out_.empty() : (open_.back() == ']' || after_key_));
    if (!std::exchange(after_key_, false)) separate();
  }

  template <class T>
  Writer& number_text(T number) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return raw({digits.data(), static_cast<size_t>(end.ptr - digits.data())});
  }

  std::string out_;
  std::string open_;        // closing brackets still owed
  bool comma_ = false;      // something stands before in this object or array
  bool after_key_ = false;  // a key waits for its value
};

}  // namespace xbond::json
