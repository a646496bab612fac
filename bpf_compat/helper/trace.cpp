// bpf_trace_printk and bpf_trace_vprintk: the line is made on the worker's stack and left in its ring.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "bpf_compat/engine/run.hpp"
#include "bpf_compat/helper/clock.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

constexpr size_t kMaxArguments = 12;
constexpr size_t kMaxFormat = 512;

// The line so far. Counts what does not fit, as snprintf does: the helper's result is the whole length.
class Line {
 public:
  void put(std::string_view text) {
    for (const char c : text) put(c);
  }
  void put(char c) {
    if (length_ < text_.size()) text_[length_] = c;
    ++length_;
  }
  [[nodiscard]] size_t length() const { return length_; }
  [[nodiscard]] std::string_view text() const { return {text_.data(), std::min(length_, text_.size())}; }

 private:
  std::array<char, TraceRing::kLineBytes> text_{};
  size_t length_ = 0;
};

// One % directive: flags and width as snprintf takes them, then what to do with the argument.
struct Directive {
  std::string_view flags;  // "%-08"
  int longs = 0;           // l, ll
  char kind = 0;
  size_t length = 0;  // characters of the format, for those behind %p too
};

// `text` starts at the %. Nothing for what the kernel refuses.
std::optional<Directive> parse(std::string_view text) {
  size_t i = 1;
  while (i < text.size() && std::string_view("-+ #0").find(text[i]) != std::string_view::npos) ++i;
  const size_t digits = i;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
  if (i - digits > 2) return std::nullopt;  // wider than any sensible line
  Directive directive;
  directive.flags = text.substr(0, i);
  if (directive.flags.size() > 12) return std::nullopt;
  while (i < text.size() && text[i] == 'l' && directive.longs < 2) {
    ++i;
    ++directive.longs;
  }
  if (i == text.size() || std::string_view("diuxXcsp").find(text[i]) == std::string_view::npos) return std::nullopt;
  directive.kind = text[i++];
  if (directive.kind == 'p' && i < text.size()) {
    const auto rest = text.substr(i);
    if (rest.starts_with("I4") || rest.starts_with("i4") || rest.starts_with("I6") || rest.starts_with("i6")) {
      directive.kind = rest[1];
      i += 2;
    } else if (rest.front() == 'x' || rest.front() == 'K') {
      ++i;
    } else if ((rest.front() >= 'a' && rest.front() <= 'z') || (rest.front() >= 'A' && rest.front() <= 'Z')) {
      return std::nullopt;
    }
  }
  directive.length = i;
  return directive;
}

// A number in the directive's width: without l the kernel takes 32 bits of the argument.
void put_number(Line& line, const Directive& directive, uint64_t value) {
  std::array<char, 16> format{};
  std::array<char, 128> text{};
  const bool wide = directive.longs > 0 || directive.kind == 'p';
  const char kind = directive.kind == 'p' ? 'x' : directive.kind;
  std::snprintf(format.data(), format.size(), "%.*s%s%c", static_cast<int>(directive.flags.size()),
                directive.flags.data(), wide ? "ll" : "", kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"  // made above of checked parts
  if (wide)
    std::snprintf(text.data(), text.size(), format.data(), static_cast<unsigned long long>(value));
  else
    std::snprintf(text.data(), text.size(), format.data(), static_cast<unsigned>(value));
#pragma GCC diagnostic pop
  line.put(text.data());
}

void put_string(Line& line, Run& run, uint64_t address) {
  for (size_t i = 0; i < TraceRing::kLineBytes; ++i) {
    const auto* byte = run.readable(address + i, 1);
    if (!byte || *byte == std::byte{0}) break;
    line.put(static_cast<char>(*byte));
  }
  run.fault = Fault::none;  // the kernel prints what it can reach
}

void put_address(Line& line, Run& run, uint64_t address, bool v6) {
  const auto* bytes = run.readable(address, v6 ? 16 : 4);
  run.fault = Fault::none;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes && inet_ntop(v6 ? AF_INET6 : AF_INET, bytes, text.data(), text.size())) line.put(text.data());
}

void put_argument(Line& line, Run& run, const Directive& directive, uint64_t value) {
  switch (directive.kind) {
    case 'c':
      return line.put(static_cast<char>(value));
    case 's':
      return put_string(line, run, value);
    case '4':
    case '6':
      return put_address(line, run, value, directive.kind == '6');
    default:
      return put_number(line, directive, value);
  }
}

// The whole line into `line`; a negative errno for a format that the kernel refuses.
int format_line(Line& line, Run& run, std::string_view format, std::span<const uint64_t> arguments) {
  size_t used = 0;
  for (size_t i = 0; i < format.size();) {
    const auto byte = static_cast<unsigned char>(format[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte >= 0x7f) return -EINVAL;
    if (format[i] != '%') {
      line.put(format[i++]);
      continue;
    }
    if (format.substr(i).starts_with("%%")) {
      line.put('%');
      i += 2;
      continue;
    }
    const auto directive = parse(format.substr(i));
    if (!directive) return -EINVAL;
    if (used == arguments.size()) return -EINVAL;
    put_argument(line, run, *directive, arguments[used++]);
    i += directive->length;
  }
  return 0;
}

uint64_t print(Run& run, uint64_t format_address, uint32_t format_size, std::span<const uint64_t> arguments) {
  if (format_size == 0) return run.fail(Fault::helper_size);
  const auto* format = run.readable(format_address, format_size);
  if (!format) return run.fail(Fault::helper_read);
  if (format_size > kMaxFormat || format[format_size - 1] != std::byte{0})
    return static_cast<uint64_t>(int64_t{-EINVAL});
  const auto* text = reinterpret_cast<const char*>(format);
  Line line;
  const int rc = format_line(line, run, std::string_view(text, strnlen(text, format_size)), arguments);
  if (rc != 0) return static_cast<uint64_t>(int64_t{rc});
  if (run.state.trace) run.state.trace->push(line.text(), clock_ns(CLOCK_MONOTONIC_COARSE));
  return line.length();
}

}  // namespace

uint64_t trace_printk(Run& run, const uint64_t* r) {
  return print(run, r[1], static_cast<uint32_t>(r[2]), std::span(r + 3, 3));
}

uint64_t trace_vprintk(Run& run, const uint64_t* r) {
  const auto bytes = static_cast<uint32_t>(r[4]);
  if (bytes % 8 != 0 || bytes > kMaxArguments * 8) return static_cast<uint64_t>(int64_t{-EINVAL});
  std::array<uint64_t, kMaxArguments> arguments{};
  if (bytes != 0) {
    const auto* data = run.readable(r[3], bytes);
    if (!data) return run.fail(Fault::helper_read);
    std::memcpy(arguments.data(), data, bytes);
  }
  return print(run, r[1], static_cast<uint32_t>(r[2]), std::span(arguments).first(bytes / 8));
}

}  // namespace xbond::bpf
