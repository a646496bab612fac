// Keys and values of maps as words of a console line. Thread: control.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::app {

// What names in a key or value stand for: an interface's number, the id of a program or of a map.
struct WordNames {
  std::function<Result<uint32_t>(const std::string&)> interface;
  std::function<Result<uint32_t>(const std::string&)> program;
  std::function<Result<uint32_t>(const std::string&)> map;
};

// `words`: bytes as bpftool takes them (decimal, 0x.., or after "hex" two digits each, "0a" or "0a0b"), and typed
// parts: "u8|u16|u32|u64 N" in host order, "be16|be32|be64 N" in network order, "ip A.B.C.D", "ip6 ADDR", "mac
// AA:BB:..", "cpu N" and "qsize N" as u32, and "if NAME", "prog NAME", "map NAME" as `names` say. Parts follow each
// other. `what` ("key", "value") names the thing in errors; `size` is what the map needs.
Result<std::vector<std::byte>> parse_bytes(std::span<const std::string> words, size_t size, const std::string& what,
                                           const WordNames& names);

// "0a 00 00 00"
std::string bytes_text(std::span<const std::byte> bytes);

}  // namespace xbond::app
