#include "app/xbond/map_words.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/ethernet.h>
#include <netinet/ether.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf_compat/hex.hpp"

namespace xbond::app {
namespace {

struct Number {
  std::string_view word;
  size_t bytes;
  bool network;
};
constexpr std::array<Number, 9> kNumbers = {{{"u8", 1, false},
                                             {"u16", 2, false},
                                             {"u32", 4, false},
                                             {"u64", 8, false},
                                             {"cpu", 4, false},
                                             {"qsize", 4, false},
                                             {"be16", 2, true},
                                             {"be32", 4, true},
                                             {"be64", 8, true}}};

std::optional<uint64_t> number(std::string_view text, int base) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void append(std::vector<std::byte>& out, uint64_t value, size_t bytes, bool network) {
  for (size_t i = 0; i < bytes; ++i) {
    const size_t shift = 8 * (network ? bytes - 1 - i : i);
    out.push_back(static_cast<std::byte>(value >> shift & 0xff));
  }
}

void append(std::vector<std::byte>& out, const void* raw, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(raw);
  out.insert(out.end(), from, from + bytes);
}

// What looks such names up; null: the keyword stands for something else.
const std::function<Result<uint32_t>(const std::string&)>* name_kind(std::string_view keyword, const WordNames& names) {
  if (keyword == "if") {
    return &names.interface;
  }
  if (keyword == "prog") {
    return &names.program;
  }
  return keyword == "map" ? &names.map : nullptr;
}

// One typed part: its keyword is known, `word` is what follows it.
Status typed(std::string_view keyword, const std::string& word, const std::string& what, const WordNames& names,
             std::vector<std::byte>& out) {
  for (const Number& n : kNumbers) {
    if (n.word == keyword) {
      const auto value = number(word, 10);
      if (!value || (n.bytes < 8 && *value >> (8 * n.bytes) != 0)) {
        return fail(EINVAL, fmt::format("{}: \"{}\" is not a number that fits {}", what, word, keyword));
      }
      append(out, *value, n.bytes, n.network);
      return {};
    }
  }
  if (const auto* named = name_kind(keyword, names); named != nullptr) {
    const auto id = (*named)(word);
    if (!id) {
      return fail(id.error().code, fmt::format("{}: {}", what, id.error().text));
    }
    append(out, *id, sizeof(uint32_t), false);
    return {};
  }
  std::array<uint8_t, 16> address{};
  if (keyword == "mac") {
    ether_addr mac{};
    if (ether_aton_r(word.c_str(), &mac) == nullptr) {
      return fail(EINVAL, fmt::format("{}: \"{}\" is not a MAC address", what, word));
    }
    append(out, &mac, sizeof mac);
    return {};
  }
  const bool six = keyword == "ip6";
  if (inet_pton(six ? AF_INET6 : AF_INET, word.c_str(), address.data()) != 1) {
    return fail(EINVAL, fmt::format("{}: \"{}\" is not an {} address", what, word, six ? "IPv6" : "IPv4"));
  }
  append(out, address.data(), six ? 16 : 4);
  return {};
}

bool is_keyword(std::string_view word) {
  for (const Number& n : kNumbers) {
    if (n.word == word) {
      return true;
    }
  }
  return word == "if" || word == "prog" || word == "map" || word == "ip" || word == "ip6" || word == "mac";
}

// Bytes in hexadecimal, two digits each; several may stand together, and a single one may be "a" or "0x0a".
Status hex_bytes(std::string_view word, const std::string& what, std::vector<std::byte>& out) {
  const std::string_view digits = word.starts_with("0x") || word.starts_with("0X") ? word.substr(2) : word;
  const auto bytes = parse_hex(digits.size() == 1 ? fmt::format("0{}", digits) : std::string(digits));
  if (!bytes || bytes->empty()) {
    return fail(EINVAL, fmt::format("{}: \"{}\" is not a byte in hexadecimal", what, word));
  }
  out.insert(out.end(), bytes->begin(), bytes->end());
  return {};
}

}  // namespace

Result<std::vector<std::byte>> parse_bytes(std::span<const std::string> words, size_t size, const std::string& what,
                                           const WordNames& names) {
  std::vector<std::byte> out;
  bool hex = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    Status ok;
    if (is_keyword(word)) {
      hex = false;
      if (i + 1 == words.size()) {
        return fail(EINVAL, fmt::format("{}: nothing follows \"{}\"", what, word));
      }
      ok = typed(word, words[++i], what, names, out);
    } else if (word == "hex") {
      hex = true;
    } else if (hex) {
      ok = hex_bytes(word, what, out);
    } else if (const auto value = number(word, 10); value && *value <= 0xff) {
      out.push_back(static_cast<std::byte>(*value));
    } else {
      ok = fail(EINVAL, fmt::format("{}: \"{}\" is not a byte (0 to 255, 0x00 to 0xff, or after \"hex\")", what, word));
    }
    if (!ok) {
      return ok.error();
    }
  }
  if (out.size() != size) {
    return fail(EINVAL, fmt::format("{}: {} byte{} given, the map needs {}", what, out.size(),
                                    out.size() == 1 ? "" : "s", size));
  }
  return out;
}

std::string bytes_text(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += fmt::format("{}{:02x}", out.empty() ? "" : " ", static_cast<unsigned>(b));
  }
  return out;
}

}  // namespace xbond::app
