// Names from a hostile file go into error lines and consoles: what could break a line or drive a terminal becomes '?'.
#pragma once

#include <string>
#include <string_view>

namespace xbond::bpf {

inline std::string printable(std::string_view text) {
  std::string out(text);
  for (auto& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return out;
}

}  // namespace xbond::bpf
